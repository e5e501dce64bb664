//! A posted batch under way: from posting through its fenced segments to its completion.

use crate::fault::{Fault, FaultKind};
use crate::memory::Moments;
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{Batch, FabricError, Verb};
use layout::{GlobalPtr, NodeId, RegionId};
use std::task::Waker;

/// The content of a buffer that its owner has reused.
const SPOILT: u64 = 0x5901_1753_5901_1753;

/// The progress of a verb.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct VerbState {
    /// The first moment at which the verb may touch a word.
    pub(crate) start_ns: u64,
    /// The last moment at which the verb touches a word, as far as it is planned.
    pub(crate) end_ns: u64,
    /// The verb touches nothing after this moment: its owner died, or its connection was lost.
    pub(crate) cut_ns: u64,
    /// The moments of the accesses that are under way.
    pub(crate) moments: Moments,
    /// The first word of those accesses, within the verb's range.
    pub(crate) first: u32,
    /// The number of those accesses.
    pub(crate) words: u32,
    /// The phase of those accesses.
    pub(crate) phase: Phase,
    /// A read whose words are looked up when the segment returns.
    pub(crate) is_open: bool,
    /// The neighbourhood was read a second time, because the key was missing at first.
    pub(crate) is_again: bool,
    /// Attempts to read a row untorn.
    pub(crate) attempts: u32,
    /// Where the verb's words land, in the flight's landing area, before they are known to be good.
    pub(crate) landing: u32,
    /// The slot of a bucket that is being read, or the step through its header.
    pub(crate) slot: u32,
    /// How many times the verb was sent over the network again.
    pub(crate) wave: u32,
    /// The slot that holds the key, or [`fabric::SlotRead::MISSING`].
    pub(crate) found: u64,
    /// The version seen before a coherent row was copied.
    pub(crate) version: u64,
    /// The insert word of a bucket, read before its slots.
    pub(crate) insert: u64,
}

/// The phases of verbs that take more than one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Phase {
    /// All words of a verb that needs one phase, or all words of a neighbourhood.
    #[default]
    Words,
    /// The version word, before a coherent row.
    RowBefore,
    Row,
    /// The version word, after a coherent row.
    RowAfter,
    /// The words before a coherent bucket's slots, one after another.
    Header,
    /// The slots of a coherent bucket whose tag matches.
    Slots,
    /// A coherent bucket's collected-up-to word, after its slots.
    Collected,
}

/// A batch between posting and completion.
pub(crate) struct Flight {
    pub(crate) batch: Option<Batch>,
    pub(crate) node: NodeId,
    pub(crate) group: u32,
    pub(crate) verbs: Vec<VerbState>,
    /// The first verb that is not yet posted.
    pub(crate) next_verb: u32,
    /// The first verb of the current segment.
    pub(crate) first_verb: u32,
    /// The posting time of the current segment.
    segment_ns: u64,
    /// The time at which all its verbs have ended, as far as is known.
    pub(crate) end_ns: u64,
    /// The time at which the verbs' answers have come through the network.
    pub(crate) back_ns: u64,
    /// No card takes part.
    pub(crate) is_local: bool,
    /// At this moment the owner learns that the server is unreachable, although verbs may still
    /// take effect.
    pub(crate) unreachable_ns: u64,
    /// Verbs of the current segment that proceed phase by phase.
    pub(crate) busy: u32,
    /// Atomics, or parts, that have not yet taken effect.
    pub(crate) atomics: u32,
    /// No verb of this batch takes effect after this moment: its owner died, or its connection was
    /// lost.
    pub(crate) cut_ns: u64,
    pub(crate) posted_ns: u64,
    /// Distinguishes the batches that use the same place one after another.
    pub(crate) number: u32,
    /// Restarts of nodes before the posting.
    pub(crate) life: u32,
    loses_completion: bool,
    completes_twice: bool,
    pub(crate) failure: Option<FabricError>,
    pub(crate) landing: Vec<u64>,
    /// Additional reads for torn rows or missing keys.
    pub(crate) extra_reads: Vec<(GlobalPtr, u32)>,
    /// How many of the additional reads the network has carried, if parts take effect at once.
    pub(crate) fetched_again: usize,
    /// Round trips of the additional reads: all reads of one wave are posted together.
    pub(crate) extra_waves: u32,
    is_done: bool,
    is_abandoned: bool,
    /// Only its own atomics still refer to it.
    is_over: bool,
    waker: Option<Waker>,
}

impl Flight {
    fn new() -> Self {
        Self {
            batch: None,
            node: NodeId(0),
            group: 0,
            verbs: Vec::new(),
            next_verb: 0,
            first_verb: 0,
            segment_ns: 0,
            end_ns: 0,
            back_ns: 0,
            is_local: true,
            unreachable_ns: u64::MAX,
            busy: 0,
            atomics: 0,
            is_over: false,
            cut_ns: u64::MAX,
            posted_ns: 0,
            number: 0,
            life: 0,
            loses_completion: false,
            completes_twice: false,
            failure: None,
            landing: Vec::new(),
            extra_reads: Vec::new(),
            fetched_again: 0,
            extra_waves: 0,
            is_done: false,
            is_abandoned: false,
            waker: None,
        }
    }

    /// Posts the next segment.
    pub(crate) fn begin_segment(&mut self, now_ns: u64) {
        self.first_verb = self.next_verb;
        (self.segment_ns, self.end_ns) = (now_ns, now_ns);
    }

    /// Verbs to `node` touch nothing after `cut_ns`.
    fn cut_to(&mut self, node: NodeId, cut_ns: u64) {
        for index in 0..self.next_verb {
            if self.verb(index).target().region().0 == node.0 {
                let state = &mut self.verbs[index as usize];
                state.cut_ns = state.cut_ns.min(cut_ns);
            }
        }
    }

    /// Whether a posted verb goes to `node`.
    fn goes_to(&self, node: NodeId) -> bool {
        let goes_there = |verb: &Verb| *verb != Verb::Fence && verb.target().region().0 == node.0;
        self.batch().verbs()[..self.next_verb as usize].iter().any(goes_there)
    }

    #[inline]
    pub(crate) fn verb(&self, index: u32) -> Verb {
        self.batch().verbs()[index as usize]
    }

    /// Verbs of the batch, fences included.
    #[inline]
    pub(crate) fn verb_count(&self) -> u32 {
        self.batch().verbs().len() as u32
    }

    #[inline]
    pub(crate) fn batch(&self) -> &Batch {
        self.batch.as_ref().expect("a flight carries its batch until it is taken")
    }

    /// The target of the batch's first verb.
    fn first_target(&self) -> NodeId {
        let target = self.batch().verbs().first().map_or(GlobalPtr::NULL, Verb::target);
        NodeId(target.region().0)
    }

    /// The verb as the card executes it: a read of rows together with the reads that continue where
    /// it ends.
    pub(crate) fn with_continuations(&self, verb: &Verb) -> Verb {
        let Verb::ReadRow { from, at, words, .. } = *verb else {
            return *verb;
        };
        let behind = self.batch().verbs()[self.next_verb as usize..].iter();
        let behind = behind.take_while(|verb| matches!(verb, Verb::ReadRow { goes_on: true, .. }));
        Verb::Read { from, at, words: words + behind.map(Verb::target_words).sum::<u32>() }
    }

    /// Whether all its verbs are for the memory of `node` itself, to which no connection leads.
    fn is_within(&self, node: NodeId) -> bool {
        let mut verbs = self.batch().verbs().iter().filter(|verb| **verb != Verb::Fence);
        verbs.all(|verb| verb.target().region().0 == node.0)
    }

    #[inline]
    pub(crate) fn batch_mut(&mut self) -> &mut Batch {
        self.batch.as_mut().expect("a flight carries its batch until it is taken")
    }
}

/// All flights. A place is empty only while its flight is being processed.
#[derive(Default)]
pub(crate) struct Flights {
    places: Vec<Option<Box<Flight>>>,
    free: Vec<u32>,
}

impl Flights {
    #[inline]
    pub(crate) fn take(&mut self, flight: u32) -> Box<Flight> {
        self.places[flight as usize].take().expect("nobody else works on this flight")
    }

    #[inline]
    pub(crate) fn put(&mut self, place: u32, flight: Box<Flight>) {
        self.places[place as usize] = Some(flight);
    }

    fn get(&mut self, flight: u32) -> &mut Flight {
        self.places[flight as usize].as_mut().expect("nobody else works on this flight")
    }

    /// Returns a place and an empty flight for it, reusing the memory of an earlier one.
    fn begin(&mut self) -> (u32, Box<Flight>) {
        let Some(place) = self.free.pop() else {
            self.places.push(None);
            return ((self.places.len() - 1) as u32, Box::new(Flight::new()));
        };
        let mut flight = self.take(place);
        let (mut verbs, mut landing) =
            (std::mem::take(&mut flight.verbs), std::mem::take(&mut flight.landing));
        verbs.clear();
        landing.clear();
        *flight = Flight { verbs, landing, ..Flight::new() };
        (place, flight)
    }

    fn end(&mut self, place: u32) {
        self.get(place).is_over = true;
        self.end_if_over(place);
    }

    /// Frees a place when its owner is gone and all atomics have taken effect.
    pub(crate) fn end_if_over(&mut self, place: u32) {
        let flight = self.get(place);
        if flight.is_over && flight.atomics == 0 {
            flight.batch = None;
            self.free.push(place);
        }
    }

    /// The flights between posting and completion.
    fn under_way(&mut self) -> impl Iterator<Item = &mut Flight> {
        let flights = self.places.iter_mut().flatten().map(|flight| &mut **flight);
        flights.filter(|flight| flight.batch.is_some() && !flight.is_done)
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

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
            flight.failure = Some(FabricError::Unreachable(flight.first_target()));
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

    /// Draws a moment between now and the end of all that is usually under way, or never.
    fn draw_cut_ns(&mut self) -> u64 {
        let longest_ns = self.config.write_ns.max_ns + 64 * self.config.word_ns;
        match self.random.up_to(3) {
            0 => self.now_ns,
            1 => u64::MAX,
            _ => self.now_ns + self.random.up_to(longest_ns),
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
            flight.failure = Some(FabricError::Unreachable(flight.first_target()));
            return 0;
        }
        if flight.loses_completion {
            self.injector.count(FaultKind::LostCompletion);
            flight.failure = Some(FabricError::Unreachable(flight.first_target()));
            return 0;
        }
        let mut longest_ns = 0;
        if !self.links.is_quiet() {
            for index in flight.first_verb..flight.next_verb {
                let verb = flight.verb(index);
                if verb == Verb::Fence {
                    continue;
                }
                let server = self.addresses.primary(verb.target().region());
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

    /// A connection is lost: the verbs under way from one node to the other stop at some moment,
    /// and their owners learn that the server is unreachable. No connection leads to a node's own
    /// memory.
    pub(crate) fn cut_connection(&mut self, from: NodeId, to: NodeId, by: FaultKind) {
        if from == to {
            return;
        }
        let cut_ns = self.draw_cut_ns();
        for flight in self.flights.under_way().filter(|flight| flight.node == from) {
            if flight.goes_to(to) {
                flight.cut_to(to, cut_ns);
                self.memory.cut_batch(flight.number, Some(to.0), cut_ns);
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
                flight.cut_to(NodeId(region.0), now_ns);
            }
        }
        self.open_atomics.retain(|open| !open.is_of(failed, region));
    }

    /// Messages from `from` to `to` are lost: completions and answers under way never arrive.
    pub(crate) fn lose_answers(&mut self, from: NodeId, to: NodeId, by: FaultKind) {
        for flight in self.flights.under_way().filter(|flight| flight.node == to) {
            if flight.goes_to(from) && flight.failure.is_none() {
                flight.failure = Some(FabricError::Unreachable(from));
                self.injector.count(by);
            }
        }
        self.lose_calls(to, from, u64::MAX, by);
    }

    /// A server died: its pending verbs never take effect.
    pub(crate) fn fail_flights_to(&mut self, node: NodeId) {
        let now_ns = self.now_ns;
        for flight in self.flights.under_way() {
            let posted = flight.batch().verbs()[..flight.next_verb as usize].iter();
            let is_unfinished = |(verb, state): (&Verb, &VerbState)| {
                verb.target().region().0 == node.0 && *verb != Verb::Fence && state.end_ns > now_ns
            };
            if posted.zip(&flight.verbs).any(is_unfinished) {
                flight.failure.get_or_insert(FabricError::Unreachable(node));
            }
        }
        if usize::from(node.0) < self.memory.region_count() {
            self.memory.cut_region(node.0, now_ns);
        }
    }

    /// A server restarts: verbs that were posted to its earlier incarnation are refused.
    pub(crate) fn refuse_flights_to(&mut self, node: NodeId) {
        for flight in self.flights.under_way().filter(|flight| flight.goes_to(node)) {
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
