//! The engines that the papers measure NAM-DB against, each small, and real: verbs and calls of the fabric's seam,
//! in every world, with the protocol's steps in the order of the texts.
//!
//! ```text
//! trad_si   shared nothing: servers own partitions, managers run transactions by messages and two-phase commit
//! rsi       the first protocol of network-attached memory: one-sided verbs, a global timestamp oracle
//! h_store   partitions with one thread each, which run one transaction after another
//! nam_db    NAM-DB's own protocol as it is printed, with what is wrong with it
//! tpcc      TPC-C's transactions as what they read and write
//! tpcw      the transaction "buy" for both of them
//! ```
//!
//! None of them is built on the crate `txn`, and none of them is for use: they forget everything when a server
//! ends, and nobody takes over the transactions of whoever died.
//!
//! What the texts leave open is filled in such that the baseline is the faster for it; each such place says so.
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

/// Tells the world that a server has read or written so many rows without verbs: where computing takes time, that takes
/// some.
pub type Work<E> = fn(&E, u64);
