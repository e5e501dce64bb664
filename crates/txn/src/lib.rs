//! Transactions over the memory servers: the protocol of [ZB17 §3-6] with its holes closed.
//!
//! To read it in the order of a transaction's life: [`oracle`] (snapshots, publishing), [`read`],
//! [`write`](mod@write), [`scan`], [`value`], [`commit`], [`collect`] (garbage collection). What they share:
//! [`lane`], [`access`], [`snapshot`], [`catalog`].
#![forbid(unsafe_code)]

pub mod abort;
pub mod access;
mod batch;
mod by_server;
pub mod catalog;
pub mod change;
mod check;
pub mod collect;
mod collector;
pub mod commit;
mod copies;
mod cursor;
pub mod database;
pub mod definition;
mod detach;
pub mod displaced;
mod fetch;
mod fill;
mod freshness;
mod ids;
mod kept;
pub mod lane;
pub mod local;
pub mod old_version;
pub mod oracle;
mod packed;
pub mod part;
pub mod read;
mod release;
mod removal;
pub mod retry;
pub mod scan;
pub mod secondary;
pub mod server;
mod shared_slot;
mod slot;
pub mod snapshot;
pub mod statistics;
pub mod step;
mod sweep;
mod timestamp;
pub mod transaction;
pub mod unique;
pub mod value;
mod value_pool;
mod visit;
mod witness;
pub mod write;
mod write_set;

pub use abort::{Abort, Outcome, TxnError};
pub use access::RowId;
pub use catalog::{CatalogError, IndexId, TableId, TableMemory, TableSpec, WholeMemory};
pub use check::StructureReport;
pub use database::{Database, DatabaseConfig, Oracle, Root};
pub use index::{Damage, Flaw};
pub use lane::{KnownLeaves, Lane, LaneError};
pub use read::Columns;
pub use retry::RetryUntilDeadline;
pub use scan::{Scan, ScanSource};
pub use slot::{Departure, SlotSupply};
pub use snapshot::Snapshot;
pub use statistics::LaneStatistics;
pub use transaction::{Isolation, Transaction};
pub use unique::UniqueViolation;
