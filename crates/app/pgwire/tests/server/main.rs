//! The server over a session of the tests, whose statements do what their words say.

mod abuse;
mod extended;
mod limits;
mod psql;
mod simple;
mod toy;
mod world;
