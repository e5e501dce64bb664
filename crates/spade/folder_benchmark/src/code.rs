//! Who carries out procedures.

use crate::folder::FolderError;
use crate::linked::{AnyCaller, Given, LinkedCode, open_plans};
use crate::prepared::Prepared;
use fabric::Env;
use interpreter::{CallError, Settings};
use layout::NodeId;
use procedure::node::Workload;
use procedure_runtime::{Generated, OpenError, ProcedureId};
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

impl Code {
    /// The generated code, shipped or linked; `None` for the executor of plans.
    pub(crate) fn linked(&self) -> Option<LinkedCode> {
        match self {
            Self::Generated(shipped) => Some(shipped.code()),
            Self::Linked(code) => Some(code.clone()),
            Self::Plans => None,
        }
    }
}

/// The workloads that come with generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
            Self::SmallBank => workload_code::smallbank::Tables::PROCEDURES,
            Self::Tatp => workload_code::tatp::Tables::PROCEDURES,
            Self::Tpcc => workload_code::tpcc::Tables::PROCEDURES,
            Self::Ycsb => workload_code::ycsb::Tables::PROCEDURES,
        }
    }

    /// Its code, which is compiled here: inlined elsewhere, it would be compiled there as well.
    #[inline(never)]
    fn code(self) -> LinkedCode {
        match self {
            Self::SmallBank => LinkedCode::of::<workload_code::smallbank::Tables>(),
            Self::Tatp => LinkedCode::of::<workload_code::tatp::Tables>(),
            Self::Tpcc => LinkedCode::of::<workload_code::tpcc::Tables>(),
            Self::Ycsb => LinkedCode::of::<workload_code::ycsb::Tables>(),
        }
    }

    /// What its code was generated for, see [`Workload::fingerprint`].
    pub fn fingerprint(self) -> u32 {
        match self {
            Self::SmallBank => workload_code::smallbank::Tables::FINGERPRINT,
            Self::Tatp => workload_code::tatp::Tables::FINGERPRINT,
            Self::Tpcc => workload_code::tpcc::Tables::FINGERPRINT,
            Self::Ycsb => workload_code::ycsb::Tables::FINGERPRINT,
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

/// The procedures of a workload in their order, in the hands of one thread.
pub struct Crew {
    caller: Box<dyn AnyCaller>,
    procedures: Vec<ProcedureId>,
    is_generated: bool,
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
        let linked = code.linked();
        let caller = match &linked {
            Some(code) => code.open(database, workload, settings)?,
            None => open_plans(database, workload, settings)?,
        };
        let procedures = in_order(workload, |name| caller.find(name));
        Ok(Self { caller, procedures, is_generated: linked.is_some() })
    }

    /// Makes a call ready that was drawn.
    pub fn make_ready(&self, call: &mut Ready) {
        call.is_prepared = match self.is_generated {
            true => call.prepared.prepare(),
            false => {
                call.prepared.drawn().whole();
                false
            }
        };
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        self.caller.aborts()
    }

    /// Makes a call; answers how many rows it gave. The error is boxed for calls that have none, see [`Caller::make`](procedure_runtime::Caller::make).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<usize, Box<CallError>> {
        let procedure = self.procedures[ready.procedure];
        if ready.is_prepared {
            let texts = ready.prepared.texts();
            let arguments = ready.prepared.arguments(&texts);
            self.caller.make(lane, procedure, Given::Arguments(&arguments)).await?;
        } else {
            let values = ready.prepared.values();
            self.caller.make(lane, procedure, Given::Values(values)).await?;
        }
        Ok(self.caller.results().rows())
    }

    /// A hint that this call comes after the next one.
    pub fn prefetch<E: Env>(&self, lane: &Lane<E>, ready: &Ready) {
        let procedure = self.procedures[ready.procedure];
        if !self.is_generated {
            self.caller.prefetch(lane, procedure, Given::Values(ready.prepared.values()));
        } else if ready.is_prefetched() {
            let arguments = ready.prepared.arguments(&[]);
            self.caller.prefetch(lane, procedure, Given::Arguments(&arguments));
        }
    }
}

/// The procedures in the order of the file.
fn in_order(workload: &Workload, find: impl Fn(&str) -> Option<ProcedureId>) -> Vec<ProcedureId> {
    let find = |of: &procedure::Procedure| find(&of.routine.name).expect("the workload has it");
    workload.procedures.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use procedure_runtime::{Argument, BindError, Call, Stop};

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
        let all = workload_code::smallbank::Tables::PROCEDURES;
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
