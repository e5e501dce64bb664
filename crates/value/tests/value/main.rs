//! Expressions have PostgreSQL's results and errors.

mod corpus;
mod judge;
#[path = "../../../sql/tests/sql/server.rs"]
mod server;
mod subject;
