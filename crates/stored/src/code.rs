//! Who carries out procedures.

use crate::prepared::Prepared;
use execute::{CallError, Procedures, Settings};
use fabric::Env;
use layout::NodeId;
use procedure::node::Workload;
use runtime::{Caller, Generated, OpenError};
use txn::{Abort, Database, Lane};
use workload::Whereabouts;

/// Who carries out procedures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// Generated code of the shipped workload with this name, and the executor where that deviates.
    Generated(Shipped),
    /// The executor of plans.
    Plans,
}

/// The workloads that come with generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are names")]
pub enum Shipped {
    SmallBank,
    Tatp,
    Tpcc,
    Ycsb,
}

impl Shipped {
    /// The shipped workload called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "smallbank" => Self::SmallBank,
            "tatp" => Self::Tatp,
            "tpcc" => Self::Tpcc,
            "ycsb" => Self::Ycsb,
            _ => return None,
        })
    }

    /// What its code was generated for, see [`Workload::fingerprint`].
    pub fn fingerprint(self) -> u32 {
        match self {
            Self::SmallBank => generated::smallbank::Tables::FINGERPRINT,
            Self::Tatp => generated::tatp::Tables::FINGERPRINT,
            Self::Tpcc => generated::tpcc::Tables::FINGERPRINT,
            Self::Ycsb => generated::ycsb::Tables::FINGERPRINT,
        }
    }
}

/// A call that is to be made. Its memory is used again by another.
#[derive(Clone, Debug, Default)]
pub struct Ready {
    /// The procedure, counted from 0.
    pub procedure: usize,
    /// With what.
    pub prepared: Prepared,
    /// Whether generated code takes it.
    is_prepared: bool,
    /// Who carries it out, if that is not whoever calls.
    pub(crate) owner: Option<NodeId>,
    /// Where its rows are.
    pub(crate) whereabouts: Whereabouts,
}

/// The procedures of a workload, in the hands of one thread.
pub enum Crew {
    /// Generated code.
    SmallBank(Hands<generated::smallbank::Tables>),
    /// Generated code.
    Tatp(Hands<generated::tatp::Tables>),
    /// Generated code.
    Tpcc(Hands<generated::tpcc::Tables>),
    /// Generated code.
    Ycsb(Hands<generated::ycsb::Tables>),
    /// The executor.
    Plans(Procedures, Vec<execute::ProcedureId>),
}

/// Generated code with its procedures in order.
pub struct Hands<G> {
    caller: Caller<G>,
    procedures: Vec<runtime::ProcedureId>,
}

impl Crew {
    /// Makes the procedures ready for a database.
    ///
    /// # Errors
    ///
    /// Tables are missing, or are not as generated code has them.
    pub fn open<E: Env>(
        code: Code,
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        Ok(match code {
            Code::Generated(Shipped::SmallBank) => {
                Self::SmallBank(hands(database, workload, settings)?)
            }
            Code::Generated(Shipped::Tatp) => Self::Tatp(hands(database, workload, settings)?),
            Code::Generated(Shipped::Tpcc) => Self::Tpcc(hands(database, workload, settings)?),
            Code::Generated(Shipped::Ycsb) => Self::Ycsb(hands(database, workload, settings)?),
            Code::Plans => {
                let procedures = Procedures::open(database, workload, settings)?;
                let find = |name: &str| procedures.find(name).expect("it is one of the workload's");
                let ids = workload.procedures.iter().map(|of| find(&of.routine.name)).collect();
                Self::Plans(procedures, ids)
            }
        })
    }

    /// Makes a call ready that was drawn.
    pub fn make_ready(&self, call: &mut Ready) {
        call.is_prepared = match self {
            Self::Plans(..) => {
                call.prepared.drawn().whole();
                false
            }
            _ => call.prepared.prepare(),
        };
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        match self {
            Self::SmallBank(hands) => hands.caller.aborts(),
            Self::Tatp(hands) => hands.caller.aborts(),
            Self::Tpcc(hands) => hands.caller.aborts(),
            Self::Ycsb(hands) => hands.caller.aborts(),
            Self::Plans(procedures, _) => procedures.aborts(),
        }
    }

    /// Makes a call; answers how many rows it gave.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<usize, CallError> {
        match self {
            Self::SmallBank(hands) => hands.call(lane, ready).await,
            Self::Tatp(hands) => hands.call(lane, ready).await,
            Self::Tpcc(hands) => hands.call(lane, ready).await,
            Self::Ycsb(hands) => hands.call(lane, ready).await,
            Self::Plans(procedures, ids) => {
                let outcome =
                    procedures.call(lane, ids[ready.procedure], ready.prepared.values()).await?;
                Ok(outcome.rows.len())
            }
        }
    }

    /// A hint that this call comes after the next one.
    pub fn prefetch<E: Env>(&self, lane: &Lane<E>, ready: &Ready) {
        match self {
            Self::SmallBank(hands) => hands.prefetch(lane, ready),
            Self::Tatp(hands) => hands.prefetch(lane, ready),
            Self::Tpcc(hands) => hands.prefetch(lane, ready),
            Self::Ycsb(hands) => hands.prefetch(lane, ready),
            Self::Plans(procedures, ids) => {
                procedures.prefetch(lane, ids[ready.procedure], ready.prepared.values());
            }
        }
    }
}

fn hands<E: Env, G: Generated>(
    database: &Database<E>,
    workload: &Workload,
    settings: Settings,
) -> Result<Hands<G>, OpenError> {
    let caller = Caller::<G>::open(database, workload, settings)?;
    let find = |name: &str| caller.find(name).expect("it is one of the workload's");
    let procedures = workload.procedures.iter().map(|of| find(&of.routine.name)).collect();
    Ok(Hands { caller, procedures })
}

impl<G: Generated> Hands<G> {
    async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<usize, CallError> {
        let procedure = self.procedures[ready.procedure];
        let results = if ready.is_prepared {
            let texts = ready.prepared.texts();
            let arguments = ready.prepared.arguments(&texts);
            self.caller.call(lane, procedure, &arguments).await?
        } else {
            self.caller.call_plans(lane, procedure, ready.prepared.values()).await?
        };
        Ok(results.rows())
    }

    fn prefetch<E: Env>(&self, lane: &Lane<E>, ready: &Ready) {
        // Arrays name more rows than are asked for one by one.
        if ready.is_prepared && ready.prepared.is_plain() {
            let arguments = ready.prepared.arguments(&[]);
            self.caller.prefetch(lane, self.procedures[ready.procedure], &arguments);
        }
    }
}
