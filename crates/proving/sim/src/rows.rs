//! Rows that must be delivered untorn: read, checked, and read again.

use crate::buckets::Search;
use crate::flight::{Flight, Phase};
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{Span, Verb};
use layout::VersionWord;
use layout::row::{Cover, VERSION, is_intact};
use std::ops::Range;

/// How often a torn image is read again before it is delivered as torn.
const TORN_RETRY_COUNT_MAX: u32 = 64;

impl Core {
    /// A row has come back. Returns whether it is intact or was given up as torn; otherwise it is
    /// read again.
    pub(crate) fn deliver_row(
        &mut self,
        flight: &mut Flight,
        index: u32,
        span: Span,
        cover: Cover,
    ) -> bool {
        self.read_to_arena(flight, index, span);
        if self.config.broken.untorn_rows || is_intact(flight.batch().words(span), cover) {
            return true;
        }
        if self.is_given_up(flight, index) {
            flight.batch_mut().set_word(span.at + VERSION, VersionWord::TORN.word());
            return true;
        }
        self.next_wave(flight, index, Phase::Row, 0..span.words);
        false
    }

    /// Counts an attempt that found a row torn. Returns whether the attempts are exhausted.
    pub(crate) fn is_given_up(&mut self, flight: &mut Flight, index: u32) -> bool {
        let attempts = &mut flight.verbs[index as usize].attempts;
        *attempts += 1;
        *attempts >= TORN_RETRY_COUNT_MAX
    }

    /// Ends a phase of a coherent read.
    pub(crate) fn step(&mut self, place: u32, index: u32) {
        let mut flight = self.flights.take(place);
        self.read_to_landing(&mut flight, index);
        if self.phase_ended(place, &mut flight, index) {
            flight.busy -= 1;
            if flight.busy == 0 {
                self.plan_landing(place, &mut flight);
            }
        }
        self.flights.put(place, flight);
    }

    /// All words of a verb's phase were touched. Returns whether the verb is over.
    fn phase_ended(&mut self, place: u32, flight: &mut Flight, index: u32) -> bool {
        match flight.verb(index) {
            Verb::ReadRow { at, words, .. } => {
                if !self.row_ended(place, flight, index, 0..words) {
                    return false;
                }
                let landing = flight.verbs[index as usize].landing as usize;
                let batch = flight.batch.as_mut().expect("a flight carries its batch");
                let span = Span { at, words };
                batch.words_mut(span).copy_from_slice(&flight.landing[landing..][..words as usize]);
                true
            }
            Verb::FindSlot { geometry, key, at, .. } => {
                self.search_step(place, flight, index, Search { geometry, key, at })
            }
            verb => unreachable!("{verb:?} has no phases"),
        }
    }

    /// Reads `words` of a verb's range in a next phase, from `start_ns` on.
    pub(crate) fn next_phase(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        phase: Phase,
        words: Range<u32>,
        start_ns: u64,
    ) {
        assert!(!words.is_empty());
        let moments = self.moments(start_ns, words.len() as u32);
        let state = &mut flight.verbs[index as usize];
        (state.phase, state.moments) = (phase, moments);
        (state.first, state.words) = (words.start, words.len() as u32);
        state.end_ns = moments.end_ns();
        flight.end_ns = flight.end_ns.max(moments.end_ns());
        self.memory.expect_reach(moments.stretch_ns);
        self.queue.push(moments.end_ns(), Happening::Step { flight: place, verb: index });
    }

    /// Reads once more over the network; `wave` is the number of this repetition within the batch.
    pub(crate) fn next_wave(
        &mut self,
        flight: &mut Flight,
        index: u32,
        phase: Phase,
        words: Range<u32>,
    ) {
        let start_ns = self.now_ns + self.config.read_ns.draw(&mut self.random);
        let moments = self.moments(start_ns, words.len() as u32);
        let first = flight.verb(index).target().add_words(u64::from(words.start));
        flight.extra_reads.push((first, words.len() as u32));
        let state = &mut flight.verbs[index as usize];
        state.wave += 1;
        flight.extra_waves = flight.extra_waves.max(state.wave);
        (state.phase, state.moments) = (phase, moments);
        (state.first, state.words) = (words.start, words.len() as u32);
        state.end_ns = moments.end_ns();
        flight.end_ns = flight.end_ns.max(moments.end_ns());
    }

    /// Executes a step of reading the coherent row in `row` (words of the verb's range). Returns
    /// whether it has landed, intact or with TORN as its version.
    pub(crate) fn row_ended(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        row: Range<u32>,
    ) -> bool {
        let state = flight.verbs[index as usize];
        let version_at = (state.landing + row.start + VERSION) as usize;
        let version = row.start + VERSION..row.start + VERSION + 1;
        let next_ns = self.now_ns + 1 + self.random.up_to(self.config.word_ns);
        match state.phase {
            Phase::RowBefore => {
                flight.verbs[index as usize].version = flight.landing[version_at];
                self.next_phase(place, flight, index, Phase::Row, row, next_ns);
                return false;
            }
            Phase::Row => {
                self.next_phase(place, flight, index, Phase::RowAfter, version, next_ns);
                return false;
            }
            _ => {}
        }
        let after = flight.landing[version_at];
        let is_intact = after == state.version && after != VersionWord::TORN.word();
        if is_intact || self.config.broken.untorn_rows {
            return true;
        }
        if self.is_given_up(flight, index) {
            flight.landing[version_at] = VersionWord::TORN.word();
            return true;
        }
        self.next_phase(place, flight, index, Phase::RowBefore, version, next_ns);
        false
    }
}
