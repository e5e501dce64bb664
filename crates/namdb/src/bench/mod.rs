//! Measuring a workload: open a database, load it, run it, check it, report.

pub mod driver;
pub mod json;
pub mod json_lines;
pub mod load;
pub mod measure;
pub mod pace;
pub mod populate;
pub mod progress;
pub mod report;
pub mod table;
pub mod text;
#[cfg(test)]
mod trial;
pub mod world;

use fabric::LocalEnv;
use workload::Workload;

/// A workload that threads of one process can run together.
pub trait LocalWorkload: Workload<LocalEnv> + Sync {}

impl<W: Workload<LocalEnv> + Sync> LocalWorkload for W {}
