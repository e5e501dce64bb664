//! An exhaustive model of the row and commit protocol: every interleaving of two writers and two
//! readers on two rows, one 8-byte word at a time, with the death of a writer at each step.
//!
//! It answers two questions. Does the published protocol `[ZB17 §3.1, listing 1]`, with the
//! timestamp vector of `[ZB17 §4.1]` and the old versions of `[ZB17 §5.1]`, have anomalies? It
//! does, and a test asserts each counterexample. Does ours? It has none in any reachable state, and
//! each of its guards is needed: a mutant without it has a counterexample.
//!
//! A second model, [`group_commit`], is about the redo log: what a restart brings back.
//!
//! # What is modelled
//!
//! ```text
//! row      header | version | chain -> buffer | payload words                  state.rs
//! buffer   { version, successor, payload } for each displaced version          state.rs
//! oracle   one slot for each writer | freezing lock | newest frozen vector     snapshot.rs
//! writer   its possible next steps                                             writer.rs
//! commit   snapshot, swaps, validation, buffers, publish; or release           commit.rs
//! install  old version, chain, invalid version, payload, version, header       install.rs
//!          or, where memory is not coherent, chain, header, image in one write
//! reader   snapshot, validation                                                reader.rs
//! read     in place with the version word at both ends, else from the buffer   row_read.rs
//! ```
//!
//! - A step reads or writes one word. Words of one verb go in any order, rows of one batch too.
//! - Between two steps of one process every other may take any number of steps, so every run
//!   includes arbitrarily delayed processes, and processes that never continue. A death is an
//!   explicit action nevertheless: after it, the survivors must terminate (`survivors.rs`).
//! - The guards of the protocol are switches (`config.rs`). The published protocol is ours without
//!   some of them, on a friendlier fabric that writes words in address order.
//! - Retries have no bound, and no state is cut off. The model checks the condition that makes a
//!   bound safe: a row is readable in every state for every snapshot in use, so only the progress
//!   of others causes retries.
//! - Properties are statements about the reads of transactions (`properties.rs`, `serial.rs`), and
//!   some runs must reach the situations that the properties are about (`possibilities.rs`).
//!
//! # What is left out, and why
//!
//! - Inserts, deletes, indexes, catalog: their words have protocols of their own.
//! - Version mover, overflow, collection: a buffer either has room, or overwrites and loses a
//!   version.
//! - Recovery, fencing, replicas: no process acts for a dead one. So whatever a dead process leaves
//!   behind stays.
//! - Writers' reads are atomic, and return the right version: the readers cover torn and stale
//!   reads.
//! - Verbs whose completion is lost: for other processes a late effect is a slow writer.
//! - The ring of frozen vectors is reduced to its newest entry, since no process accepts an entry
//!   with a wrong checksum.
//! - The words of checksums: a checksum matches if its words are of one write (`Guards::checksum`).
//!
//! Two writers, readers, rows and payload words are the fewest that show each anomaly; the
//! simulator, which runs the real code, covers larger numbers.
//!
//! Decision: docs/decisions/0034-the-commit-protocol-is-model-checked-exhaustively.md
#![forbid(unsafe_code)]

mod commit;
pub mod config;
pub mod group_commit;
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
