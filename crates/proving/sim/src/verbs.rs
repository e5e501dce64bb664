//! Verbs as accesses to single words, each at its own moment. This is the contract's most hostile
//! interpretation: the words of a verb take effect in any order, and so do verbs unless the
//! contract orders them.

use crate::fault::FaultKind;
use crate::flight::{Flight, Phase};
use crate::links::LinkDelays;
use crate::links::Post;
use crate::memory::Moments;
use crate::network::Load;
use crate::state::Core;
use fabric::{ALWAYS_WRITTEN_END, FabricError, Span, Verb};
use layout::row::{Cover, HEADER, LINK, VERSION, checksum};
use layout::{GlobalPtr, NodeId, VersionWord, bucket};
use std::ops::Range;

/// The moments at which the verbs of one segment to one server that later verbs must wait for have
/// taken effect.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barrier {
    writes_ns: u64,
    atomics_ns: u64,
    all_ns: u64,
}

/// The kinds of access of a verb to its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Atomic,
    Write,
}

#[inline]
pub(crate) fn kind(verb: &Verb) -> Kind {
    match verb {
        Verb::Read { .. } | Verb::ReadRow { .. } | Verb::FindSlot { .. } => Kind::Read,
        Verb::CompareAndSwap { .. } | Verb::FetchAndAdd { .. } => Kind::Atomic,
        _ => Kind::Write,
    }
}

/// A word number that stands for: no word is left out.
const NONE_LEFT_OUT: u32 = u32::MAX;

impl Core {
    /// Posts the verbs up to the next fence, each word separately.
    pub(crate) fn post_words(&mut self, place: u32) {
        let mut flight = self.flights.take(place);
        self.barriers.fill(Barrier::default());
        let has_ended = flight.failure.is_some() && flight.next_verb > 0;
        let is_cut = has_ended || self.now_ns > flight.cut_ns || self.is_dead(flight.group);
        flight.begin_segment(self.now_ns);
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
            self.plan_landing(place, &mut flight);
        }
        self.memory.sweep(self.now_ns);
        self.flights.put(place, flight);
    }

    fn post_verb(&mut self, place: u32, flight: &mut Flight, index: u32, verb: Verb) {
        let (at, words) = (verb.target(), verb.target_words());
        if !self.memory.contains(at, words) {
            flight.failure = Some(FabricError::OutOfRange { at, words });
            return;
        }
        let node = self.addresses.host(at.region());
        let Some(way) = self.way_of_verb(flight, node) else {
            flight.failure = Some(FabricError::Unreachable(node));
            return;
        };
        self.verbs += 1;
        let kind = kind(&verb);
        if kind == Kind::Read && flight.unreachable_ns != u64::MAX {
            // No verb waits for a read.
            return;
        }
        let before = u64::from(index - flight.first_verb);
        let start_ns = self.start_ns(flight, (&verb, before), node, way);
        flight.verbs[index as usize].start_ns = start_ns;
        flight.verbs[index as usize].cut_ns = flight.cut_ns;
        let end_ns = match kind {
            Kind::Read => self.start_read(place, flight, index, verb),
            Kind::Atomic => {
                let end_ns = self.start_atomic(place, flight, index, start_ns);
                let barrier = &mut self.barriers[usize::from(node.0)];
                barrier.atomics_ns = barrier.atomics_ns.max(end_ns);
                end_ns
            }
            Kind::Write => {
                let hidden_ns = self.draw_hidden_ns();
                flight.verbs[index as usize].start_ns += hidden_ns;
                let end_ns = self.start_write(flight, index, verb);
                let barrier = &mut self.barriers[usize::from(node.0)];
                barrier.writes_ns = barrier.writes_ns.max(end_ns);
                end_ns - hidden_ns
            }
        };
        if end_ns > flight.unreachable_ns {
            self.injector.count(FaultKind::LateVerb);
        }
        let barrier = &mut self.barriers[usize::from(node.0)];
        barrier.all_ns = barrier.all_ns.max(end_ns);
        flight.verbs[index as usize].end_ns = end_ns;
        flight.end_ns = flight.end_ns.max(end_ns.min(flight.unreachable_ns));
    }

    /// The time for which a write stays invisible after its completion: 0, unless that promise is
    /// broken.
    fn draw_hidden_ns(&mut self) -> u64 {
        if !self.config.broken.visible_when_complete || self.random.one_in(2) {
            return 0;
        }
        let round_trip_ns = self.config.answer_ns.max_ns + self.config.write_ns.max_ns;
        self.random.up_to(4 * round_trip_ns)
    }

    /// The first moment at which a verb of `flight` touches its words, after all verbs that the
    /// contract orders before it.
    fn start_ns(
        &mut self,
        flight: &mut Flight,
        (verb, before): (&Verb, u64),
        node: NodeId,
        way: LinkDelays,
    ) -> u64 {
        let kind = kind(verb);
        let usual = self.config.usual_ns(verb);
        let posted = Post { pair: (flight.group, node), before, is_further: false };
        let transit = self.send((flight.node, node), posted, way, &Load::Verb(*verb), usual);
        flight.back_ns = flight.back_ns.max(transit.back_ns);
        flight.is_local &= transit.is_local;
        let start_ns = transit.served_ns;
        let (barrier, broken) = (self.barriers[usize::from(node.0)], self.config.broken);
        let after_ns = if self.config.in_posting_order { barrier.all_ns } else { 0 };
        let writes_ns = if broken.write_before_later { 0 } else { barrier.writes_ns };
        let atomics_ns = if broken.atomic_before_later { 0 } else { barrier.atomics_ns };
        let after_ns = after_ns.max(writes_ns);
        let after_ns = if kind == Kind::Write { after_ns } else { after_ns.max(atomics_ns) };
        let start_ns = start_ns.max(after_ns);
        if flight.unreachable_ns == u64::MAX {
            return start_ns;
        }
        let late_ns = flight.unreachable_ns + 1 + self.config.late_verb_ns.draw(&mut self.random);
        if self.random.one_in(2) { start_ns.max(late_ns) } else { start_ns }
    }

    /// The way of a verb of `flight` to `node`; `None` if it does not arrive.
    #[inline]
    pub(crate) fn way_of_verb(&mut self, flight: &Flight, node: NodeId) -> Option<LinkDelays> {
        if self.memory_is_dead(node) || self.is_refused(flight.group) {
            return None;
        }
        if self.lives > 0 && self.has_stale_key(flight.group, node, flight.number) {
            self.injector.count(FaultKind::StaleKey);
            return None;
        }
        self.way(flight.node, node)
    }

    /// The moments of `words` words from `start_ns` on.
    #[inline]
    pub(crate) fn moments(&mut self, start_ns: u64, words: u32) -> Moments {
        let mut stretch_ns = self.random.up_to(u64::from(words) * self.config.word_ns);
        if self.random.one_in(self.config.slow_verb_one_in) {
            stretch_ns *= self.config.slow_verb_factor;
        }
        if words == 1 {
            return Moments { start_ns: start_ns + stretch_ns, stretch_ns: 0 };
        }
        Moments { start_ns, stretch_ns }
    }

    /// Enters all accesses of a write. Returns the moment of the last one.
    fn start_write(&mut self, flight: &mut Flight, index: u32, verb: Verb) -> u64 {
        let start_ns = flight.verbs[index as usize].start_ns;
        match verb {
            Verb::WriteRow { at, words, first, cover, .. } => {
                assert!(words > LINK, "a row has a header, a version and a link");
                let link = if cover == Cover::All { NONE_LEFT_OUT } else { LINK };
                self.write_image(flight, index, (at, words, first, cover), link, start_ns)
            }
            Verb::InstallRow { at, words, cover, at_once: true, .. } if !self.coherent => {
                seal(flight, at, words, cover);
                self.write_words(flight, index, HEADER..words, NONE_LEFT_OUT, start_ns)
            }
            Verb::InstallRow { at, words, first, cover, .. } => {
                let (mut image_ns, mut link) = (start_ns, NONE_LEFT_OUT);
                if cover == Cover::AllButLink {
                    self.write_word(flight, index, LINK, start_ns, None);
                    (image_ns, link) = (start_ns + self.random.up_to(self.config.word_ns), LINK);
                }
                let parts = (at, words, first, cover);
                let end_ns = self.write_image(flight, index, parts, link, image_ns);
                let end_ns = end_ns + self.random.up_to(self.config.word_ns);
                self.write_word(flight, index, HEADER, end_ns, None);
                end_ns
            }
            Verb::WriteWord { value, .. } => {
                let time_ns = self.moments(start_ns, 1).start_ns;
                self.write_word(flight, index, 0, time_ns, Some(value));
                time_ns
            }
            _ => self.write_words(flight, index, 0..verb.target_words(), NONE_LEFT_OUT, start_ns),
        }
    }

    /// Enters the image of a row: all but its header.
    fn write_image(
        &mut self,
        flight: &mut Flight,
        index: u32,
        (at, words, first, cover): (u32, u32, u32, Cover),
        link: u32,
        start_ns: u64,
    ) -> u64 {
        if !self.coherent {
            seal(flight, at, words, cover);
            return self.write_words(flight, index, VERSION..words, link, start_ns);
        }
        // A seqlock's writer: TORN, then the words in any order, then the version.
        self.write_word(flight, index, VERSION, start_ns, Some(VersionWord::TORN.word()));
        let (mut end_ns, mut first) = (start_ns, first.max(LINK + 1));
        if link == NONE_LEFT_OUT {
            let always = LINK..words.min(ALWAYS_WRITTEN_END);
            first = first.max(always.end);
            end_ns = self.write_words(flight, index, always, NONE_LEFT_OUT, start_ns);
        }
        let rest = first.min(words)..words;
        end_ns = end_ns.max(self.write_words(flight, index, rest, NONE_LEFT_OUT, start_ns));
        self.write_word(flight, index, VERSION, end_ns, None);
        end_ns
    }

    /// Enters the words of a write except `left_out`, each at its own moment from `start_ns` on.
    /// Returns the last possible moment.
    fn write_words(
        &mut self,
        flight: &Flight,
        index: u32,
        words: Range<u32>,
        left_out: u32,
        start_ns: u64,
    ) -> u64 {
        let moments = self.moments(start_ns, words.len() as u32);
        if words.is_empty() {
            return start_ns;
        }
        let (to, arena) = target_and_arena(&flight.verb(index));
        let to = to.add_words(u64::from(words.start));
        let values = Span { at: arena + words.start, words: words.len() as u32 };
        let values = flight.batch().words(values);
        if self.config.broken.whole_words {
            for (place, &value) in values.iter().enumerate() {
                self.write_half(
                    flight,
                    to.add_words(place as u64),
                    start_ns..moments.end_ns(),
                    value,
                );
            }
        }
        let left_out = words.clone().position(|word| word == left_out);
        let when = (moments, self.config.words_come(), flight.verbs[index as usize].cut_ns);
        self.trace.words(start_ns, flight.node, "writes", to, values);
        self.memory.write(to, values, left_out, when, &mut self.random, flight.number);
        moments.end_ns()
    }

    /// Enters the access to one word of a write, unless it was cut off before: the word gets
    /// `value`, or its value in the arena.
    #[inline]
    fn write_word(
        &mut self,
        flight: &Flight,
        index: u32,
        word: u32,
        time_ns: u64,
        value: Option<u64>,
    ) {
        let state = &flight.verbs[index as usize];
        if time_ns > state.cut_ns {
            return;
        }
        let (to, arena) = target_and_arena(&flight.verb(index));
        let value = value.unwrap_or_else(|| flight.batch().word(arena + word));
        let at = to.add_words(u64::from(word));
        if self.config.broken.whole_words {
            self.write_half(flight, at, state.start_ns..time_ns, value);
        }
        self.trace.word(time_ns, flight.node, "writes", at, value);
        self.memory.store(at, time_ns, value, flight.number);
    }

    /// Tears a word: its lower half is written at some moment before the rest.
    fn write_half(&mut self, flight: &Flight, at: GlobalPtr, span_ns: Range<u64>, value: u64) {
        const LOWER: u64 = u32::MAX as u64;
        let time_ns = span_ns.start + self.random.up_to(span_ns.end - span_ns.start);
        let half = self.memory.load(at, time_ns) & !LOWER | value & LOWER;
        self.memory.store(at, time_ns, half, flight.number);
    }

    /// Plans a read. Returns the moment of its last access, as far as it is known.
    fn start_read(&mut self, place: u32, flight: &mut Flight, index: u32, verb: Verb) -> u64 {
        let words = verb.target_words();
        let start_ns = flight.verbs[index as usize].start_ns;
        let is_plain = matches!(verb, Verb::Read { .. });
        if self.coherent && !is_plain || matches!(verb, Verb::FindSlot { .. }) {
            let landing = flight.landing.len();
            flight.verbs[index as usize].landing = landing as u32;
            flight.landing.resize(landing + words as usize, 0);
        }
        if self.coherent && !is_plain {
            // Where memory is coherent, the reader looks at the version, or the tags, before the
            // rest.
            let (phase, first) = match verb {
                Verb::ReadRow { .. } => (Phase::RowBefore, VERSION),
                _ => (Phase::Header, bucket::INSERT),
            };
            flight.busy += 1;
            self.next_phase(place, flight, index, phase, first..first + 1, start_ns);
            return flight.verbs[index as usize].end_ns;
        }
        let moments = self.moments(start_ns, words);
        let state = &mut flight.verbs[index as usize];
        (state.moments, state.is_open) = (moments, true);
        (state.first, state.words) = (0, words);
        moments.end_ns()
    }

    /// All reads of a segment have come back. Returns whether no read must be repeated.
    pub(crate) fn deliver_reads(&mut self, flight: &mut Flight) -> bool {
        let mut are_over = true;
        for index in flight.first_verb..flight.next_verb {
            if !flight.verbs[index as usize].is_open {
                continue;
            }
            let is_over = match flight.verb(index) {
                Verb::Read { at, words, .. } => {
                    self.read_to_arena(flight, index, Span { at, words });
                    true
                }
                Verb::ReadRow { at, words, cover, .. } => {
                    self.deliver_row(flight, index, Span { at, words }, cover)
                }
                Verb::FindSlot { geometry, key, at, .. } => {
                    self.read_to_landing(flight, index);
                    self.search_step(0, flight, index, crate::buckets::Search { geometry, key, at })
                }
                verb => unreachable!("{verb:?} does not read"),
            };
            flight.verbs[index as usize].is_open = !is_over;
            are_over &= is_over;
        }
        are_over
    }

    /// Executes the present accesses of a plain read or a row: its words go to the arena.
    pub(crate) fn read_to_arena(&mut self, flight: &mut Flight, index: u32, span: Span) {
        let (from, moments) = (flight.verb(index).target(), flight.verbs[index as usize].moments);
        let batch = flight.batch.as_mut().expect("a flight carries its batch");
        let (random, tearing) = (&mut self.random, self.config.words_come());
        let words = batch.words_mut(span);
        self.memory.read(from, (moments, tearing), random, words);
        self.trace.words(moments.start_ns, flight.node, "reads", from, words);
    }

    /// Executes the present accesses of a read in phases: its words land.
    pub(crate) fn read_to_landing(&mut self, flight: &mut Flight, index: u32) {
        let state = flight.verbs[index as usize];
        let from = flight.verb(index).target().add_words(u64::from(state.first));
        let landing = (state.landing + state.first) as usize;
        let words = &mut flight.landing[landing..landing + state.words as usize];
        let tearing = self.config.words_come();
        self.memory.read(from, (state.moments, tearing), &mut self.random, words);
        self.trace.words(state.moments.start_ns, flight.node, "reads", from, words);
    }
}

/// The target of a write's words, and their position in the arena.
fn target_and_arena(verb: &Verb) -> (GlobalPtr, u32) {
    match *verb {
        Verb::Write { to, at, .. }
        | Verb::WriteRow { to, at, .. }
        | Verb::InstallRow { to, at, .. } => (to, at),
        Verb::WriteWord { to, .. } => (to, 0),
        verb => unreachable!("{verb:?} writes no words"),
    }
}

/// Stores the checksum of the image at position `at` of the arena in its last word.
fn seal(flight: &mut Flight, at: u32, words: u32, cover: Cover) {
    let image = Span { at: at + VERSION, words: words - VERSION - 1 };
    let sum = checksum(flight.batch().words(image), cover);
    flight.batch_mut().set_word(at + words - 1, sum);
}
