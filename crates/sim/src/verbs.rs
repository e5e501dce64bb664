//! Verbs as accesses to single words, each at a moment of its own. This is the contract's most hostile
//! reading: the words of a verb come in any order, and verbs too unless the contract orders them.

use crate::config::Interval;
use crate::fault::FaultKind;
use crate::flight::{Flight, Phase, VerbState};
use crate::scheduler::Happening;
use crate::state::Core;
use fabric::{ALWAYS_WRITTEN_END, FabricError, Verb};
use layout::row::{Cover, HEADER, LINK, VERSION, checksum};
use layout::{GlobalPtr, NodeId, VersionWord, bucket};
use std::ops::Range;

/// When the verbs of one segment to one server that others must wait for have taken effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barrier {
    writes_ns: u64,
    atomics_ns: u64,
}

/// How a verb gets to its server.
#[derive(Clone, Copy)]
struct Way {
    /// How many times slower than usual the cards are.
    slowness: u64,
    /// How much longer the link takes.
    crossing_ns: u64,
}

/// In place of a word's number: the version word is marked as torn.
const MARK_TORN: u32 = u32::MAX;
/// In place of a word's number: no word is left out.
pub(crate) const NONE_LEFT_OUT: u32 = u32::MAX;

impl Core {
    /// Posts the verbs up to the next fence.
    pub(crate) fn post_segment(&mut self, place: u32) {
        let mut flight = self.flights.take(place);
        self.barriers.fill(Barrier::default());
        let has_ended = flight.failure.is_some() && flight.next_verb > 0;
        let is_cut = has_ended || self.now_ns > flight.cut_ns || self.is_dead(flight.group);
        while !is_cut && (flight.next_verb as usize) < flight.verbs.len() {
            let index = flight.next_verb;
            flight.next_verb += 1;
            match flight.verb(index) {
                Verb::Fence if self.config.broken.fence => {}
                Verb::Fence => break,
                verb => self.post_verb(place, &mut flight, index, verb),
            }
        }
        if is_cut {
            flight.next_verb = flight.verbs.len() as u32;
        }
        if flight.busy == 0 {
            self.segment_ended(place, &mut flight);
        }
        self.flights.put(place, flight);
    }

    fn post_verb(&mut self, place: u32, flight: &mut Flight, index: u32, verb: Verb) {
        let (at, words) = (verb.target(), verb.target_words());
        if !self.memory.contains(at, words) {
            flight.failure = Some(FabricError::OutOfRange { at, words });
            return;
        }
        let node = self.addresses.primary(at.region());
        if self.memory_is_dead(node) || self.is_refused(flight, node) {
            flight.failure = Some(FabricError::Unreachable(node));
            return;
        }
        let Some(crossing_ns) = self.crossing_ns(flight.node, node) else {
            flight.failure = Some(FabricError::Unreachable(node));
            return;
        };
        let way = Way { slowness: self.slowness(flight.node, node), crossing_ns };
        let barrier = self.barriers[usize::from(node.0)];
        let writes_ns = if self.config.broken.write_before_later { 0 } else { barrier.writes_ns };
        let atomics_ns =
            if self.config.broken.atomic_before_later { 0 } else { barrier.atomics_ns };
        flight.busy += 1;
        match verb {
            Verb::Write { .. }
            | Verb::WriteWord { .. }
            | Verb::WriteRow { .. }
            | Verb::InstallRow { .. } => {
                let start_ns = self.arrival(self.config.write_ns, way).max(writes_ns);
                let end_ns = self.start_write(place, flight, index, verb, start_ns);
                let barrier = &mut self.barriers[usize::from(node.0)];
                barrier.writes_ns = barrier.writes_ns.max(end_ns);
            }
            Verb::CompareAndSwap { .. } | Verb::FetchAndAdd { .. } => {
                let start_ns =
                    self.arrival(self.config.atomic_ns, way).max(writes_ns).max(atomics_ns);
                flight.verbs[index as usize].remaining = 1;
                self.queue.push(start_ns, Happening::Word { flight: place, verb: index, word: 0 });
                let barrier = &mut self.barriers[usize::from(node.0)];
                barrier.atomics_ns = barrier.atomics_ns.max(start_ns);
            }
            _ => {
                let start_ns =
                    self.arrival(self.config.read_ns, way).max(writes_ns).max(atomics_ns);
                self.start_read(place, flight, index, verb, start_ns);
            }
        }
    }

    fn arrival(&mut self, usual: Interval, way: Way) -> u64 {
        self.now_ns + usual.draw(&mut self.random) * way.slowness + way.crossing_ns
    }

    /// Whether a verb goes to an earlier life of its server.
    #[inline]
    fn is_refused(&mut self, flight: &Flight, node: NodeId) -> bool {
        let is_refused = self.lives > 0 && self.has_stale_key(flight.group, node);
        if is_refused {
            self.injector.count(FaultKind::StaleKey);
        }
        is_refused
    }

    /// How long a verb of `words` words is under way at the server.
    fn stretch_ns(&mut self, words: u32) -> u64 {
        let usual_ns = self.random.up_to(u64::from(words) * self.config.word_ns);
        let is_slow = self.random.one_in(self.config.slow_verb_one_in);
        if is_slow { usual_ns * self.config.slow_verb_factor } else { usual_ns }
    }

    /// Plans an access to each of `words` but `left_out`, in any order, from `start_ns` on; returns the
    /// moment of the last one.
    pub(crate) fn spread(
        &mut self,
        place: u32,
        state: &mut VerbState,
        index: u32,
        words: Range<u32>,
        left_out: u32,
        start_ns: u64,
    ) -> u64 {
        let stretch_ns = self.stretch_ns(words.len() as u32);
        let mut end_ns = start_ns;
        for word in words.filter(|&word| word != left_out) {
            let time_ns = start_ns + self.random.up_to(stretch_ns);
            end_ns = end_ns.max(time_ns);
            state.remaining += 1;
            self.queue.push(time_ns, Happening::Word { flight: place, verb: index, word });
        }
        end_ns
    }

    fn start_write(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        verb: Verb,
        start_ns: u64,
    ) -> u64 {
        let mut state = flight.verbs[index as usize];
        let end_ns = match verb {
            Verb::WriteRow { at, words, first, cover, .. } => {
                assert!(words > LINK, "a row has a header, a version and a link");
                let link = if cover == Cover::All { NONE_LEFT_OUT } else { LINK };
                if self.coherent {
                    self.start_coherent_row(place, &mut state, index, words, first, link, start_ns)
                } else {
                    seal(flight, at, words, cover);
                    self.spread(place, &mut state, index, VERSION..words, link, start_ns)
                }
            }
            Verb::InstallRow { at, words, first, cover, .. } => {
                let word = |word| Happening::Word { flight: place, verb: index, word };
                let (mut image_ns, mut link) = (start_ns, NONE_LEFT_OUT);
                if cover == Cover::AllButLink {
                    state.remaining += 1;
                    self.queue.push(start_ns, word(LINK));
                    (image_ns, link) = (start_ns + self.random.up_to(self.config.word_ns), LINK);
                }
                let end_ns = if self.coherent {
                    self.start_coherent_row(place, &mut state, index, words, first, link, image_ns)
                } else {
                    seal(flight, at, words, cover);
                    self.spread(place, &mut state, index, VERSION..words, link, image_ns)
                };
                state.remaining += 1;
                let end_ns = end_ns + self.random.up_to(self.config.word_ns);
                self.queue.push(end_ns, word(HEADER));
                end_ns
            }
            _ => {
                let words = 0..verb.target_words();
                self.spread(place, &mut state, index, words, NONE_LEFT_OUT, start_ns)
            }
        };
        flight.verbs[index as usize] = state;
        if state.remaining == 0 {
            flight.busy -= 1;
        }
        end_ns
    }

    /// A seqlock's writer: TORN, then the words in any order, then the version.
    #[allow(clippy::too_many_arguments, reason = "the parts of one verb, already taken apart")]
    fn start_coherent_row(
        &mut self,
        place: u32,
        state: &mut VerbState,
        index: u32,
        words: u32,
        first: u32,
        link: u32,
        start_ns: u64,
    ) -> u64 {
        let word = |word| Happening::Word { flight: place, verb: index, word };
        state.remaining += 2;
        self.queue.push(start_ns, word(MARK_TORN));
        let (mut end_ns, mut first) = (start_ns, first.max(LINK + 1));
        if link == NONE_LEFT_OUT {
            let always = LINK..words.min(ALWAYS_WRITTEN_END);
            first = first.max(always.end);
            end_ns = self.spread(place, state, index, always, NONE_LEFT_OUT, start_ns);
        }
        let rest = first..words;
        end_ns = end_ns.max(self.spread(place, state, index, rest, NONE_LEFT_OUT, start_ns));
        self.queue.push(end_ns, word(VERSION));
        end_ns
    }

    fn start_read(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        verb: Verb,
        start_ns: u64,
    ) {
        let mut state = flight.verbs[index as usize];
        let words = verb.target_words();
        let mut planned = 0..words;
        if !matches!(verb, Verb::Read { .. }) {
            state.landing = flight.landing.len() as u32;
            flight.landing.resize(flight.landing.len() + words as usize, 0);
            (state.phase, planned) = match (verb, self.coherent) {
                (Verb::ReadRow { .. }, true) => (Phase::RowBefore, VERSION..VERSION + 1),
                (Verb::ReadRow { .. }, false) => (Phase::Row, planned),
                (_, true) => (Phase::Header, bucket::INSERT..bucket::INSERT + 1),
                (_, false) => (Phase::Words, planned),
            };
        }
        self.spread(place, &mut state, index, planned, NONE_LEFT_OUT, start_ns);
        flight.verbs[index as usize] = state;
        if state.remaining == 0 {
            flight.busy -= 1;
        }
    }

    /// One access to one word.
    #[inline]
    pub(crate) fn word(&mut self, place: u32, index: u32, word: u32) {
        self.word_events += 1;
        let mut flight = self.flights.take(place);
        let verb = flight.verb(index);
        let node = self.addresses.primary(verb.target().region());
        let server = &self.nodes[usize::from(node.0)];
        let is_stale = server.life > flight.life;
        let is_dead = server.memory_is_dead || is_stale;
        if is_dead {
            flight.failure = Some(FabricError::Unreachable(node));
        }
        if is_stale && !flight.verbs[index as usize].is_lost {
            self.injector.count(FaultKind::StaleKey);
        }
        if is_dead || self.now_ns > flight.cut_ns {
            flight.verbs[index as usize].is_lost = true;
        } else {
            self.access(&mut flight, index, verb, word);
        }
        let state = &mut flight.verbs[index as usize];
        state.remaining -= 1;
        if state.remaining == 0 {
            let is_over = state.is_lost || self.phase_ended(place, &mut flight, index, verb);
            if is_over {
                flight.busy -= 1;
                if flight.busy == 0 {
                    self.segment_ended(place, &mut flight);
                }
            }
        }
        self.flights.put(place, flight);
    }

    #[inline]
    fn access(&mut self, flight: &mut Flight, index: u32, verb: Verb, word: u32) {
        match verb {
            Verb::Read { from, at, .. } => {
                let value = self.load(flight, "reads", from.add_words(u64::from(word)));
                flight.batch_mut().set_word(at + word, value);
            }
            Verb::ReadRow { from: first, .. } | Verb::FindSlot { bucket: first, .. } => {
                let value = self.load(flight, "reads", first.add_words(u64::from(word)));
                let landing = flight.verbs[index as usize].landing + word;
                flight.landing[landing as usize] = value;
            }
            Verb::Write { to, at, .. } => {
                let value = flight.batch().word(at + word);
                self.store(flight, "writes", to.add_words(u64::from(word)), value);
            }
            Verb::WriteWord { to, value } => self.store(flight, "writes", to, value),
            Verb::WriteRow { to, at, .. } | Verb::InstallRow { to, at, .. } => {
                let (word, value) = match word {
                    MARK_TORN => (VERSION, VersionWord::TORN.word()),
                    _ => (word, flight.batch().word(at + word)),
                };
                self.store(flight, "writes", to.add_words(u64::from(word)), value);
            }
            Verb::CompareAndSwap { word, expected, desired, at } => {
                let found = self.load(flight, "swaps", word);
                if found == expected {
                    self.store(flight, "swaps in", word, desired);
                }
                flight.batch_mut().set_word(at, found);
            }
            Verb::FetchAndAdd { word, add, at } => {
                let found = self.load(flight, "adds to", word);
                self.store(flight, "adds", word, found.wrapping_add(add));
                flight.batch_mut().set_word(at, found);
            }
            Verb::Fence => unreachable!("a fence has no words"),
        }
    }

    #[inline]
    fn load(&mut self, flight: &Flight, access: &'static str, at: GlobalPtr) -> u64 {
        let value = self.memory.load(at);
        self.trace.word(self.now_ns, flight.node, access, at, value);
        value
    }

    #[inline]
    fn store(&mut self, flight: &Flight, access: &'static str, at: GlobalPtr, value: u64) {
        self.trace.word(self.now_ns, flight.node, access, at, value);
        self.memory.store(at, value);
    }
}

/// Closes the image that stands in the arena with its checksum.
fn seal(flight: &mut Flight, at: u32, words: u32, cover: Cover) {
    let image = fabric::Span { at: at + VERSION, words: words - VERSION - 1 };
    let sum = checksum(flight.batch().words(image), cover);
    flight.batch_mut().set_word(at + words - 1, sum);
}
