//! Expressions have PostgreSQL's results and errors: a corpus with expectations, and expressions made at random.

mod corpus;
mod grammar;
mod judge;
mod random;
#[path = "../../../sql/tests/sql/server.rs"]
mod server;
mod subject;
mod variables;
