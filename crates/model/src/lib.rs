//! An exhaustive model of the row and commit protocol: every interleaving of two writers and two
//! readers on two rows, one 8-byte word at a time, with the death of a writer at each step.
//!
//! It answers two questions. Has the protocol as published `[ZB17 §3.1, listing 1]`, with the
//! timestamp vector of `[ZB17 §4.1]` and the old versions of `[ZB17 §5.1]`, anomalies? It has, and
//! each is a counterexample that a test asserts. Has ours any? It has none in any reachable state,
//! and each of its guards is needed: a mutant without it has a counterexample.
//!
//! # What is modelled
//!
//! ```text
//! row      header | version | chain -> buffer | payload words                  state.rs
//! buffer   { version, successor, payload } for each displaced version          state.rs
//! oracle   one slot for each writer | freezing lock | newest frozen vector     snapshot.rs
//! writer   what it may do next                                                 writer.rs
//! commit   snapshot, swaps, validation, buffers, publish; or release           commit.rs
//! install  old version, chain, invalid version, payload, version, header       install.rs
//!          or, where memory is not coherent, chain, header, image in one write
//! reader   snapshot, validation                                                reader.rs
//! read     in place with the version word at both ends, else from the buffer   row_read.rs
//! ```
//!
//! - A step reads or writes one word. Words of one verb go in any order, rows of one batch too.
//! - Between two steps of one process every other may take any number of steps, so a process that
//!   is delayed, for however long, is part of every run, and so is one that never goes on. A death
//!   is an action all the same: after it, the survivors are asked to end (`survivors.rs`).
//! - The guards of the protocol are switches (`config.rs`). The published protocol is ours without
//!   some of them, on a fabric that is friendlier: it places words in address order.
//! - Retries have no bound, and no state is cut off. What makes a bound safe is checked instead: a
//!   row is readable in every state for every snapshot in use, so only the progress of others
//!   causes retries.
//! - Properties speak of what transactions saw (`properties.rs`, `serial.rs`), and some runs have
//!   to show what they speak of (`possibilities.rs`).
//!
//! # What is left out, and why
//!
//! - Inserts, deletes, indexes, catalog: their words have protocols of their own.
//! - Version mover, overflow, collection: a buffer either has room, or overwrites and loses a
//!   version.
//! - Recovery, fencing, replicas: nobody acts for the dead. What they leave behind is therefore
//!   there to stay.
//! - Writers' reads are atomic, and of the right version: torn and stale reads are what the readers
//!   are for.
//! - Verbs whose completion is lost: to other processes a late effect is a slow writer.
//! - The ring of frozen vectors is its newest place, since a place with a wrong checksum is not
//!   taken.
//! - The words of checksums: one fits if what it is over is of one write (`Guards::checksum`).
//!
//! Two writers, readers, rows and payload words are the fewest that show each anomaly; more of them
//! is a matter for the simulator, which runs the code itself.
#![forbid(unsafe_code)]

mod commit;
pub mod config;
pub mod install;
pub mod possibilities;
pub mod properties;
pub mod protocol;
pub mod reader;
pub mod row_read;
mod serial;
pub mod snapshot;
pub mod state;
mod survivors;
pub mod writer;
