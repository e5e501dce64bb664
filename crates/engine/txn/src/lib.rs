//! Transactions over the memory servers: the protocol of [ZB17 §3-6] with its holes closed.
//!
//! Read the modules in the order of a transaction's life: [`snapshot`] (the timestamp oracle,
//! timestamps, publishing), [`read`], [`write`](mod@write), [`commit`], [`collect`] (garbage
//! collection). [`lane`] has the state of a session, [`transaction`] its handle, [`catalog`] tables
//! and indexes and their changes, [`database`] the state that lanes share.
#![forbid(unsafe_code)]

pub mod abort;
pub mod catalog;
pub mod collect;
pub mod commit;
pub mod database;
mod detach;
mod fill;
pub mod lane;
pub mod local;
pub mod operations;
pub mod owned;
pub mod parked;
mod promotion;
pub mod read;
pub mod recovery;
mod region_services;
pub mod retry;
pub mod server;
mod shadow;
pub mod snapshot;
pub mod statistics;
pub mod step;
pub mod transaction;
pub mod write;

pub use abort::{Abort, Outcome, TxnError};
pub use catalog::check::{HeldLock, LockKind, StructureReport};
pub use catalog::keeper::CatalogKeeper;
pub use catalog::{CatalogError, IndexId, TableId, TableMemory, TableSpec, WholeMemory};
pub use database::{Database, DatabaseConfig, Oracle, Root};
pub use fill::{Copied, CopyCounts, FillError, Pace};
pub use index::{Damage, Flaw};
pub use lane::{KnownLeaves, Lane, LaneError};
pub use operations::{Answer, EngineEnv};
pub use owned::OwnedTransaction;
pub use parked::Parked;
pub use promotion::{Drain, LockHolders};
pub use read::Columns;
pub use read::access::RowId;
pub use read::scan::{Scan, ScanSource};
pub use read::steps::{ScanSteps, VisitSteps};
pub use read::visit::VisitPart;
pub use recovery::{Recovered, RecoveryError};
pub use retry::RetryUntilDeadline;
pub use snapshot::Snapshot;
pub use snapshot::freezer::{FreezeError, FreezeHolder, FreezerId};
pub use snapshot::slot::{Departure, SlotSupply};
pub use statistics::LaneStatistics;
pub use transaction::{Isolation, Transaction};
pub use write::savepoint::Savepoint;
pub use write::unique::{UniqueViolation, describe_key};
