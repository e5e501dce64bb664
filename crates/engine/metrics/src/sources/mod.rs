//! Sources of servers' metrics; each kind of server registers them with one call.

mod calls;
mod compute_server;
mod directory;
mod memory_server;
mod names;

pub use calls::Calls;
pub use compute_server::{ComputeServer, LaneReading, Worker};
pub use directory::{DirectoryReading, enter_directory};
pub use memory_server::{FillCounts, MemoryServer, RecoveredCounts, enter_fabric, enter_fills};
pub use memory_server::{enter_left_locks, enter_memory_server, enter_promotions, enter_recovered};
pub use names::{LabelName, LabelNames};
