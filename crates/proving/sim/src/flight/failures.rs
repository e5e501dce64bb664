//! Failures while batches are under way: which of their verbs still take effect, and which owners
//! learn that a server is unreachable.

use super::VerbState;
use crate::fault::FaultKind;
use crate::state::Core;
use fabric::{FabricError, Verb};
use layout::{NodeId, RegionId};

impl Core {
    /// Draws a moment between now and the end of all that is usually under way, or never.
    pub(super) fn draw_cut_ns(&mut self) -> u64 {
        let longest_ns = self.config.write_ns.max_ns + 64 * self.config.word_ns;
        match self.random.up_to(3) {
            0 => self.now_ns,
            1 => u64::MAX,
            _ => self.now_ns + self.random.up_to(longest_ns),
        }
    }

    /// A connection is lost: the verbs under way from one node to the other stop at some moment,
    /// and their owners learn that the server is unreachable. No connection leads to a node's own
    /// memory.
    pub(crate) fn cut_connection(&mut self, from: NodeId, to: NodeId, by: FaultKind) {
        if from == to {
            return;
        }
        let cut_ns = self.draw_cut_ns();
        let addresses = &self.addresses;
        let is_there = |region| addresses.host(region) == to;
        for flight in self.flights.under_way().filter(|flight| flight.node == from) {
            if flight.goes_to(is_there) {
                flight.cut_to(is_there, cut_ns);
                for region in addresses.regions_on(to) {
                    self.memory.cut_batch(flight.number, Some(region.0), cut_ns);
                }
                flight.failure.get_or_insert(FabricError::Unreachable(to));
                self.injector.count(by);
            }
        }
        self.lose_calls(from, to, cut_ns, by);
    }

    /// A process has a new connection to the server of a region: nothing of its batches that have
    /// failed takes effect there any more.
    pub(crate) fn settle(&mut self, group: u32, region: RegionId) {
        let (now_ns, failed) = (self.now_ns, &self.groups[group as usize].failed);
        for &number in failed {
            self.memory.cut_batch(number, Some(region.0), now_ns);
        }
        for flight in self.flights.places.iter_mut().flatten() {
            let is_failed = flight.group == group && failed.contains(&flight.number);
            if is_failed && flight.is_over && flight.batch.is_some() {
                flight.cut_to(|target| target == region, now_ns);
            }
        }
        self.open_atomics.retain(|open| !open.is_of(failed, region));
    }

    /// Messages from `from` to `to` are lost: completions and answers under way never arrive.
    pub(crate) fn lose_answers(&mut self, from: NodeId, to: NodeId, by: FaultKind) {
        let addresses = &self.addresses;
        let is_there = |region| addresses.host(region) == from;
        for flight in self.flights.under_way().filter(|flight| flight.node == to) {
            if flight.goes_to(is_there) && flight.failure.is_none() {
                flight.failure = Some(FabricError::Unreachable(from));
                self.injector.count(by);
            }
        }
        self.lose_calls(to, from, u64::MAX, by);
    }

    /// A server died: its pending verbs never take effect.
    pub(crate) fn fail_flights_to(&mut self, node: NodeId) {
        let (now_ns, addresses) = (self.now_ns, &self.addresses);
        for flight in self.flights.under_way() {
            let posted = flight.batch().verbs()[..flight.next_verb as usize].iter();
            let is_unfinished = |(verb, state): (&Verb, &VerbState)| {
                *verb != Verb::Fence
                    && addresses.host(verb.target().region()) == node
                    && state.end_ns > now_ns
            };
            if posted.zip(&flight.verbs).any(is_unfinished) {
                flight.failure.get_or_insert(FabricError::Unreachable(node));
            }
        }
        for region in addresses.regions_on(node) {
            self.memory.cut_region(region.0, now_ns);
        }
    }

    /// A server restarts: verbs that were posted to its earlier incarnation are refused.
    pub(crate) fn refuse_flights_to(&mut self, node: NodeId) {
        let addresses = &self.addresses;
        let is_there = |region| addresses.host(region) == node;
        for flight in self.flights.under_way().filter(|flight| flight.goes_to(is_there)) {
            flight.failure.get_or_insert(FabricError::Unreachable(node));
            self.injector.count(FaultKind::StaleKey);
        }
    }

    /// The dead owner of flights was fenced: they stop now.
    pub(crate) fn end_flights(&mut self, group: u32) {
        let now_ns = self.now_ns;
        for place in 0..self.flights.places.len() as u32 {
            let flight = self.flights.get(place);
            if flight.group == group && flight.batch.is_some() {
                flight.cut_ns = flight.cut_ns.min(now_ns);
                for state in &mut flight.verbs {
                    state.cut_ns = state.cut_ns.min(now_ns);
                }
                self.memory.cut_batch(flight.number, None, now_ns);
            }
        }
    }

    /// The owner of flights died: each flight continues, stops at some moment, or stops now.
    pub(crate) fn cut_flights(&mut self, group: u32) {
        for place in 0..self.flights.places.len() as u32 {
            let flight = self.flights.get(place);
            if flight.group == group && flight.batch.is_some() && !flight.is_done {
                let cut_ns = self.draw_cut_ns();
                let flight = self.flights.get(place);
                flight.cut_ns = flight.cut_ns.min(cut_ns);
                for state in &mut flight.verbs {
                    state.cut_ns = state.cut_ns.min(cut_ns);
                }
                self.memory.cut_batch(flight.number, None, cut_ns);
            }
        }
    }
}
