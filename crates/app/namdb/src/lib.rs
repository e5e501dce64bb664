//! namdb: a main-memory transactional database for fast networks, to embed in a program.
//!
//! [`open`] returns a [`Db`] in this process, `connect` one in a cluster; clone it wherever it is
//! needed. Each thread takes a [`Session`] and runs transactions as closures; async programs take
//! an [`AsyncSession`]. A program can address data in three ways: as Rust structures ([`record!`],
//! [`Transaction`]), as rows by columns ([`Rows`]), or as plain bytes ([`KeyValue`]).
//!
//! A transaction commits, aborts without effect, or, if a memory server is lost while it commits,
//! has an unknown outcome. All data is in memory. A database with a [`Config::directory`] has it
//! again after the process has ended; others lose it.
//!
//! | feature | adds |
//! |---|---|
//! | `serde` | serde for [`Decimal`], [`Date`], [`Timestamp`], [`Text`], [`Bytes`] and [`Char`] |
//! | `time` | conversions of dates and times from and to the crate `time` |
//! | `cluster` | `connect`, for clusters on this host or without encryption |
//! | `tls` | encrypted clusters |
//! | `etcd` | clusters whose registry is in etcd |
//! | `procedures` | SQL procedures, called by name |
//!
//! None is on by default, so that a program that embeds a database compiles little.
//!
//! ```
//! use namdb::{Isolation, RecordTable, Retry, Session, Storage, record};
//!
//! record! {
//!     /// A city and its inhabitants.
//!     pub struct City in "city" {
//!         key { name: String[30] }
//!         inhabitants: u64,
//!     }
//! }
//!
//! #[derive(Debug, thiserror::Error)]
//! enum MoveError {
//!     #[error("there is no city {0}")]
//!     NoCity(&'static str),
//!     #[error(transparent)]
//!     Database(#[from] namdb::TransactionError),
//! }
//!
//! /// One inhabitant moves: both rows change, or neither does.
//! fn move_one(session: &mut Session, cities: RecordTable<City>) -> Result<(), MoveError> {
//!     session.transaction(Isolation::Serializable, Retry::default(), |txn| {
//!         let mut ghent = txn.get(cities, "Ghent")?.ok_or(MoveError::NoCity("Ghent"))?;
//!         let mut bruges = txn.get(cities, "Bruges")?.ok_or(MoveError::NoCity("Bruges"))?;
//!         ghent.inhabitants -= 1;
//!         bruges.inhabitants += 1;
//!         txn.update(cities, &ghent)?;
//!         txn.update(cities, &bruges)?;
//!         Ok(())
//!     })
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
//!     // A tree keeps the cities in order; the default, a hash table, finds one in fewer steps.
//!     let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
//!     let mut session = db.session();
//!     session.transaction(Isolation::Serializable, Retry::default(), |txn| {
//!         txn.insert(cities, &City { name: "Ghent".to_owned(), inhabitants: 265_000 })?;
//!         txn.insert(cities, &City { name: "Bruges".to_owned(), inhabitants: 119_000 })
//!     })?;
//!     move_one(&mut session, cities)?;
//!     session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
//!         for city in txn.range(cities, "A".."H") {
//!             println!("{:?}", city?);
//!         }
//!         namdb::Ok(())
//!     })?;
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod asynchronous;
pub mod calendar;
pub mod config;
pub mod database;
pub mod decimal;
pub mod directory;
pub mod error;
pub mod field;
// For the programs of this workspace.
#[doc(hidden)]
pub mod host;
pub mod index;
pub mod key;
pub mod key_value;
#[cfg(feature = "procedures")]
pub mod procedures;
pub mod range;
pub mod record;
pub mod rows;
pub mod session;
#[cfg(feature = "sql")]
pub mod sql;
pub mod text;
pub mod transaction;

#[cfg_attr(not(feature = "cluster"), path = "no_cluster.rs")]
mod cluster;
mod declared;
mod disk_wait;
mod durable;
mod key_names;
mod lanes;
mod long_values;
mod persistence;
mod record_macro;
#[cfg(feature = "serde")]
mod serde_conversions;
mod statements;
#[cfg(feature = "time")]
mod time_conversions;

pub use asynchronous::AsyncSession;
pub use calendar::{Date, Timestamp};
#[cfg(feature = "cluster")]
pub use cluster::connect;
// For programs that are servers of a cluster.
#[cfg(feature = "cluster")]
#[doc(hidden)]
pub use cluster::{Regions, database_config, root_of};
pub use config::{Config, Durability, OpenError, Retry};
pub use database::{Db, open, open_with_progress};
pub use decimal::Decimal;
pub use durability::DurabilityError;
pub use durable::{DirectoryCounters, DirectoryStatistics, OpenProgress};
pub use error::{DuplicateKey, Ok, Result, TransactionError};
pub use field::{Field, KeyField, Misfit, Scalar};
pub use index::{IndexReads, RecordIndex};
pub use key::{FullKey, KeyPrefix, KeyRange};
pub use key_value::{KeyValue, KeyValueTable};
pub use range::Range;
pub use record::{Record, RecordTable};
pub use rows::Rows;
pub use session::Session;
pub use text::{Bytes, Char, Text};
pub use transaction::Transaction;

// Types of the engine that a program needs to declare tables, build keys and match outcomes.
pub use layout::{
    Column, ColumnType, IndexDesign, IndexKind, Key, KeyBuilder, LongValues, PhysicalDesign,
    Placement, RecordMut, RecordRef, Schema, SchemaError, Storage, Value,
};
pub use txn::{
    Abort, CatalogError, Damage, Flaw, IndexId, Isolation, Oracle, Outcome, RowId, Scan,
    ScanSource, TableId, TableMemory, TableSpec, TxnError, UniqueViolation, WholeMemory,
};
