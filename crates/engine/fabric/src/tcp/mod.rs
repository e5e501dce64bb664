//! Fabric `tcp`: verbs and calls as messages to the polling threads of servers.
//!
//! A batch is one message to each server that it touches, and one answer. The server executes it in
//! posting order on its own memory, which is coherent there, so rows have no checksum, and a fence
//! within the batch of one server costs nothing. Batches that are posted together share system
//! calls on both sides.
//!
//! [`TcpPort`] is the server's end, [`TcpTransport`] that of an engine thread, which has one
//! connection to each server. A compute server with services has a port without a region, which its
//! engine serves between the turns of its tasks ([`crate::Engine::attach`]); handlers are tasks
//! there (`desk`). The message formats are in [`crate::identity`] (handshake), `frame`, `request`,
//! `answer` and `message`.
//!
//! A memory server with replicas serves its port in an engine, too (`replicating`): its services
//! wait for the servers of the replicas, and its verbs to its own memory are executed at once.

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
mod replicating;
mod request;
mod spread;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod tls_error;
mod tls_stream;
mod transport;
mod under_way;

pub use frame::{CALL_BYTES_MAX, FRAME_WORDS_MAX};
pub use port::{CONNECTIONS_MAX, TcpPort};
pub use tls::TlsKeys;
pub use tls_error::TlsError;
pub use tls_stream::TlsStream;
pub use transport::{ConnectError, TcpConfig, TcpTransport};
pub use under_way::{Begun, CallsUnderWay};
