//! A workload's procedures in a PostgreSQL of this host: what ours are measured against.
//!
//! The same `schema.sql` and `procedures.sql`, the same rows, and clients that draw the same calls.
//!
//! ```text
//! server    the workload in a PostgreSQL, all of it in its memory
//! wire      the messages of its protocol that are needed
//! encode    calls as statements, and arguments as they travel
//! session   a connection, which calls prepared procedures
//! clients   sessions that call at the same time
//! beside    both results, and the ratio
//! ```

pub mod beside;
pub mod clients;
mod encode;
pub mod server;
mod session;
mod wire;
