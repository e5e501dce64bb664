//! Atomics: one access to one word, or two accesses with a window between them.
//!
//! A card reads the word and writes it back later. It excludes other atomics in between, but it
//! does not exclude plain writes and processors: a value that they write into the window is lost.
//! With [`crate::SimConfig::atomic_window_ns`] an atomic therefore has two moments:
//!
//! ```text
//! start_ns   the word is read; an atomic with an open window on this word writes first
//! end_ns     the result is written, unless another atomic's start has brought that forward
//! ```
//!
//! Where memory is coherent, processors execute the atomics, and there is no window.

use crate::flight::Flight;
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::Verb;
use layout::{GlobalPtr, RegionId};

/// An atomic that has read its word and not yet written it.
#[derive(Clone, Copy)]
pub(crate) struct OpenAtomic {
    at: GlobalPtr,
    value: u64,
    place: u32,
    index: u32,
    number: u32,
}

impl OpenAtomic {
    /// Whether it belongs to one of these batches, and its word to this region.
    pub(crate) fn is_of(&self, batches: &[u32], region: RegionId) -> bool {
        self.at.region() == region && batches.contains(&self.number)
    }
}

impl Core {
    /// Plans an atomic from `start_ns` on. Returns the moment of its write.
    pub(crate) fn start_atomic(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        start_ns: u64,
    ) -> u64 {
        flight.atomics += 1;
        self.queue.push(start_ns, Happening::Atomic { flight: place, verb: index });
        let has_window = !self.coherent || self.config.broken.atomics_with_cpu;
        let window_ns = if has_window { self.config.atomic_window_ns } else { 0 };
        start_ns + self.random.up_to(window_ns)
    }

    /// Executes the read of an atomic, unless the atomic was cut off or its server has died.
    pub(crate) fn begin_atomic(&mut self, place: u32, index: u32) {
        let mut flight = self.flights.take(place);
        let is_open = self.is_carried_out(&flight, index) && self.atomic(place, &mut flight, index);
        if is_open {
            let end_ns = flight.verbs[index as usize].end_ns;
            self.queue.push(end_ns, Happening::AtomicEnd { flight: place, verb: index });
        } else {
            flight.atomics -= 1;
        }
        self.flights.put(place, flight);
        self.flights.end_if_over(place);
    }

    /// Closes an atomic's window.
    pub(crate) fn end_atomic(&mut self, place: u32, index: u32) {
        let mut flight = self.flights.take(place);
        flight.atomics -= 1;
        let is_this = |open: &OpenAtomic| (open.place, open.index) == (place, index);
        if let Some(open) = self.open_atomics.iter().position(is_this) {
            let open = self.open_atomics.swap_remove(open);
            if self.is_carried_out(&flight, index) {
                self.write_back(&flight, open);
            }
        }
        self.flights.put(place, flight);
        self.flights.end_if_over(place);
    }

    fn is_carried_out(&self, flight: &Flight, index: u32) -> bool {
        let node = self.addresses.host(flight.verb(index).target().region());
        let server = &self.nodes[usize::from(node.0)];
        let is_lost = server.memory_is_dead || server.life > flight.life;
        !is_lost && self.now_ns <= flight.verbs[index as usize].cut_ns
    }

    fn write_back(&mut self, flight: &Flight, open: OpenAtomic) {
        self.trace.word(self.now_ns, flight.node, "writes back", open.at, open.value);
        self.memory.store(open.at, self.now_ns, open.value, open.number);
    }

    /// Reads the word. Returns whether a window is open now.
    fn atomic(&mut self, place: u32, flight: &mut Flight, index: u32) -> bool {
        let (at, in_arena) = match flight.verb(index) {
            Verb::CompareAndSwap { word, at, .. } | Verb::FetchAndAdd { word, at, .. } => {
                (word, at)
            }
            verb => unreachable!("{verb:?} is not atomic"),
        };
        if !self.config.broken.atomics_exclude {
            self.close_window(flight, at);
        }
        let found = self.memory.load(at, self.now_ns);
        self.trace.word(self.now_ns, flight.node, "finds", at, found);
        flight.batch_mut().set_word(in_arena, found);
        let value = match flight.verb(index) {
            Verb::CompareAndSwap { expected, desired, .. } if found == expected => desired,
            Verb::FetchAndAdd { add, .. } => found.wrapping_add(add),
            _ if self.config.broken.failed_swap_writes_nothing => found,
            _ => return false,
        };
        let open = OpenAtomic { at, value, place, index, number: flight.number };
        if flight.verbs[index as usize].end_ns == self.now_ns {
            self.write_back(flight, open);
            return false;
        }
        self.open_atomics.push(open);
        true
    }

    /// Another atomic needs the word: if an atomic has an open window on it, that atomic writes
    /// now.
    fn close_window(&mut self, flight: &Flight, at: GlobalPtr) {
        let Some(open) = self.open_atomics.iter().position(|open| open.at == at) else {
            return;
        };
        let open = self.open_atomics.swap_remove(open);
        let is_carried_out = if flight.number == open.number {
            self.is_carried_out(flight, open.index)
        } else {
            let other = self.flights.take(open.place);
            let is_carried_out = self.is_carried_out(&other, open.index);
            self.flights.put(open.place, other);
            is_carried_out
        };
        if is_carried_out {
            self.write_back(flight, open);
        }
    }
}
