//! Reads a workload folder with its plans: those that PostgreSQL made, or ours.

use crate::cost::Costs;
use crate::program::{ProgramError, plan_program};
use crate::statistics::Statistics;
use procedure::{ReadError, Workload};
use sql::Program;
use std::path::Path;

/// The planner of a workload folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanSource {
    /// PostgreSQL: the files in the folder `plans`.
    PostgreSql,
    /// Our planner; no PostgreSQL is needed, and `plans` is not read.
    Own,
}

/// Why a workload folder cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// In the folder, or in PostgreSQL's plans.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// In a statement that our planner refuses.
    #[error(transparent)]
    Plan(#[from] ProgramError),
}

/// Reads `schema.sql` and `procedures.sql` in a folder, with plans from `source`. `statistics` and
/// `costs` are for our planner only.
///
/// # Errors
///
/// The first error or unsupported construct, with its location.
pub fn read_folder(
    folder: &Path,
    source: PlanSource,
    statistics: &Statistics,
    costs: Costs,
) -> Result<Workload, FolderError> {
    match source {
        PlanSource::PostgreSql => Ok(Workload::read(folder)?),
        PlanSource::Own => {
            let program = Program::read(folder).map_err(ReadError::from)?;
            Ok(plan_program(&program, statistics, costs)?)
        }
    }
}
