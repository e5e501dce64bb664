//! The engines that the papers compare NAM-DB with: small, but real, with verbs and calls of the
//! fabric in every world, and with the protocol's steps in the order of the papers.
//!
//! ```text
//! trad_si   shared nothing: servers own partitions; messages and two-phase commit
//! rsi       the first protocol of network-attached memory: verbs and a global timestamp oracle
//! h_store   partitions with one thread each, which run one transaction after another
//! nam_db    NAM-DB's own protocol as it is printed, with its faults
//! tpcc      TPC-C's transactions as the rows that they read and write
//! tpcw      the transaction "buy" for trad_si and rsi
//! ```
//!
//! None of them is built on the crate `txn`, and none is for production: they lose all data when a
//! server ends, and no server takes over the transactions of a dead one.
//!
//! Where the papers leave something open, we choose the faster way for the baseline; a comment says
//! so at each such place.
//!
//! Decision: docs/decisions/0130-baselines-are-engines-not-formulas.md
#![forbid(unsafe_code)]

pub mod h_store;
pub mod message;
pub mod nam_db;
pub mod row_key;
pub mod rsi;
pub mod tpcc;
pub mod tpcw;
pub mod trad_si;

pub use row_key::RowKey;

/// Reports to the world that a server has read or written this many rows without verbs; in worlds
/// where computing takes time, it takes core time.
pub type Work<E> = fn(&E, u64);
