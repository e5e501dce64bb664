//! namdb: a main-memory transactional database for fast networks, to embed in a program.
//!
//! [`open`] returns a [`Db`] in this process, [`connect`] one in a cluster; clone it wherever it is
//! needed. Each thread takes a [`Session`] and runs transactions as closures; async programs take
//! an [`AsyncSession`]. A program can address data in three ways: as rows and columns
//! ([`Transaction`]), as Rust structures ([`record!`]), or as plain bytes ([`KeyValue`]).
//!
//! A transaction commits, aborts without effect, or, if a memory server is lost while it commits,
//! has an unknown outcome. All data is in memory and is lost when the processes that hold it exit.
//! With the feature `procedures`, programs call SQL procedures by name: see [`procedures`].
//!
//! ```
//! use namdb::{Isolation, RecordTable, Retry, Text, record};
//!
//! record! {
//!     /// A city and its number of inhabitants.
//!     pub struct City in "city" {
//!         key { name: Text<30> }
//!         inhabitants: i64,
//!     }
//! }
//!
//! let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
//! let cities = RecordTable::<City>::create(&db, Default::default())?;
//! let mut session = db.session();
//! session.transaction(Isolation::Serializable, Retry::default(), |txn| {
//!     txn.put(cities, &City { name: "Ghent".into(), inhabitants: 265_000 })?;
//!     txn.put(cities, &City { name: "Bruges".into(), inhabitants: 119_000 })
//! })?;
//! // One person moves: either both rows change or neither does.
//! session.transaction(Isolation::Serializable, Retry::default(), |txn| {
//!     let mut ghent = txn.get(cities, City::key("Ghent"))?.expect("put above");
//!     let mut bruges = txn.get(cities, City::key("Bruges"))?.expect("put above");
//!     ghent.inhabitants -= 1;
//!     bruges.inhabitants += 1;
//!     txn.put(cities, &ghent)?;
//!     txn.put(cities, &bruges)
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod asynchronous;
pub mod config;
pub mod database;
pub mod error;
pub mod field;
pub mod host;
pub mod key_value;
#[cfg(feature = "procedures")]
pub mod procedures;
pub mod record;
pub mod session;
pub mod transaction;

mod cluster;
mod declared;
mod lanes;
mod long_values;

pub use asynchronous::AsyncSession;
pub use cluster::connect;
// For programs that are servers of a cluster.
#[doc(hidden)]
pub use cluster::{database_config, root_of};
pub use config::{Config, OpenError, Retry};
pub use database::{Db, open};
pub use error::{DuplicateKey, Ok, Result, TransactionError};
pub use field::{Bytes, Char, Date, Decimal, Field, KeyField, Text, Timestamp};
pub use key_value::{KeyValue, KeyValueTable};
pub use record::{Record, RecordKey, RecordTable};
pub use session::Session;
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
