//! Compares results and errors of expressions with PostgreSQL's: a corpus with expected results,
//! and random expressions.

mod corpus;
mod grammar;
mod judge;
mod random;
#[path = "../../../../sql/sql/tests/sql/server.rs"]
mod server;
mod subject;
mod variables;
