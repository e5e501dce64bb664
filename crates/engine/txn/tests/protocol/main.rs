//! The proof that the protocol is right, as far as running it under every kind of hostility can give one.
//!
//! [`litmus`] has the anomalies, one by one, and [`threads`] has them on real memory, its own and that of other
//! processes ([`processes`]); [`random`] mixes
//! everything, [`contents`] more rows, [`copies`] has tables that each memory server has a copy of; [`catalog`] has changes of the catalog side by side, [`filling`] indexes
//! that are made over tables in use; [`killed`] and [`dropped`] end compute servers and futures half way,
//! [`lost`] takes the memory of a server, [`slots`] has lanes that start at once, [`fresh`] looks how old snapshots are.
//! [`mutants`] shows that these tests notice a missing guard, and [`played`] the same of guards that only a
//! certain course of events needs.

#[path = "../support/mod.rs"]
mod support;

mod catalog;
mod contents;
mod copies;
mod dropped;
mod filling;
mod fresh;
mod killed;
mod litmus;
mod lost;
mod mutants;
mod parts;
mod played;
mod processes;
mod random;
mod slots;
mod threads;
