//! Planted bugs: each run removes one guard of the protocol, and the search looks for a world in
//! which the judge of histories detects that. A judge that has never detected a planted bug proves
//! nothing.
//!
//! A mutant removes a guard at run time, in simulated worlds only ([`fabric::Env::mutant`]). The
//! workload is the same for all: sessions append unique values to lists and read whole lists. The
//! worlds differ in how the database stores a list: it is one row, which moves from key to key,
//! changes its owner in an index, is deleted and inserted elsewhere, is large, or is stored out of
//! line. So every bug that loses a row, finds one twice or reads a stale one leads to a history
//! that no isolation level permits, and `check` need not know keys and indexes.
//!
//! ```text
//! kind ---> run: a world, its sessions, their history ---> history_judge::judge
//!            |      session -> lists, workload::recording
//! mutant --->+
//!            +-- search: seeds until one is caught, and the same seeds without the mutant
//! ```
//!
//! Read [`kind`] (the parameters of worlds), [`lists`] (the storage of lists in rows), [`session`],
//! [`run`], [`planted`] (the list of mutants), [`search`], [`caught`].
#![forbid(unsafe_code)]

pub mod caught;
mod changes;
mod deaths;
pub mod dice;
pub mod kind;
pub mod lists;
mod passing;
pub mod planted;
mod promises;
mod replicas;
mod rest;
pub mod run;
pub mod search;
pub mod session;
pub mod swarm;

pub use planted::Planted;
