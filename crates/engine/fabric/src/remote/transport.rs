//! The interface that a network implements for [`super::RemoteEnv`].

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::{CallError, FabricError};
use crate::service::{CallId, ServiceId};
use layout::{GlobalPtr, NodeId};
use rustix::event::PollFd;

/// Names a batch or a call between its posting and its completion; then the number is reused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u32);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The calling session, and the number of its call.
    pub id: CallId,
    pub node: NodeId,
    pub service: ServiceId,
    pub request: Vec<u8>,
}

/// The result of a batch or a call.
#[derive(Debug)]
pub enum Outcome {
    /// A batch with the words that it read, and the number of messages sent for it; 0 on networks
    /// without messages.
    Batch(Result<Batch, FabricError>, u32),
    /// A call with its answer: one message each way.
    Call(Result<Vec<u8>, CallError>),
}

/// The connections of one engine thread to all memory servers, over one kind of network.
///
/// The transport owns a posted batch or call until it completes, and completes it once: with the
/// server's answer, or when the connection is lost. A server that does not answer within the
/// transport's time-out counts as lost. Batches and calls posted to a lost server complete with
/// `Unreachable` and are never executed.
pub trait Transport: 'static {
    /// As in [`crate::env::Fabric`].
    fn is_coherent(&self) -> bool;

    /// As in [`crate::env::Fabric`], except for batches that are too long for one message.
    fn is_serial(&self) -> bool {
        false
    }

    /// The present map: it changes when memory servers die.
    fn addresses(&mut self) -> &AddressMap;

    /// Writes the replicas of these words beside them, see [`AddressMap::write_beside`].
    fn write_beside(&mut self, _first: GlobalPtr, _words: u64) {}

    /// Posts a batch. It may be sent by the next [`Transport::progress`] only, so that the batches
    /// of one turn of the engine share system calls. `now_ns` is the start of that turn, which may
    /// be long ago if a task computes.
    fn post(&mut self, ticket: Ticket, batch: Batch, now_ns: u64);

    /// Posts a call likewise.
    fn call(&mut self, ticket: Ticket, call: Call, now_ns: u64);

    /// Sends posted batches and calls, receives answers, fails overdue ones, and returns completed
    /// ones. Never blocks.
    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome));

    /// Prepares for the engine's sleep: from now on arrivals make a descriptor ready. Returns
    /// whether something has arrived meanwhile, in which case the engine must not sleep.
    fn arm(&mut self) -> bool;

    /// Announces that the engine is awake.
    fn disarm(&mut self);

    /// Appends the descriptors that become ready when there is work.
    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>);

    /// The next moment with work even if nothing arrives.
    fn next_deadline_ns(&self) -> Option<u64>;

    /// The address of a server and the reason why there is no connection to it; `None` if there is
    /// one.
    fn trouble(&self, node: NodeId) -> Option<String>;

    /// Whether no further attempt is made to connect to a server.
    fn is_given_up(&self, _node: NodeId) -> bool {
        false
    }
}
