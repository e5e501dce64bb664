//! Runs a workload's procedures in a PostgreSQL on this host, to compare namdb with it.
//!
//! PostgreSQL gets the same `schema.sql`, `procedures.sql` and rows, and clients draw the same
//! calls.
//!
//! ```text
//! server    the workload in PostgreSQL, entirely in its memory
//! wire      the part of its protocol that is needed
//! encode    calls as statements, and arguments on the wire
//! session   a connection that calls prepared procedures
//! clients   concurrent sessions
//! beside    both results, and their ratio
//! ```

pub mod beside;
pub mod clients;
mod encode;
pub mod server;
mod session;
mod wire;
