//! Fabric `tcp`: verbs as messages to a memory server's polling thread, and calls to it and to compute servers.
//!
//! A batch is one message to each server it touches, and one back. The server carries it out in posting
//! order on its own memory, where it is coherent, so that rows carry no checksum and a fence within the
//! batch of one server costs nothing. Batches posted together share system calls on both sides.
//!
//! [`TcpPort`] is the server's end, [`TcpTransport`] that of an engine thread, which has one connection to each
//! server. A compute server that takes calls has a port without a region, which its engine serves between the turns of
//! its tasks ([`crate::Engine::attach`]); handlers are tasks there (`desk`). The bytes are told in [`crate::identity`]
//! (handshake), `frame`, `request`, `answer` and `message`.

mod answer;
mod buffer;
mod carry;
mod channel;
mod connection;
mod desk;
mod frame;
mod join;
mod link;
mod message;
mod port;
mod request;
mod spread;
mod tls;
mod tls_stream;
mod transport;

pub use frame::{CALL_BYTES_MAX, FRAME_WORDS_MAX};
pub use port::{CONNECTIONS_MAX, TcpPort};
pub use tls::{TlsError, TlsKeys};
pub use tls_stream::TlsStream;
pub use transport::{ConnectError, TcpConfig, TcpTransport};
