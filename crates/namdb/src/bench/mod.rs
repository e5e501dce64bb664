//! Measuring a workload: open a database, load it, run it, check it, report.

pub mod crew;
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
pub mod site;
pub mod table;
pub mod telling;
pub mod text;
pub mod travel;
#[cfg(test)]
mod trial;
pub mod worker;
pub mod world;

use fabric::verbs::VerbsTransport;
use fabric::{LocalEnv, RemoteEnv, TcpTransport};
use workload::Workload;

/// A workload that threads of one process can run together.
pub trait LocalWorkload: Workload<LocalEnv> + Sync {}

impl<W: Workload<LocalEnv> + Sync> LocalWorkload for W {}

/// A workload for every world that this program reaches.
pub trait AnyWorkload: LocalWorkload + Workload<TcpEnv> + Workload<VerbsEnv> {}

impl<W: LocalWorkload + Workload<TcpEnv> + Workload<VerbsEnv>> AnyWorkload for W {}

/// An endpoint of fabric `tcp`.
type TcpEnv = RemoteEnv<TcpTransport>;
/// An endpoint of fabric `verbs`.
type VerbsEnv = RemoteEnv<VerbsTransport>;
