//! Measures a workload: opens a database, loads it, runs the workload, checks the result, reports.

pub mod checks;
pub mod compute_servers;
pub mod driver;
pub mod json;
pub mod json_lines;
pub mod load;
pub mod measure;
pub mod order;
pub mod pace;
pub mod part;
pub mod populate;
pub mod progress;
pub mod report;
pub mod run_record;
pub mod site;
pub mod table;
pub mod text;
#[cfg(test)]
mod trial;
pub mod worker;
pub mod worker_metrics;
pub mod world;

use fabric::{DynEnv, LocalEnv};
use workload::Workload;

/// A workload that threads of one process run together.
pub trait LocalWorkload: Workload<LocalEnv> + Sync {}

impl<W: Workload<LocalEnv> + Sync> LocalWorkload for W {}

/// A workload for every world that this program supports.
pub trait AnyWorkload:
    LocalWorkload + Workload<DynEnv, Terminal: 'static> + Send + 'static
{
}

impl<W> AnyWorkload for W where
    W: LocalWorkload + Workload<DynEnv, Terminal: 'static> + Send + 'static
{
}
