//! Reads a workload folder.

use crate::lower::{LowerError, lower};
use crate::node::Workload;
use postgres_plan::folder::FolderError;
use sql::Program;
use std::path::Path;

/// Why a workload folder cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// In the schema, or in the procedures.
    #[error(transparent)]
    Program(#[from] sql::Errors),
    #[error(transparent)]
    Plans(#[from] FolderError),
    /// In a statement with its plan.
    #[error(transparent)]
    Lower(#[from] LowerError),
}

impl Workload {
    /// Reads `schema.sql`, `procedures.sql` and the plans in a folder.
    ///
    /// # Errors
    ///
    /// The first error or unsupported construct, with its location and what to write instead.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        planned(folder, &Program::read(folder)?)
    }

    /// Reads `schema.sql`, `checks.sql` and the plans in a folder: see [`Program::read_checks`].
    ///
    /// # Errors
    ///
    /// Those of [`Workload::read`].
    pub fn read_checks(folder: &Path) -> Result<Self, ReadError> {
        planned(folder, &Program::read_checks(folder)?)
    }
}

fn planned(folder: &Path, program: &Program) -> Result<Workload, ReadError> {
    let statements: Vec<_> = program.embedded_statements().collect();
    let plans = postgres_plan::folder::open(folder, &statements)?;
    Ok(lower(program, &plans)?)
}
