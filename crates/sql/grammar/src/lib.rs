//! PostgreSQL's own parser as the oracle of what the crate `sql` reads and refuses.
//!
//! Tests of this crate hold the two against each other: over every file that is shipped, over the corpus of accepted and
//! rejected texts of `crates/sql/sql/tests/corpus`, and over that corpus changed at random. The parser is a library in C, so
//! that it and they exist with the feature `pg_query` alone: `cargo test --release -p grammar --features pg_query`.
//!
//! A parser knows no tables. What names mean and whether types go together is judged by a whole server, in the tests of `sql`.
//!
//! Decision: docs/decisions/0158-postgresqls-server-and-postgresqls-parser-both-judge.md
#![forbid(unsafe_code)]

#[cfg(feature = "pg_query")]
mod read;

#[cfg(feature = "pg_query")]
pub use read::{Reading, Routine, read};
