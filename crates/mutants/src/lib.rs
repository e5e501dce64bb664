//! Planted bugs: each guard of the protocol removed once, and the search for a world in which the judge of
//! histories notices it. A judge that has not found out a planted bug proves nothing.
//!
//! A mutant removes a guard at run time, in simulated worlds only ([`fabric::Env::mutant`]). What tries to
//! find it out is the same for all: sessions that append unique values to lists and read lists whole. How a
//! list stands in the database is what differs: it is one row, which moves from key to key, changes hands in
//! an index, is deleted and put elsewhere, is large or stands out of line. So that whatever loses a row, finds
//! one twice or shows an old one makes a history that no isolation allows, and `check` needs to know nothing
//! of keys and indexes.
//!
//! ```text
//! kind ---> run: a world, its sessions, their history ---> check::judge
//!            |      session -> lists, workload::recording
//! mutant --->+
//!            +-- search: seeds until one is caught, and the same seeds without the mutant
//! ```
//!
//! To read it: [`kind`] (what worlds are made of), [`lists`] (how a list stands in rows), [`session`],
//! [`run`], [`planted`] (the list of mutants), [`search`], [`caught`].
#![forbid(unsafe_code)]

pub mod caught;
pub mod dice;
pub mod kind;
pub mod lists;
pub mod planted;
pub mod run;
pub mod search;
pub mod session;

pub use planted::Planted;
