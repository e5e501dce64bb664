//! All networks of this library behind one type, so that the code above is compiled once.
//!
//! Decision: docs/decisions/0110-properties-of-memory-are-asked-of-the-endpoint.md

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::remote::transport::{Call, Outcome, Ticket, Transport};
use crate::tcp::TcpTransport;
use crate::verbs::VerbsTransport;
use layout::{GlobalPtr, NodeId};
use rustix::event::PollFd;

/// A transport over any of the networks.
pub enum AnyTransport {
    Tcp(Box<TcpTransport>),
    Verbs(Box<VerbsTransport>),
}

/// Evaluates an expression with the transport of the present network.
macro_rules! ask {
    ($any:expr, $network:ident => $question:expr) => {
        match $any {
            AnyTransport::Tcp($network) => $question,
            AnyTransport::Verbs($network) => $question,
        }
    };
}

impl From<TcpTransport> for AnyTransport {
    fn from(network: TcpTransport) -> Self {
        Self::Tcp(Box::new(network))
    }
}

impl From<VerbsTransport> for AnyTransport {
    fn from(network: VerbsTransport) -> Self {
        Self::Verbs(Box::new(network))
    }
}

impl Transport for AnyTransport {
    fn is_coherent(&self) -> bool {
        ask!(self, network => network.is_coherent())
    }

    fn is_serial(&self) -> bool {
        ask!(self, network => network.is_serial())
    }

    #[inline]
    fn addresses(&mut self) -> &AddressMap {
        ask!(self, network => network.addresses())
    }

    fn write_beside(&mut self, first: GlobalPtr, words: u64) {
        ask!(self, network => network.write_beside(first, words));
    }

    #[inline]
    fn post(&mut self, ticket: Ticket, batch: Batch, now_ns: u64) {
        ask!(self, network => network.post(ticket, batch, now_ns));
    }

    fn call(&mut self, ticket: Ticket, call: Call, now_ns: u64) {
        ask!(self, network => network.call(ticket, call, now_ns));
    }

    #[inline]
    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome)) {
        ask!(self, network => network.progress(now_ns, complete));
    }

    fn arm(&mut self) -> bool {
        ask!(self, network => network.arm())
    }

    fn disarm(&mut self) {
        ask!(self, network => network.disarm());
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>) {
        ask!(self, network => network.descriptors(to));
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        ask!(self, network => network.next_deadline_ns())
    }

    fn trouble(&self, node: NodeId) -> Option<String> {
        ask!(self, network => network.trouble(node))
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        ask!(self, network => network.is_given_up(node))
    }
}
