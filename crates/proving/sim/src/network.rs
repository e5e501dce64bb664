//! Cards and links in virtual time: the queues that a message waits in under load.
//!
//! [`hardware::card`] draws the way of a verb through both cards. Each stage, that is the engine,
//! each direction of the link, the atomic unit and memory behind PCIe, serves one verb after
//! another, and has a [`Calendar`] of its busy times. A verb reserves its time in all of them when
//! it is posted. The request of a call passes like a write, and so does its answer, in the other
//! direction, once the handler has ended. Without a [`Network`] no stage takes time, and messages
//! take only the times of [`crate::SimConfig`], which are added to this model otherwise. A read
//! that is repeated because of a torn row or a missing key bypasses the model.
//!
//! Every endpoint has a queue pair of its own to each server. Each thread that posts has a core of
//! its own, unless the world has [`crate::Machines`].
//!
//! Decision: docs/decisions/0107-stages-of-a-simulated-card-keep-calendars.md

use crate::calendar::Calendar;
use crate::queue_pairs::QueuePairs;
use crate::usage::Usage;
use crate::verbs;
use fabric::Verb;
use hardware::{Card, Core, Kind, Memory, Profile};
use layout::WORD_BYTES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Picoseconds of a nanosecond: a nanosecond is too coarse a unit for the speed of cards.
pub(crate) const NANOSECOND_PS: u64 = 1000;
/// Bytes that a card writes to report a verb's completion.
const COMPLETION_BYTES: u64 = 64;

/// The capabilities of cards, links and cores, equal for all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    /// The card of each node, with its link.
    pub card: Card,
    /// The time of a thread to post and poll, and of a node to serve a message.
    pub core: Core,
    /// The time of a core to access memory of its own machine, if it does so without the card.
    pub memory: Memory,
}

impl Network {
    /// The cards, cores and memory of a profile.
    pub fn of(profile: &Profile) -> Self {
        Self { card: profile.card, core: profile.core, memory: profile.memory }
    }

    /// The same with cores that take no time, because another component counts it.
    pub(crate) fn without_cores(mut self) -> Self {
        self.core =
            Core { post_ps: 0, post_more_ps: 0, poll_ps: 0, serve_message_ps: 0, ..self.core };
        self
    }

    /// The network of the papers: Connect-IB cards with both ports in use.
    pub fn connect_ib() -> Self {
        Self::of(&hardware::profile("connect-ib-2xfdr").expect("the profile is built in"))
    }
}

/// The state of a node's card: the busy times of its stages, and its caches.
#[derive(Clone, Debug)]
pub(crate) struct CardState {
    engine: Calendar,
    link_out: Calendar,
    link_in: Calendar,
    from_memory: Calendar,
    to_memory: Calendar,
    atomics: Calendar,
    /// The time at which each bucket of words is free again.
    words_free_ps: Vec<u64>,
    queue_pairs: QueuePairs,
    /// The completion times of outstanding requests.
    outstanding: BinaryHeap<Reverse<u64>>,
}

impl CardState {
    pub(crate) fn new(card: &Card) -> Self {
        Self {
            engine: Calendar::default(),
            link_out: Calendar::default(),
            link_in: Calendar::default(),
            from_memory: Calendar::default(),
            to_memory: Calendar::default(),
            atomics: Calendar::default(),
            words_free_ps: vec![0; card.atomic_buckets as usize],
            queue_pairs: QueuePairs::new(card.queue_pairs_cached),
            outstanding: BinaryHeap::new(),
        }
    }

    /// The usage of its stages.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            engine_ps: self.engine.total_ps(),
            link_out_ps: self.link_out.total_ps(),
            link_in_ps: self.link_in.total_ps(),
            from_memory_ps: self.from_memory.total_ps(),
            to_memory_ps: self.to_memory.total_ps(),
            atomics_ps: self.atomics.total_ps(),
            ..Usage::default()
        }
    }

    /// The number of outstanding requests.
    fn outstanding(&mut self, now_ps: u64) -> u64 {
        while self.outstanding.peek().is_some_and(|Reverse(back_ps)| *back_ps <= now_ps) {
            self.outstanding.pop();
        }
        self.outstanding.len() as u64
    }

    /// The additional engine time for this queue pair, if it misses the card's cache.
    fn miss_ps(&mut self, card: &Card, queue_pair: u64) -> u64 {
        if self.queue_pairs.misses(queue_pair) { card.queue_pair_miss_ps } else { 0 }
    }
}

/// A load of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Load {
    /// A verb; the card answers it.
    Verb(Verb),
    /// A request or an answer of a call, with its bytes.
    Message(u64),
}

impl Load {
    /// Bytes sent, and bytes that the card sends back.
    pub(crate) fn bytes(&self) -> (u64, u64) {
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

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Verb(verb) => match verbs::kind(verb) {
                verbs::Kind::Read => Kind::Read,
                verbs::Kind::Atomic => Kind::Atomic,
                verbs::Kind::Write => Kind::Write,
            },
            Self::Message(_) => Kind::Message,
        }
    }

    /// The number of the word that an atomic changes.
    fn word(&self) -> u64 {
        match self {
            Self::Verb(verb) => verb.target().offset() / WORD_BYTES,
            Self::Message(_) => 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Posting {
    /// The cards of sender and receiver.
    pub(crate) ends: (usize, usize),
    /// The queue pair, from [`crate::queue_pairs::queue_pair`].
    pub(crate) queue_pair: u64,
    pub(crate) now_ns: u64,
    /// The time from now on until the thread has posted it.
    pub(crate) delay_ps: u64,
    /// It never leaves the card, because both nodes share it.
    pub(crate) is_loopback: bool,
    /// How many times slower than usual the cards are.
    pub(crate) slowness: u64,
}

/// The result of a passage through the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transit {
    /// The time of its effect.
    pub(crate) served_ns: u64,
    /// The time at which the sender notices the card's answer, if the card answers at once.
    pub(crate) back_ns: u64,
    /// Whether no card takes part.
    pub(crate) is_local: bool,
}

/// Passes a stage that works while its input arrives; the input ends at `end_ps`.
fn through(stage: &mut Calendar, now_ps: u64, end_ps: u64, cost_ps: u64) -> u64 {
    let begin_ps = end_ps.saturating_sub(cost_ps).max(now_ps);
    stage.take(now_ps, begin_ps, cost_ps).max(end_ps)
}

impl Network {
    /// Sends `load` from one node's card to another's.
    pub(crate) fn send(&self, cards: &mut [CardState], load: &Load, posting: Posting) -> Transit {
        let (card, (from, to)) = (&self.card, posting.ends);
        let now_ps = posting.now_ns * NANOSECOND_PS;
        let (_, answered) = load.bytes();
        let there_ps = self.request(cards, load, posting);
        let (effect_ps, out_ps) = self.serve(&mut cards[to], load, posting, there_ps);
        let client = &mut cards[from];
        let (response_ps, wire_ps) = self.way(card.response_ps(answered), posting);
        let back_ps = through(&mut client.link_in, now_ps, out_ps + wire_ps, response_ps);
        let stored_ps = card.pcie_ps(answered + COMPLETION_BYTES);
        let stored_ps = through(&mut client.to_memory, now_ps, back_ps, stored_ps);
        let complete_ps = stored_ps + card.pcie_write_ps;
        client.outstanding.push(Reverse(complete_ps));
        Transit {
            served_ns: effect_ps.div_ceil(NANOSECOND_PS),
            back_ns: (complete_ps + self.core.poll_ps).div_ceil(NANOSECOND_PS),
            is_local: false,
        }
    }

    /// Times on the link and between the cards.
    fn way(&self, link_ps: u64, posting: Posting) -> (u64, u64) {
        if posting.is_loopback { (0, 0) } else { (link_ps, self.card.wire_ps) }
    }

    /// The way to the server's card. Returns the time of the request's arrival.
    fn request(&self, cards: &mut [CardState], load: &Load, posting: Posting) -> u64 {
        let (card, kind, (sent, answered)) = (&self.card, load.kind(), load.bytes());
        let (from, to) = posting.ends;
        let now_ps = posting.now_ns * NANOSECOND_PS;
        let posted_ps = now_ps + posting.delay_ps + card.doorbell_ps;
        let client = &mut cards[from];
        let moved_ps = card.moved_ps(sent.max(answered)) * posting.slowness;
        let issue_ps = card.issue_ps(kind)
            + client.miss_ps(card, posting.queue_pair)
            + card.crowding_ps(client.outstanding(now_ps));
        let issue_ps = issue_ps * posting.slowness + moved_ps;
        let issued_ps = client.engine.take(now_ps, posted_ps, issue_ps);
        // The card fetches the payload, and the engine moves it, while its first bytes are sent.
        let fetched_ps = client.from_memory.take(now_ps, posted_ps, card.pcie_ps(sent));
        let (request_ps, wire_ps) = self.way(card.request_ps(sent), posting);
        let out_ps = client.link_out.take(now_ps, issued_ps - moved_ps, request_ps);
        let out_ps = if sent > 0 { out_ps.max(issued_ps).max(fetched_ps) } else { out_ps };
        through(&mut cards[to].link_in, now_ps, out_ps + wire_ps, request_ps)
    }

    /// The work of the server's card on a request that has arrived. Returns the time of its effect,
    /// and the time at which the whole answer is on the link.
    fn serve(
        &self,
        server: &mut CardState,
        load: &Load,
        posting: Posting,
        there_ps: u64,
    ) -> (u64, u64) {
        let (card, kind, (sent, answered)) = (&self.card, load.kind(), load.bytes());
        let now_ps = posting.now_ns * NANOSECOND_PS;
        let moved_ps = card.moved_ps(sent.max(answered)) * posting.slowness;
        let serve_ps = card.serve_ps(kind) + server.miss_ps(card, posting.queue_pair);
        let serve_ps = serve_ps * posting.slowness;
        let (response_ps, _) = self.way(card.response_ps(answered), posting);
        if kind == Kind::Read {
            let served_ps = server.engine.take(now_ps, there_ps, serve_ps + moved_ps);
            let effect_ps = served_ps - moved_ps + card.pcie_read_ps;
            let fetched_ps = card.pcie_ps(answered);
            let fetched_ps = server.from_memory.take(now_ps, served_ps - moved_ps, fetched_ps);
            let out_ps = server.link_out.take(now_ps, effect_ps, response_ps);
            return (effect_ps, out_ps.max(served_ps).max(fetched_ps));
        }
        // The engine has moved the incoming bytes when the last of them arrives.
        let begin_ps = there_ps.saturating_sub(moved_ps).max(now_ps);
        let served_ps = server.engine.take(now_ps, begin_ps, serve_ps + moved_ps);
        if kind == Kind::Atomic {
            let begin_ps = server.atomics.take(now_ps, served_ps, card.atomic_unit_ps);
            let free_ps = &mut server.words_free_ps[(load.word() % card.atomic_buckets) as usize];
            let effect_ps = begin_ps.max(*free_ps) + card.same_word_atomic_ps;
            *free_ps = effect_ps;
            return (effect_ps, server.link_out.take(now_ps, effect_ps, response_ps));
        }
        let stored_ps = through(&mut server.to_memory, now_ps, served_ps, card.pcie_ps(sent));
        let handled_ps = if kind == Kind::Message { self.core.serve_message_ps } else { 0 };
        let effect_ps = stored_ps + card.pcie_write_ps + handled_ps;
        // The card acknowledges it while it is on its way to memory.
        (effect_ps, server.link_out.take(now_ps, stored_ps, response_ps))
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
