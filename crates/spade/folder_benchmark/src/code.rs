//! Selects the code that executes procedures.

use crate::folder::FolderError;
use crate::linked::{AnyCaller, CallInput, LinkedCode, open_plans};
use crate::prepared::Prepared;
use fabric::Env;
use interpreter::{CallError, Settings};
use layout::NodeId;
use procedure::node::Workload;
use procedure_runtime::{Generated, OpenError, ProcedureId};
use txn::{Abort, Database, Lane};
use workload::Whereabouts;

/// The code that executes procedures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// Generated code of a shipped workload, with the interpreter as a fallback.
    Generated(Shipped),
    /// Generated code of a user's workload, which the program links.
    Linked(LinkedCode),
    /// The interpreter.
    Plans,
}

impl Code {
    /// The procedures that generated code executes.
    fn generated(&self) -> &'static [&'static str] {
        match self {
            Self::Generated(shipped) => shipped.procedures(),
            Self::Linked(linked) => linked.procedures(),
            Self::Plans => &[],
        }
    }

    /// Describes the code for these procedures, for a report.
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

    /// The generated code of the workload `name`, shipped or linked.
    ///
    /// # Errors
    ///
    /// No code has this name, or it was generated for other procedures, tables or plans.
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
    /// The generated code, shipped or linked; `None` for the interpreter.
    pub(crate) fn linked(&self) -> Option<LinkedCode> {
        match self {
            Self::Generated(shipped) => Some(shipped.code()),
            Self::Linked(code) => Some(code.clone()),
            Self::Plans => None,
        }
    }
}

/// The workloads with shipped generated code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shipped {
    SmallBank,
    Tatp,
    Tpcc,
    Ycsb,
}

impl Shipped {
    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "smallbank" => Self::SmallBank,
            "tatp" => Self::Tatp,
            "tpcc" => Self::Tpcc,
            "ycsb" => Self::Ycsb,
            _ => return None,
        })
    }

    /// The procedures with generated code.
    fn procedures(self) -> &'static [&'static str] {
        match self {
            Self::SmallBank => workload_code::smallbank::Tables::PROCEDURES,
            Self::Tatp => workload_code::tatp::Tables::PROCEDURES,
            Self::Tpcc => workload_code::tpcc::Tables::PROCEDURES,
            Self::Ycsb => workload_code::ycsb::Tables::PROCEDURES,
        }
    }

    /// The workload's code. It is compiled in this crate; inlining would compile it again in the
    /// caller's crate.
    #[inline(never)]
    fn code(self) -> LinkedCode {
        match self {
            Self::SmallBank => LinkedCode::of::<workload_code::smallbank::Tables>(),
            Self::Tatp => LinkedCode::of::<workload_code::tatp::Tables>(),
            Self::Tpcc => LinkedCode::of::<workload_code::tpcc::Tables>(),
            Self::Ycsb => LinkedCode::of::<workload_code::ycsb::Tables>(),
        }
    }

    /// The fingerprint of the workload for which the code was generated, see
    /// [`Workload::fingerprint`].
    pub fn fingerprint(self) -> u32 {
        match self {
            Self::SmallBank => workload_code::smallbank::Tables::FINGERPRINT,
            Self::Tatp => workload_code::tatp::Tables::FINGERPRINT,
            Self::Tpcc => workload_code::tpcc::Tables::FINGERPRINT,
            Self::Ycsb => workload_code::ycsb::Tables::FINGERPRINT,
        }
    }
}

/// A drawn call. Its memory is reused for later calls.
#[derive(Clone, Debug, Default)]
pub struct Ready {
    /// The procedure, counted from 0.
    pub procedure: usize,
    pub prepared: Prepared,
    /// Whether generated code accepts the arguments.
    is_prepared: bool,
    /// The compute server that executes the call, if it is shipped.
    pub(crate) owner: Option<NodeId>,
    pub(crate) whereabouts: Whereabouts,
}

impl Ready {
    /// Prepares the arguments for whichever code executes the call; returns whether they can be
    /// prepared.
    pub(crate) fn prepare(&mut self) -> bool {
        self.is_prepared || self.prepared.prepare()
    }

    /// Whether generated code prefetches the rows of the call.
    fn is_prefetched(&self) -> bool {
        // Arrays name more rows than a prefetch of single rows is worth.
        self.is_prepared && self.prepared.is_plain()
    }
}

/// The procedures of a workload in the order of the file, opened for one thread.
pub struct OpenedProcedures {
    caller: Box<dyn AnyCaller>,
    procedures: Vec<ProcedureId>,
    is_generated: bool,
}

impl OpenedProcedures {
    /// Opens the procedures for a database.
    ///
    /// # Errors
    ///
    /// Tables are missing, or differ from those of the generated code.
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

    /// Prepares a drawn call.
    pub fn make_ready(&self, call: &mut Ready) {
        call.is_prepared = match self.is_generated {
            true => call.prepared.prepare(),
            false => {
                call.prepared.drawn().whole();
                false
            }
        };
    }

    /// The reasons of aborted attempts of the last call.
    pub fn aborts(&self) -> &[Abort] {
        self.caller.aborts()
    }

    /// Executes a call; returns the number of rows. The error is boxed to keep the future small,
    /// see [`Caller::make`](procedure_runtime::Caller::make).
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
            self.caller.make(lane, procedure, CallInput::Arguments(&arguments)).await?;
        } else {
            let values = ready.prepared.values();
            self.caller.make(lane, procedure, CallInput::Values(values)).await?;
        }
        Ok(self.caller.results().rows())
    }

    /// Prefetches the rows of a call that is executed soon.
    pub fn prefetch<E: Env>(&self, lane: &Lane<E>, ready: &Ready) {
        let procedure = self.procedures[ready.procedure];
        if !self.is_generated {
            self.caller.prefetch(lane, procedure, CallInput::Values(ready.prepared.values()));
        } else if ready.is_prefetched() {
            let arguments = ready.prepared.arguments(&[]);
            self.caller.prefetch(lane, procedure, CallInput::Arguments(&arguments));
        }
    }
}

fn in_order(workload: &Workload, find: impl Fn(&str) -> Option<ProcedureId>) -> Vec<ProcedureId> {
    let find = |of: &procedure::Procedure| find(&of.routine.name).expect("the workload has it");
    workload.procedures.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use procedure_runtime::{Argument, BindError, Call, Stop};

    /// Code that was generated for a modified TATP.
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

    /// The report counts procedures without generated code.
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
