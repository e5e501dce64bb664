//! The statements of `corpus` with their plans.

use postgres_plan::{Origin, Plan};
use procedure::{LowerError, Workload};
use sql::{EmbeddedStatement, Procedure, Program};
use std::path::PathBuf;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

pub fn program() -> Program {
    Program::read(&folder()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the origin of a statement's plan, with the bare file name.
pub fn origin(embedded: &EmbeddedStatement) -> Origin {
    let statement = format!("{}.{}", embedded.procedure, embedded.number);
    Origin {
        file: format!("{statement}.xml"),
        statement,
        parameters: embedded.parameter_types.len() as u32,
    }
}

/// Returns the text of a statement's plan.
pub fn stored(embedded: &EmbeddedStatement) -> String {
    let path = folder().join("plans").join(origin(embedded).file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn lowered(
    program: &Program,
    routine: &Procedure,
    plans: &[Plan],
) -> Result<Workload, LowerError> {
    let alone = Program { catalog: program.catalog.clone(), procedures: vec![routine.clone()] };
    procedure::lower(&alone, plans)
}
