//! Fabric `tcp` over real sockets: batches, calls, lost connections, and callers that send garbage.
#![allow(clippy::disallowed_methods, reason = "these tests take time")]

mod batches;
mod calls;
#[cfg(feature = "tls")]
mod encrypted;
mod fenced;
mod hostile;
mod identities;
mod lost;
mod peers;
mod processes;
mod strangers;
mod support;
