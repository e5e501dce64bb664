//! Cards and links in virtual time: what a message waits for on its way, when there is much to do.
//!
//! ```text
//!   compute node                                        memory server
//!   issue_ns per verb -> bytes at the link's pace -> latency_ns -> serve_ns by kind of verb
//!                        (request)                                 |
//!                        latency_ns <- bytes at the link's pace <--+
//!                                      (what was read)
//! ```
//!
//! Each of the four stages serves one verb after another. A verb takes its place in all of them when it is
//! posted: stages serve in the order of posting, and a verb that arrives late holds up those posted after
//! it. With links of equal length that is the order of arrival. The request of a call passes as a write does,
//! and so does its answer, the other way, once the handler has ended. Without a [`Network`] no stage takes
//! time, and messages take only what [`crate::SimConfig`] draws for their ways, which comes on top of this
//! model. A read that is repeated because a row was torn or a key missing goes past it.

use crate::verbs::{Kind, kind};
use fabric::Verb;
use layout::WORD_BYTES;

/// What cards and links are able to do. Sources of the figures of `connect_ib`: measured rates of
/// rdma_bench on dual-port cards of that name, fitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// Nanoseconds that a card needs to send a verb, or a message of a call.
    pub issue_ns: u64,
    /// Nanoseconds that a card needs to serve a read.
    pub serve_read_ns: u64,
    /// Nanoseconds that a card needs to serve a write, or a message of a call.
    pub serve_write_ns: u64,
    /// Nanoseconds that a card needs to serve an atomic.
    pub serve_atomic_ns: u64,
    /// Nanoseconds from card to card.
    pub latency_ns: u64,
    /// What a node's link carries in each direction, in bits per nanosecond.
    pub gigabits_per_second: u64,
    /// Bytes around each message.
    pub header_bytes: u64,
}

impl Network {
    /// Connect-IB cards with two FDR ports: 51 million small reads a second, 14 GB/s.
    pub const fn connect_ib() -> Self {
        Self {
            issue_ns: 8,
            serve_read_ns: 20,
            serve_write_ns: 8,
            serve_atomic_ns: 20,
            latency_ns: 700,
            gigabits_per_second: 112,
            header_bytes: 210,
        }
    }

    fn serve_ns(&self, load: &Load) -> u64 {
        match load {
            Load::Verb(verb) => match kind(verb) {
                Kind::Read => self.serve_read_ns,
                Kind::Atomic => self.serve_atomic_ns,
                Kind::Write => self.serve_write_ns,
            },
            Load::Message(_) => self.serve_write_ns,
        }
    }

    fn wire_ns(&self, bytes: u64) -> u64 {
        (8 * (self.header_bytes + bytes)).div_ceil(self.gigabits_per_second)
    }
}

/// When each stage of a node's card is free again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Card {
    issue_ns: u64,
    out_ns: u64,
    serve_ns: u64,
}

/// Takes a stage for `cost_ns` from `time_ns` on, or later if it is busy; returns when that is over.
fn pass(stage_ns: &mut u64, time_ns: u64, cost_ns: u64) -> u64 {
    *stage_ns = time_ns.max(*stage_ns) + cost_ns;
    *stage_ns
}

/// What goes over the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Load {
    /// A verb, which is answered by the card.
    Verb(Verb),
    /// So many bytes of a call: a request or an answer.
    Message(u64),
}

impl Load {
    /// Bytes there, and bytes that the card sends back.
    fn bytes(&self) -> (u64, u64) {
        match self {
            Self::Verb(Verb::Read { words, .. } | Verb::ReadRow { words, .. }) => {
                (0, u64::from(*words) * WORD_BYTES)
            }
            Self::Verb(Verb::FindSlot { geometry, .. }) => {
                (0, u64::from(geometry.words()) * WORD_BYTES)
            }
            Self::Verb(Verb::CompareAndSwap { .. }) => (2 * WORD_BYTES, WORD_BYTES),
            Self::Verb(Verb::FetchAndAdd { .. }) => (WORD_BYTES, WORD_BYTES),
            Self::Verb(verb) => (verb.bytes(), 0),
            Self::Message(bytes) => (*bytes, 0),
        }
    }
}

/// A passage through the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transit {
    /// When it is served.
    pub(crate) served_ns: u64,
    /// When the card's answer, if that comes at once, is back at the sender.
    pub(crate) back_ns: u64,
}

impl Network {
    /// Sends `load`, now, from one node's card to another's, each so many times slower than usual.
    pub(crate) fn send(
        &self,
        cards: &mut [Card],
        (from, to): (usize, usize),
        load: &Load,
        now_ns: u64,
        slowness: u64,
    ) -> Transit {
        let (sent_bytes, answered_bytes) = load.bytes();
        let serve_ns = self.serve_ns(load);
        let issued_ns = pass(&mut cards[from].issue_ns, now_ns, self.issue_ns * slowness);
        let out_ns = pass(&mut cards[from].out_ns, issued_ns, self.wire_ns(sent_bytes));
        let there_ns = out_ns + self.latency_ns;
        let served_ns = pass(&mut cards[to].serve_ns, there_ns, serve_ns * slowness);
        let answer_ns = self.wire_ns(answered_bytes);
        let back_ns = pass(&mut cards[to].out_ns, served_ns, answer_ns) + self.latency_ns;
        Transit { served_ns, back_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{GlobalPtr, RegionId};

    #[test]
    fn a_lone_verb_waits_for_nothing_and_many_for_the_slowest_stage() {
        let network = Network::connect_ib();
        let read =
            Load::Verb(Verb::Read { from: GlobalPtr::new(RegionId(0), 4096), at: 0, words: 1 });
        let mut cards = vec![Card::default(); 9];
        let lone = network.send(&mut cards, (1, 0), &read, 0, 1);
        assert_eq!(lone.served_ns, 8 + 15 + 700 + 20);
        assert_eq!(lone.back_ns, lone.served_ns + 16 + 700);
        // Eight senders to one server: it serves one after another.
        let mut last = lone;
        for number in 0..8000 {
            last = network.send(&mut cards, (1 + number % 8, 0), &read, 0, 1);
        }
        assert_eq!(last.served_ns, lone.served_ns + 8000 * 20);
        // A slow card takes longer for each.
        let mut cards = vec![Card::default(); 2];
        let grey = network.send(&mut cards, (1, 0), &read, 0, 10);
        assert_eq!(grey.served_ns, 80 + 15 + 700 + 200);
    }

    #[test]
    fn long_reads_wait_for_the_link() {
        let network = Network::connect_ib();
        let read =
            Load::Verb(Verb::Read { from: GlobalPtr::new(RegionId(0), 4096), at: 0, words: 1024 });
        let mut cards = vec![Card::default(); 2];
        let transits: Vec<Transit> =
            (0..100).map(|_| network.send(&mut cards, (1, 0), &read, 0, 1)).collect();
        let apart_ns = transits[99].back_ns - transits[98].back_ns;
        assert_eq!(apart_ns, (8 * (8192 + 210_u64)).div_ceil(112));
    }
}
