//! The messages of PostgreSQL's protocol 3, as bytes.
//!
//! ```text
//! reader   fields of one message, checked    frontend   messages of clients
//! writer   fields of messages to send        backend    messages of servers
//! startup  the packets before the first message
//! ```

pub mod backend;
pub mod frontend;
pub mod reader;
pub mod startup;
pub mod writer;

/// Length of a message's type and length.
pub const HEADER_BYTES: usize = 5;
