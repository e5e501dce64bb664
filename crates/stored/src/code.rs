//! Who carries out procedures.

use crate::folder::FolderError;
use crate::linked::{AnyCaller, Given, LinkedCode};
use crate::prepared::Prepared;
use execute::{CallError, Procedures, Settings};
use fabric::Env;
use layout::NodeId;
use procedure::node::Workload;
use runtime::{Caller, Generated, OpenError};
use txn::{Abort, Database, Lane};
use workload::Whereabouts;

/// Who carries out procedures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// Generated code of the shipped workload with this name, and the executor where that deviates.
    Generated(Shipped),
    /// The same of a workload of one's own, whose code the program links.
    Linked(LinkedCode),
    /// The executor of plans.
    Plans,
}

impl Code {
    /// The procedures that are not left to the executor of plans.
    fn generated(&self) -> &'static [&'static str] {
        match self {
            Self::Generated(shipped) => shipped.procedures(),
            Self::Linked(linked) => linked.procedures(),
            Self::Plans => &[],
        }
    }

    /// Who carries out procedures of these names, in a few words for a report.
    pub(crate) fn words(&self, procedures: &[&str]) -> String {
        let of_plans = "the executor of plans";
        let is_generated = |name: &&&str| self.generated().contains(*name);
        let (all, generated) = (procedures.len(), procedures.iter().filter(is_generated).count());
        match generated {
            0 => of_plans.to_owned(),
            _ if generated == all => "generated code".to_owned(),
            some => {
                format!("generated code for {some} of {all} procedures, {of_plans} for the others")
            }
        }
    }

    /// The generated code of the workload called `name`: of the shipped, or of those that are linked beside them.
    ///
    /// # Errors
    ///
    /// There is none, or none of these procedures, tables and plans.
    pub(crate) fn find(
        name: &str,
        fingerprint: u32,
        linked: &[LinkedCode],
    ) -> Result<Self, FolderError> {
        let shipped = Shipped::find(name);
        let is_linked = linked.iter().any(|code| code.workload() == name);
        if let Some(shipped) = shipped.filter(|code| code.fingerprint() == fingerprint) {
            return Ok(Self::Generated(shipped));
        }
        let fits =
            |code: &&LinkedCode| code.workload() == name && code.fingerprint() == fingerprint;
        match linked.iter().find(fits) {
            Some(code) => Ok(Self::Linked(code.clone())),
            None if is_linked || shipped.is_some() => Err(FolderError::OtherCode(name.to_owned())),
            None => Err(FolderError::NoCode(name.to_owned())),
        }
    }
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

    /// The procedures that there is code for.
    fn procedures(self) -> &'static [&'static str] {
        match self {
            Self::SmallBank => generated::smallbank::Tables::PROCEDURES,
            Self::Tatp => generated::tatp::Tables::PROCEDURES,
            Self::Tpcc => generated::tpcc::Tables::PROCEDURES,
            Self::Ycsb => generated::ycsb::Tables::PROCEDURES,
        }
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

impl Ready {
    /// Sees to it that its arguments are prepared, for whoever carries it out; answers whether they can be.
    pub(crate) fn prepare(&mut self) -> bool {
        self.is_prepared || self.prepared.prepare()
    }

    /// Whether generated code is asked what the call will look for.
    fn is_prefetched(&self) -> bool {
        // Arrays name more rows than are asked for one by one.
        self.is_prepared && self.prepared.is_plain()
    }
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
    /// Generated code of a workload of one's own, with its procedures in order.
    Linked(Box<dyn AnyCaller>, Vec<runtime::ProcedureId>),
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
        code: &Code,
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
            Code::Linked(code) => {
                let caller = code.open(database, workload, settings)?;
                let ids = in_order(workload, |name| caller.find(name));
                Self::Linked(caller, ids)
            }
            Code::Plans => {
                let procedures = Procedures::open(database, workload, settings)?;
                let ids = in_order(workload, |name| procedures.find(name));
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
            Self::Linked(caller, _) => caller.aborts(),
            Self::Plans(procedures, _) => procedures.aborts(),
        }
    }

    /// Makes a call; answers how many rows it gave. The error is boxed for calls that have none, see [`Caller::make`].
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<usize, Box<CallError>> {
        match self {
            Self::SmallBank(hands) => hands.call(lane, ready).await,
            Self::Tatp(hands) => hands.call(lane, ready).await,
            Self::Tpcc(hands) => hands.call(lane, ready).await,
            Self::Ycsb(hands) => hands.call(lane, ready).await,
            Self::Linked(caller, ids) => {
                let procedure = ids[ready.procedure];
                if ready.is_prepared {
                    let texts = ready.prepared.texts();
                    let arguments = ready.prepared.arguments(&texts);
                    caller.make(lane, procedure, Given::Arguments(&arguments)).await?;
                } else {
                    caller.make(lane, procedure, Given::Values(ready.prepared.values())).await?;
                }
                Ok(caller.results().rows())
            }
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
            Self::Linked(caller, ids) => {
                if ready.is_prefetched() {
                    let arguments = ready.prepared.arguments(&[]);
                    caller.prefetch(lane, ids[ready.procedure], &arguments);
                }
            }
            Self::Plans(procedures, ids) => {
                procedures.prefetch(lane, ids[ready.procedure], ready.prepared.values());
            }
        }
    }
}

/// The procedures in the order of the file.
fn in_order<Id>(workload: &Workload, find: impl Fn(&str) -> Option<Id>) -> Vec<Id> {
    let find = |of: &procedure::Procedure| find(&of.routine.name).expect("the workload has it");
    workload.procedures.iter().map(find).collect()
}

fn hands<E: Env, G: Generated>(
    database: &Database<E>,
    workload: &Workload,
    settings: Settings,
) -> Result<Hands<G>, OpenError> {
    let caller = Caller::<G>::open(database, workload, settings)?;
    let procedures = in_order(workload, |name| caller.find(name));
    Ok(Hands { caller, procedures })
}

impl<G: Generated> Hands<G> {
    async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<usize, Box<CallError>> {
        let procedure = self.procedures[ready.procedure];
        if ready.is_prepared {
            let texts = ready.prepared.texts();
            let arguments = ready.prepared.arguments(&texts);
            self.caller.make(lane, procedure, &arguments).await?;
        } else {
            self.caller.make_by_plans(lane, procedure, ready.prepared.values()).await?;
        }
        Ok(self.caller.results().rows())
    }

    fn prefetch<E: Env>(&self, lane: &Lane<E>, ready: &Ready) {
        if ready.is_prefetched() {
            let arguments = ready.prepared.arguments(&[]);
            self.caller.prefetch(lane, self.procedures[ready.procedure], &arguments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::{Argument, BindError, Call, Stop};

    /// Code of a workload that was TATP, and was changed.
    #[derive(Clone, Copy)]
    struct Changed;

    impl Generated for Changed {
        const WORKLOAD: &'static str = "tatp";
        const PROCEDURES: &'static [&'static str] = &[];
        const FINGERPRINT: u32 = 7;

        fn find<E: Env>(_database: &Database<E>) -> Result<Self, BindError> {
            Ok(Self)
        }

        async fn run<E: Env>(
            self,
            _call: &mut Call<'_, '_, E>,
            _procedure: usize,
            _arguments: &[Argument<'_>],
        ) -> Result<(), Stop> {
            Err(Stop::Deviates)
        }
    }

    #[test]
    fn code_is_found_by_name_and_fingerprint() {
        let linked = [LinkedCode::of::<Changed>()];
        let find = |name, fingerprint| Code::find(name, fingerprint, &linked);
        assert_eq!(find("tatp", 7).ok(), Some(Code::Linked(linked[0].clone())));
        let shipped = Shipped::Tatp.fingerprint();
        assert_eq!(find("tatp", shipped).ok(), Some(Code::Generated(Shipped::Tatp)));
        for (name, fingerprint) in [("tatp", 8), ("ycsb", 7)] {
            assert!(matches!(find(name, fingerprint), Err(FolderError::OtherCode(_))));
        }
        assert!(matches!(find("mine", 7), Err(FolderError::NoCode(_))));
        assert!(matches!(Code::find("tatp", 7, &[]), Err(FolderError::OtherCode(_))));
    }

    /// A report does not say of procedures that the executor carries out that generated code does.
    #[test]
    fn procedures_without_generated_code_are_counted() {
        let code = Code::Generated(Shipped::SmallBank);
        let all = generated::smallbank::Tables::PROCEDURES;
        assert_eq!(code.words(all), "generated code");
        let more: Vec<&str> = all.iter().copied().chain(["audit"]).collect();
        let (some, count) = (all.len(), more.len());
        let told = format!(
            "generated code for {some} of {count} procedures, the executor of plans for the others"
        );
        assert_eq!(code.words(&more), told);
        assert_eq!(Code::Plans.words(all), "the executor of plans");
    }
}
