//! What a memory server tells of its callers, and a caller of its servers: events of crate `tracing`, which cost
//! nothing where nobody has asked for them. None belongs to a verb; a connection comes and goes.

use crate::identity::{Hello, named};
use std::fmt::Display;

/// A caller was welcome.
#[cold]
pub(crate) fn connected(peer: &dyn Display, hello: &Hello) {
    let Hello { epoch, endpoint, process, .. } = *hello;
    let caller = identity(hello.caller);
    tracing::info!(%peer, caller, endpoint, process, epoch, "caller connected");
}

/// A caller is not served, or not any more.
#[cold]
pub(crate) fn refused(peer: &dyn Display, reason: &dyn Display) {
    tracing::warn!(%peer, %reason, "caller refused");
}

/// A connection that was welcome is over; `name` is its caller and which of its connections it was.
#[cold]
pub(crate) fn gone(peer: &dyn Display, name: (u64, u64), reason: &dyn Display) {
    let caller = identity(name.0);
    tracing::info!(%peer, caller, endpoint = name.1, %reason, "caller gone");
}

/// The device that is chosen is known not to keep what locks need; `advice` says what to do.
#[cold]
pub(crate) fn flawed(flaw: &str, advice: &str) {
    tracing::warn!(flaw, "{advice}");
}

/// The connection to a server was lost.
#[cold]
pub(crate) fn lost(node: layout::NodeId, address: &dyn Display, reason: &str) {
    tracing::warn!(server = named(node), peer = %address, reason, "connection lost");
}

/// How identities are written everywhere.
fn identity(identity: u64) -> String {
    format!("{identity:016x}")
}
