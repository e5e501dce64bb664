//! The course of a batch: it is posted segment by segment, each lands, and the last landing
//! completes it.

use super::{Flight, VerbState};
use crate::fault::{Fault, FaultKind};
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{Batch, FabricError, Verb};
use layout::NodeId;
use std::task::Waker;

/// The content of a buffer that its owner has reused.
const SPOILT: u64 = 0x5901_1753_5901_1753;

impl Core {
    /// Posts a batch. The flight owns it until it completes.
    pub(crate) fn post(&mut self, batch: Batch, node: NodeId, group: u32) -> u32 {
        let (place, mut flight) = self.flights.begin();
        if !self.config.parts_at_once {
            flight.verbs.resize(batch.verbs().len(), VerbState::default());
        }
        flight.batch = Some(batch);
        flight.node = node;
        flight.group = group;
        flight.posted_ns = self.now_ns;
        flight.life = self.lives;
        self.note_zombie(group);
        self.batches += 1;
        flight.number = self.batches as u32;
        for fault in self.faults_of_batch(self.batches) {
            match fault {
                Fault::LostCompletion => flight.loses_completion = true,
                Fault::LateVerb => {
                    let unreachable_ns =
                        self.config.unreachable_after_ns.map(|ns| self.now_ns + ns);
                    flight.unreachable_ns = unreachable_ns.unwrap_or(u64::MAX);
                }
                Fault::DuplicateCompletion => flight.completes_twice = true,
                other => self.inject(&other),
            }
        }
        if self.random.one_in(self.config.lost_batch_one_in) && !flight.is_within(node) {
            flight.cut_ns = self.draw_cut_ns();
            flight.failure =
                Some(FabricError::Unreachable(self.addresses.host(flight.first_target())));
            self.injector.count(FaultKind::ConnectionLoss);
        }
        self.flights.put(place, flight);
        self.post_segment(place);
        place
    }

    /// Posts the verbs up to the next fence.
    fn post_segment(&mut self, place: u32) {
        match self.config.parts_at_once {
            true => self.post_parts(place),
            false => self.post_words(place),
        }
    }

    /// All verbs of the current segment have ended or are planned: plans the moment at which the
    /// owner learns of it.
    pub(crate) fn plan_landing(&mut self, place: u32, flight: &mut Flight) {
        let answer_ns = self.config.answer_ns.draw(&mut self.random);
        let crossing_ns = self.answer_crossing_ns(flight);
        let mut time_ns = flight.end_ns.max(self.now_ns) + answer_ns + crossing_ns;
        if !flight.is_local && self.has_communicators(flight.node) {
            flight.back_ns = self.handed_back_ns(flight.node, flight.group, flight.back_ns);
        }
        time_ns = time_ns.max(flight.back_ns);
        if self.random.one_in(self.config.late_completion_one_in) {
            time_ns += self.config.late_completion_ns.draw(&mut self.random);
        }
        self.memory.expect_reach(time_ns - flight.segment_ns);
        self.queue.push(time_ns, Happening::Landed { flight: place, number: flight.number });
    }

    /// All verbs of a segment were executed: the time of their completion's way back, on which it
    /// may be lost.
    fn answer_crossing_ns(&mut self, flight: &mut Flight) -> u64 {
        if flight.failure.is_some() {
            return 0;
        }
        if flight.unreachable_ns != u64::MAX {
            flight.failure =
                Some(FabricError::Unreachable(self.addresses.host(flight.first_target())));
            return 0;
        }
        if flight.loses_completion {
            self.injector.count(FaultKind::LostCompletion);
            flight.failure =
                Some(FabricError::Unreachable(self.addresses.host(flight.first_target())));
            return 0;
        }
        let mut longest_ns = 0;
        if !self.links.is_quiet() {
            for index in flight.first_verb..flight.next_verb {
                let verb = flight.verb(index);
                if verb == Verb::Fence {
                    continue;
                }
                let server = self.addresses.host(verb.target().region());
                match self.crossing_ns(server, flight.node) {
                    Some(crossing_ns) => longest_ns = longest_ns.max(crossing_ns),
                    None => flight.failure = Some(FabricError::Unreachable(server)),
                }
            }
        }
        longest_ns
    }

    /// The owner learns of the end of a segment. A repeated completion is dropped.
    pub(crate) fn landed(&mut self, place: u32, number: u32) {
        let mut flight = self.flights.take(place);
        let is_another = flight.number != number && !self.completes_early(&flight);
        if is_another || flight.is_done {
            self.flights.put(place, flight);
            self.injector.count(FaultKind::DuplicateCompletion);
            self.trace.event(self.now_ns, "dropped completion", u64::from(number));
            return;
        }
        if let Some(FabricError::Unreachable(_)) = flight.failure {
            let given_up_ns = self.config.unreachable_after_ns.map(|ns| flight.posted_ns + ns);
            if given_up_ns.is_none_or(|time_ns| self.now_ns < time_ns) {
                self.flights.put(place, flight);
                if let Some(time_ns) = given_up_ns {
                    self.queue.push(time_ns, Happening::Landed { flight: place, number });
                }
                return;
            }
        }
        if flight.failure.is_none() {
            if self.goes_on(place, &mut flight) {
                return self.flights.put(place, flight);
            }
            if flight.next_verb < flight.verb_count() {
                return self.post_next_segment(place, flight);
            }
        }
        self.flights.put(place, flight);
        self.complete(place, number);
    }

    /// A segment is back. Returns whether some read must be repeated; the repetition is then under
    /// way.
    fn goes_on(&mut self, place: u32, flight: &mut Flight) -> bool {
        if self.config.parts_at_once {
            return self.fetch_again(place, flight);
        }
        let are_over = self.deliver_reads(flight);
        if !are_over {
            self.plan_landing(place, flight);
        }
        !are_over
    }

    /// A segment has ended, and its thread posts the next one, behind the fence.
    fn post_next_segment(&mut self, place: u32, flight: Box<Flight>) {
        let node = flight.node;
        let is_local = flight.is_local;
        self.flights.put(place, flight);
        self.run_without_task(node, |core| {
            core.pay_for_polling(node, is_local);
            core.post_segment(place);
        });
    }

    /// Whether the completion of another batch is taken for this one's, because that promise is
    /// broken.
    fn completes_early(&self, flight: &Flight) -> bool {
        let is_at_rest = flight.busy == 0 && flight.atomics == 0 && flight.batch.is_some();
        self.config.broken.completes_once && is_at_rest
    }

    /// The batch is complete: its owner is woken.
    fn complete(&mut self, place: u32, number: u32) {
        let flight = self.flights.get(place);
        flight.is_done = true;
        let (is_abandoned, completes_twice) = (flight.is_abandoned, flight.completes_twice);
        if let Some(waker) = flight.waker.take() {
            waker.wake();
        }
        if completes_twice {
            let time_ns = self.now_ns + self.config.answer_ns.draw(&mut self.random);
            self.queue.push(time_ns, Happening::Landed { flight: place, number });
        }
        self.trace.event(self.now_ns, "completed flight", u64::from(place));
        if is_abandoned {
            self.flights.end(place);
        }
    }

    /// Returns the batch once it has completed; until then keeps `waker`. Adds the additional reads
    /// to `extra`.
    pub(crate) fn poll_flight(
        &mut self,
        place: u32,
        waker: &Waker,
        extra: &mut Batch,
    ) -> Option<Result<Batch, FabricError>> {
        let flight = self.flights.get(place);
        if !flight.is_done {
            flight.waker = Some(waker.clone());
            return None;
        }
        let (node, is_local) = (flight.node, flight.is_local);
        let (group, number) = (flight.group, flight.number);
        let result = match flight.failure.take() {
            None => Ok(flight.batch.take().expect("a completed batch is taken once")),
            // Pending verbs may still take effect: the batch stays.
            Some(failure) => Err(failure),
        };
        extra.reset();
        for wave in 1..flight.extra_waves {
            debug_assert!(wave > 0);
            extra.fence();
        }
        for (from, words) in flight.extra_reads.drain(..) {
            extra.read(from, words);
        }
        self.flights.end(place);
        if result.is_err() {
            self.groups[group as usize].failed.push(number);
        }
        self.pay_for_polling(node, is_local);
        self.pay_for_batch(result.as_ref().ok());
        Some(result)
    }

    /// The owner dropped its future: the batch continues without it.
    pub(crate) fn abandon(&mut self, place: u32) {
        // The place is empty here only if this thread unwinds from a bug in the world itself.
        let Some(flight) = &mut self.flights.places[place as usize] else {
            return;
        };
        flight.is_abandoned = true;
        flight.waker = None;
        if self.config.broken.buffers_until_complete {
            self.memory.spoil(flight.number, self.now_ns, SPOILT);
        }
        if flight.is_done {
            self.flights.end(place);
        }
    }
}
