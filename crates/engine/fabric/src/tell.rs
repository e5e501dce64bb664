//! Events of servers and callers in crate `tracing`, which cost nothing without a subscriber.
//! Connections emit them, verbs never.
//!
//! Decision: docs/decisions/0100-events-use-tracing-the-lines-are-ours.md

use crate::identity::{Hello, named};
use crate::line_limit::LineLimit;
use std::fmt::Display;

#[cold]
pub(crate) fn connected(peer: &dyn Display, hello: &Hello) {
    let Hello { epoch, endpoint, process, .. } = *hello;
    let caller = identity(hello.caller);
    tracing::info!(%peer, caller, endpoint, process, epoch, "caller connected");
}

/// Refusals of this process: strangers cause as many as they like.
static REFUSALS: LineLimit = LineLimit::new();

/// A caller was refused, or is no longer served. Of many refusals only some are logged, and the
/// next line counts the others.
#[cold]
pub fn refused(peer: &dyn Display, reason: &dyn Display) {
    match REFUSALS.pass() {
        None => {}
        Some(0) => tracing::warn!(%peer, %reason, "caller refused"),
        Some(suppressed) => tracing::warn!(%peer, %reason, suppressed, "caller refused"),
    }
}

/// Logs how many refusals were not logged, once that is due. Ports call it now and then, since no
/// further refusal may come.
pub fn refused_before() {
    if let Some(suppressed) = REFUSALS.overdue() {
        tracing::warn!(suppressed, "more callers refused");
    }
}

/// An admitted connection has ended; `name` is its caller's identity and the connection's number.
#[cold]
pub(crate) fn gone(peer: &dyn Display, name: (u64, u64), reason: &dyn Display) {
    let caller = identity(name.0);
    tracing::info!(%peer, caller, endpoint = name.1, %reason, "caller gone");
}

/// The chosen device is known to break locks; `advice` says what to do.
#[cold]
pub(crate) fn flawed(flaw: &str, advice: &str) {
    tracing::warn!(flaw, "{advice}");
}

/// The connection to a server was lost.
#[cold]
pub(crate) fn lost(node: layout::NodeId, address: &dyn Display, reason: &str) {
    tracing::warn!(server = named(node), peer = %address, reason, "connection lost");
}

/// The format of identities in all events.
fn identity(identity: u64) -> String {
    format!("{identity:016x}")
}
