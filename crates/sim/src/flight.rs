//! A posted batch on its way: from posting through its fenced segments to its completion.

use crate::fault::{Fault, FaultKind};
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{Batch, FabricError, Verb};
use layout::{GlobalPtr, NodeId};
use std::task::Waker;

/// How far a verb has come.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct VerbState {
    /// What the words under way belong to.
    pub(crate) phase: Phase,
    /// Words of this phase that are not yet touched.
    pub(crate) remaining: u32,
    /// Tries to read a row untorn.
    pub(crate) attempts: u32,
    /// Where the verb's words land before they are good, in the flight's landing area.
    pub(crate) landing: u32,
    /// The slot of a bucket that is being read; or the step through its header.
    pub(crate) slot: u32,
    /// The slot that holds the key, or [`fabric::SlotRead::MISSING`].
    pub(crate) found: u64,
    /// How many times the verb went over the network once more.
    pub(crate) wave: u32,
    /// The neighbourhood was read a second time, because the key was missing at first.
    pub(crate) is_again: bool,
    /// The version seen before a coherent row was copied.
    pub(crate) version: u64,
    /// The insert word of a bucket, read before its slots.
    pub(crate) insert: u64,
    /// The verb was cut off, or its target died.
    pub(crate) is_lost: bool,
}

/// Steps of the verbs that take more than one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Phase {
    /// All words of a verb that needs one step; or all words of a neighbourhood.
    #[default]
    Words,
    /// The version before a coherent row.
    RowBefore,
    /// A row's words.
    Row,
    /// The version after a coherent row.
    RowAfter,
    /// The words before a coherent bucket's slots, one after another.
    Header,
    /// The slots of a coherent bucket whose tag fits.
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
    /// First verb that is not yet posted.
    pub(crate) next_verb: u32,
    /// Verbs of the current segment that are under way.
    pub(crate) busy: u32,
    /// Nothing of this batch happens after this moment: its owner died, or its connection.
    pub(crate) cut_ns: u64,
    pub(crate) posted_ns: u64,
    /// Tells the batches of a place apart.
    pub(crate) number: u64,
    /// Restarts of nodes before it was posted.
    pub(crate) life: u32,
    loses_completion: bool,
    completes_twice: bool,
    pub(crate) failure: Option<FabricError>,
    pub(crate) landing: Vec<u64>,
    /// Reads that rows or misses needed in addition.
    pub(crate) extra_reads: Vec<(GlobalPtr, u32)>,
    /// How many round trips those took: all of one wave are posted together.
    pub(crate) extra_waves: u32,
    is_done: bool,
    is_abandoned: bool,
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
            busy: 0,
            cut_ns: u64::MAX,
            posted_ns: 0,
            number: 0,
            life: 0,
            loses_completion: false,
            completes_twice: false,
            failure: None,
            landing: Vec::new(),
            extra_reads: Vec::new(),
            extra_waves: 0,
            is_done: false,
            is_abandoned: false,
            waker: None,
        }
    }

    /// The batch's verb `index`.
    #[inline]
    pub(crate) fn verb(&self, index: u32) -> Verb {
        self.batch().verbs()[index as usize]
    }

    #[inline]
    pub(crate) fn batch(&self) -> &Batch {
        self.batch.as_ref().expect("a flight carries its batch until it is taken")
    }

    /// Where the batch's first verb goes.
    fn first_target(&self) -> NodeId {
        let target = self.batch().verbs().first().map_or(GlobalPtr::NULL, Verb::target);
        NodeId(target.region().0)
    }

    #[inline]
    pub(crate) fn batch_mut(&mut self) -> &mut Batch {
        self.batch.as_mut().expect("a flight carries its batch until it is taken")
    }
}

/// All flights. A place is empty only while its flight is being worked on.
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

    /// A place and an empty flight for it, with the room of an earlier one.
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
        self.get(place).batch = None;
        self.free.push(place);
    }

    /// Number of batches on their way.
    pub(crate) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

impl Core {
    /// Posts a batch. Nobody but the flight touches it until it completes.
    pub(crate) fn post(&mut self, batch: Batch, node: NodeId, group: u32) -> u32 {
        let (place, mut flight) = self.flights.begin();
        flight.verbs.resize(batch.verbs().len(), VerbState::default());
        flight.batch = Some(batch);
        flight.node = node;
        flight.group = group;
        flight.posted_ns = self.now_ns;
        flight.life = self.lives;
        self.note_zombie(group);
        self.batches += 1;
        flight.number = self.batches;
        for fault in self.faults_of_batch(flight.number) {
            match fault {
                Fault::LostCompletion => flight.loses_completion = true,
                Fault::DuplicateCompletion => flight.completes_twice = true,
                other => self.inject(&other),
            }
        }
        if self.random.one_in(self.config.lost_batch_one_in) {
            flight.cut_ns = self.draw_cut_ns();
            flight.failure = Some(FabricError::Unreachable(flight.first_target()));
            self.injector.count(FaultKind::ConnectionLoss);
        }
        self.flights.put(place, flight);
        self.post_segment(place);
        place
    }

    /// Some moment between now and the end of all that is usually under way, or never.
    fn draw_cut_ns(&mut self) -> u64 {
        let longest_ns = self.config.write_ns.max_ns + 64 * self.config.word_ns;
        match self.random.up_to(3) {
            0 => self.now_ns,
            1 => u64::MAX,
            _ => self.now_ns + self.random.up_to(longest_ns),
        }
    }

    /// All verbs of the current segment have ended, in one way or the other.
    pub(crate) fn segment_ended(&mut self, place: u32, flight: &mut Flight) {
        assert_eq!(flight.busy, 0);
        let answer_ns = self.config.answer_ns.draw(&mut self.random);
        let mut time_ns = self.now_ns + answer_ns;
        let verb_count = flight.verbs.len() as u32;
        self.lose_completion(flight);
        if let Some(FabricError::Unreachable(_)) = flight.failure {
            match self.config.unreachable_after_ns {
                Some(after_ns) => time_ns = time_ns.max(flight.posted_ns + after_ns),
                None => return,
            }
        }
        if flight.failure.is_some() || flight.next_verb == verb_count {
            self.queue.push(time_ns, Happening::Complete { flight: place, number: flight.number });
        } else {
            self.queue.push(time_ns, Happening::Segment { flight: place });
        }
    }

    /// All verbs of a segment were carried out: their completion may still be lost on its way.
    fn lose_completion(&mut self, flight: &mut Flight) {
        if flight.failure.is_some() {
            return;
        }
        if flight.loses_completion {
            self.injector.count(FaultKind::LostCompletion);
            flight.failure = Some(FabricError::Unreachable(flight.first_target()));
        } else if !self.links.is_quiet() {
            let verbs = flight.batch().verbs()[..flight.next_verb as usize].iter();
            for verb in verbs.filter(|verb| **verb != Verb::Fence) {
                let server = self.addresses.primary(verb.target().region());
                if self.crossing_ns(server, flight.node).is_none() {
                    flight.failure = Some(FabricError::Unreachable(server));
                    return;
                }
            }
        }
    }

    /// The completion arrives at the owner. A second one of the same batch is dropped.
    pub(crate) fn complete(&mut self, place: u32, number: u64) {
        let flight = self.flights.get(place);
        if flight.number != number || flight.is_done {
            self.injector.count(FaultKind::DuplicateCompletion);
            self.trace.event(self.now_ns, "dropped completion", number);
            return;
        }
        flight.is_done = true;
        let is_abandoned = flight.is_abandoned;
        if flight.completes_twice {
            let time_ns = self.now_ns + self.config.answer_ns.draw(&mut self.random);
            self.queue.push(time_ns, Happening::Complete { flight: place, number });
        }
        let flight = self.flights.get(place);
        if let Some(waker) = flight.waker.take() {
            waker.wake();
        }
        self.trace.event(self.now_ns, "completed flight", u64::from(place));
        if is_abandoned {
            self.flights.end(place);
        }
    }

    /// The batch, once it has completed; until then `waker` is kept. Reads it needed in addition are
    /// put into `extra`.
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
        let batch = flight.batch.take().expect("a completed batch is taken once");
        let result = flight.failure.take().map_or(Ok(batch), Err);
        extra.reset();
        for wave in 1..flight.extra_waves {
            debug_assert!(wave > 0);
            extra.fence();
        }
        for (from, words) in flight.extra_reads.drain(..) {
            extra.read(from, words);
        }
        self.flights.end(place);
        Some(result)
    }

    /// The owner dropped its future: the batch goes on alone.
    pub(crate) fn abandon(&mut self, place: u32) {
        // A place is empty here only when this thread unwinds from a bug in the world itself.
        let Some(flight) = &mut self.flights.places[place as usize] else {
            return;
        };
        flight.is_abandoned = true;
        flight.waker = None;
        if flight.is_done {
            self.flights.end(place);
        }
    }

    /// A connection is lost: what is under way from one node to the other stops at some moment, and its
    /// owners learn that the server cannot be reached.
    pub(crate) fn cut_connection(&mut self, from: NodeId, to: NodeId, by: FaultKind) {
        for place in 0..self.flights.places.len() as u32 {
            let flight = self.flights.get(place);
            if flight.node != from || flight.batch.is_none() || flight.is_done {
                continue;
            }
            let goes_there = |verb: &Verb| *verb != Verb::Fence && verb.target().region().0 == to.0;
            if flight.batch().verbs()[..flight.next_verb as usize].iter().any(goes_there) {
                let cut_ns = self.draw_cut_ns();
                let flight = self.flights.get(place);
                flight.cut_ns = flight.cut_ns.min(cut_ns);
                flight.failure.get_or_insert(FabricError::Unreachable(to));
                self.injector.count(by);
            }
        }
        self.lose_calls(from, to);
    }

    /// The owner of flights died: each goes on, stops at some moment, or stops now.
    pub(crate) fn cut_flights(&mut self, group: u32) {
        for place in 0..self.flights.places.len() as u32 {
            let flight = self.flights.get(place);
            if flight.group == group && flight.batch.is_some() && !flight.is_done {
                let cut_ns = self.draw_cut_ns();
                let flight = self.flights.get(place);
                flight.cut_ns = flight.cut_ns.min(cut_ns);
            }
        }
    }
}
