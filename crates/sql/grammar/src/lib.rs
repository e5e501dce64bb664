//! PostgreSQL's own parser as the oracle for the crate `sql`.
//!
//! The tests of this crate compare both parsers on every shipped file, on the accepted and rejected
//! texts of `crates/sql/sql/tests/corpus`, and on random changes of these. PostgreSQL's parser is a
//! C library, so the crate's content requires the feature `pg_query`: `cargo test --release -p
//! grammar --features pg_query`.
//!
//! A parser knows no tables. The tests of `sql` check the meaning of names and the types against a
//! whole PostgreSQL server.
//!
//! Decision: docs/decisions/0158-postgresqls-server-and-postgresqls-parser-both-judge.md
#![forbid(unsafe_code)]

#[cfg(feature = "pg_query")]
mod read;

#[cfg(feature = "pg_query")]
pub use read::{Reading, Routine, read};
