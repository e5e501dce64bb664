//! What a network has to offer so that [`super::RemoteEnv`] can be built on it.

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::{CallError, FabricError};
use crate::service::{CallId, ServiceId};
use layout::NodeId;
use rustix::event::PollFd;

/// Names a batch or a call between its posting and its completion. A number is used again after that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(pub u32);

/// A two-sided call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Who calls, and which of its calls this is.
    pub id: CallId,
    /// Who is called.
    pub node: NodeId,
    /// What is called.
    pub service: ServiceId,
    /// The request.
    pub request: Vec<u8>,
}

/// How a batch or a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// A batch, with the words that it read, and the messages that were sent for it: none where servers are
    /// reached without.
    Batch(Result<Batch, FabricError>, u32),
    /// A call, with its answer: one message each way.
    Call(Result<Vec<u8>, CallError>),
}

/// The connections of one engine thread to all memory servers, over one kind of network.
///
/// Whatever is posted belongs to the transport until it completes, and completes once: when a server has
/// answered, or when the connection to it is lost, which happens at the latest when the server has not
/// answered within a bound that the transport names. What is posted to a server that is lost completes with
/// `Unreachable` and is never carried out.
pub trait Transport: 'static {
    /// As in [`crate::env::Fabric`].
    fn is_coherent(&self) -> bool;

    /// As in [`crate::env::Fabric`]. A batch that is too long for one message is none of these.
    fn is_serial(&self) -> bool {
        false
    }

    /// Who keeps which region.
    fn addresses(&self) -> &AddressMap;

    /// Takes a batch. It need not go out before the next [`Transport::progress`], so that batches posted in
    /// one turn of the engine may share what sending costs. `now_ns` is when that turn began, which may be long
    /// ago where a task computes.
    fn post(&mut self, ticket: Ticket, batch: Batch, now_ns: u64);

    /// Takes a call, likewise.
    fn call(&mut self, ticket: Ticket, call: Call, now_ns: u64);

    /// Sends what was posted, receives what has arrived, gives up what is overdue, and hands over what is
    /// complete. Never waits.
    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome));

    /// The engine is about to sleep: whatever arrives from now on must make a descriptor ready. Whether
    /// something has arrived meanwhile, so that the engine must not sleep.
    fn arm(&mut self) -> bool;

    /// The engine is awake.
    fn disarm(&mut self);

    /// Appends the descriptors that become ready when there is something to do.
    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>);

    /// When there is something to do even if nothing arrives.
    fn next_deadline_ns(&self) -> Option<u64>;

    /// Where a server was and why there is no connection to it; none if there is one.
    fn trouble(&self, node: NodeId) -> Option<String>;
}
