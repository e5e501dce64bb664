//! PostgreSQL's wire protocol: a server over SQL sessions, for unmodified clients of PostgreSQL,
//! and a client for the command line.
//!
//! ```text
//! message     messages as bytes             value    values in text and binary format
//! connection  a client and its session      server   lobby, threads, limits
//! session     what the server needs of SQL  error    errors of the server itself
//! login       the proof of the user            tls      certificate and key
//! client      a blocking client                wire     sockets, encrypted or not
//! ```
//!
//! Read [`message::frontend`], then [`connection`] with its parts, then [`server`].
//!
//! Decisions:
//! - docs/decisions/0329-the-servers-message-codec-is-our-own.md
//! - docs/decisions/0330-a-connection-has-a-thread-only-while-it-works.md
#![forbid(unsafe_code)]

pub mod client;
mod clock;
pub mod connection;
pub mod error;
pub mod login;
pub mod message;
pub mod server;
pub mod session;
pub mod tls;
pub mod value;
mod wire;

pub use server::shared::{Counts, Limits};
pub use server::{ARRIVALS_MAX, Gauges, Server};
