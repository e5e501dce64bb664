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
pub mod site;
pub mod table;
pub mod text;
#[cfg(test)]
mod trial;
pub mod worker;
pub mod world;

use crate::servers::tcp::TcpEnv;
use fabric::LocalEnv;
use workload::Workload;

/// A workload that threads of one process can run together.
pub trait LocalWorkload: Workload<LocalEnv> + Sync {}

impl<W: Workload<LocalEnv> + Sync> LocalWorkload for W {}

/// A workload for every world that this program reaches.
pub trait AnyWorkload: Workload<LocalEnv> + Workload<TcpEnv> + Sync {}

impl<W: Workload<LocalEnv> + Workload<TcpEnv> + Sync> AnyWorkload for W {}
