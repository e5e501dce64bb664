//! Searching for a key in a bucket's neighbourhood.
//!
//! If the key is missing, the contract promises more than the words themselves: no slot is read
//! before the insert word, and none after the collected-up-to word and the identity. Where memory
//! is not coherent, one fetch cannot guarantee that, because its words arrive in any order. A miss
//! therefore takes two consecutive fetches that both lack the key; the insert word comes from the
//! first fetch, the collected-up-to word and the identity from the second.

use crate::flight::{Flight, Phase};
use crate::state::Core;
use fabric::{Batch, SlotGeometry, SlotRead, Span};
use layout::row::{Cover, VERSION, is_intact};
use layout::{VersionWord, bucket};

/// The words before a bucket's slots in the order in which a coherent reader loads them.
const HEADER_ORDER: [u32; 3] = [bucket::INSERT, bucket::LINK, bucket::TAGS];

/// The words that a coherent reader loads after the slots, in this order: they prove a miss.
const PROOF_ORDER: [u32; 2] = [bucket::COLLECTED, bucket::IDENTITY];

/// The arguments of a `FindSlot`.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) geometry: SlotGeometry,
    pub(crate) key: u32,
    pub(crate) at: u32,
}

impl Core {
    /// Executes a step of a search. Returns whether the result was delivered.
    pub(crate) fn search_step(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        search: Search,
    ) -> bool {
        let state = flight.verbs[index as usize];
        match state.phase {
            Phase::Header => self.header_step(place, flight, index, search),
            Phase::Words | Phase::Slots => self.search_from(place, flight, index, search, 0),
            Phase::RowBefore | Phase::Row | Phase::RowAfter => {
                if !self.slot_ended(place, flight, index, search, state.slot) {
                    return false;
                }
                if self.coherent || search.is_torn_or_fits(flight, index, state.slot) {
                    return self.found(place, flight, index, search, u64::from(state.slot));
                }
                self.search_from(place, flight, index, search, state.slot + 1)
            }
            Phase::Collected => self.proof_step(place, flight, index, search),
        }
    }

    /// Executes a step of reading the row in `slot`. Returns whether the row is intact or was given
    /// up as torn.
    fn slot_ended(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        search: Search,
        slot: u32,
    ) -> bool {
        let row = search.geometry.slot(slot)..search.geometry.slot(slot + 1);
        if self.coherent {
            return self.row_ended(place, flight, index, row);
        }
        let landed = (flight.verbs[index as usize].landing + row.start) as usize;
        if is_intact(&flight.landing[landed..][..row.len()], Cover::AllButLink) {
            return true;
        }
        if self.is_given_up(flight, index) {
            flight.landing[landed + VERSION as usize] = VersionWord::TORN.word();
            return true;
        }
        self.next_wave(flight, index, Phase::Row, row);
        false
    }

    /// A coherent reader loads the header word by word, then only the slots whose tag matches.
    fn header_step(&mut self, place: u32, flight: &mut Flight, index: u32, search: Search) -> bool {
        let Some(next_ns) = self.load_next(place, flight, index, Phase::Header, &HEADER_ORDER)
        else {
            return false;
        };
        let landing = flight.verbs[index as usize].landing;
        let tags = flight.landing[(landing + bucket::TAGS) as usize];
        let slots = u32::from(search.geometry.slots);
        let fits = |&slot: &u32| bucket::tag_of(slots, tags, slot) == search.geometry.tag;
        let mut fitting = (0..slots).filter(fits);
        let Some(first) = fitting.next() else {
            return self.found(place, flight, index, search, SlotRead::MISSING);
        };
        // The read includes the slots between two matching slots; the search ignores them.
        let last = fitting.next_back().unwrap_or(first);
        let words = search.geometry.slot(first)..search.geometry.slot(last + 1);
        self.next_phase(place, flight, index, Phase::Slots, words, next_ns);
        false
    }

    /// A coherent reader loads the words that prove a miss one by one. Returns whether the result
    /// was delivered.
    fn proof_step(&mut self, place: u32, flight: &mut Flight, index: u32, search: Search) -> bool {
        if self.load_next(place, flight, index, Phase::Collected, &PROOF_ORDER).is_none() {
            return false;
        }
        search.deliver(flight, index);
        true
    }

    /// Loads the next word of this order. After the last one, returns when the next access takes
    /// place.
    fn load_next(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        phase: Phase,
        order: &[u32],
    ) -> Option<u64> {
        let next_ns = self.now_ns + 1 + self.random.up_to(self.config.word_ns);
        let state = &mut flight.verbs[index as usize];
        state.slot += 1;
        let Some(&word) = order.get(state.slot as usize) else { return Some(next_ns) };
        self.next_phase(place, flight, index, phase, word..word + 1, next_ns);
        None
    }

    /// Searches the slots that have landed, from `first` on.
    fn search_from(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        search: Search,
        first: u32,
    ) -> bool {
        let geometry = search.geometry;
        let fitting = (first..u32::from(geometry.slots))
            .find(|&slot| search.fits(flight, index, slot, self.coherent));
        let Some(slot) = fitting else {
            return self.missing(place, flight, index, search);
        };
        let landing = flight.verbs[index as usize].landing;
        let landed = landing as usize + geometry.slot(slot) as usize;
        let row = &flight.landing[landed..][..usize::from(geometry.slot_words)];
        let is_good = !geometry.rows
            || self.config.broken.untorn_rows
            || !self.coherent && is_intact(row, Cover::AllButLink);
        if is_good {
            return self.found(place, flight, index, search, u64::from(slot));
        }
        let state = &mut flight.verbs[index as usize];
        state.slot = slot;
        state.attempts = 0;
        let words = geometry.slot(slot)..geometry.slot(slot + 1);
        if self.coherent {
            let version = words.start + VERSION..words.start + VERSION + 1;
            self.next_phase(place, flight, index, Phase::RowBefore, version, self.now_ns + 1);
        } else {
            self.next_wave(flight, index, Phase::Row, words);
        }
        false
    }

    fn missing(&mut self, place: u32, flight: &mut Flight, index: u32, search: Search) -> bool {
        let state = &mut flight.verbs[index as usize];
        if self.coherent || state.is_again {
            return self.found(place, flight, index, search, SlotRead::MISSING);
        }
        state.is_again = true;
        state.insert = flight.landing[(state.landing + bucket::INSERT) as usize];
        if self.config.broken.fitting_misses {
            return self.found(place, flight, index, search, SlotRead::MISSING);
        }
        self.next_wave(flight, index, Phase::Words, 0..search.geometry.words());
        false
    }

    /// Ends the search with `found` as its result.
    fn found(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        search: Search,
        found: u64,
    ) -> bool {
        let state = &mut flight.verbs[index as usize];
        state.found = found;
        state.slot = 0;
        if self.coherent {
            let is_late = self.config.broken.fitting_misses;
            let first = if is_late { bucket::INSERT } else { bucket::COLLECTED };
            let words = first..bucket::COLLECTED + 1;
            self.next_phase(place, flight, index, Phase::Collected, words, self.now_ns + 1);
            return false;
        }
        let insert_at = (state.landing + bucket::INSERT) as usize;
        if found == SlotRead::MISSING {
            flight.landing[insert_at] = state.insert;
        }
        search.deliver(flight, index);
        true
    }
}

impl Search {
    /// Whether `slot`, as it landed, holds the key.
    fn fits(&self, flight: &Flight, index: u32, slot: u32, coherent: bool) -> bool {
        let landing = &flight.landing[flight.verbs[index as usize].landing as usize..];
        let words = &landing[self.geometry.slot(slot) as usize..];
        let words = &words[..usize::from(self.geometry.slot_words)];
        let is_used = if coherent {
            let (slots, tags) = (self.geometry.slots.into(), landing[bucket::TAGS as usize]);
            bucket::tag_of(slots, tags, slot) == self.geometry.tag
        } else if self.geometry.rows {
            words[VERSION as usize] != 0
        } else {
            words.iter().any(|&word| word != 0)
        };
        let key = Span { at: self.key, words: u32::from(self.geometry.key_words) };
        let key_at = usize::from(self.geometry.key_at);
        is_used && words[key_at..][..key.words as usize] == *flight.batch().words(key)
    }

    /// Whether a row that was read again is torn, or still matches the key as far as its words
    /// show.
    fn is_torn_or_fits(&self, flight: &Flight, index: u32, slot: u32) -> bool {
        let landing = &flight.landing[flight.verbs[index as usize].landing as usize..];
        let version = landing[(self.geometry.slot(slot) + VERSION) as usize];
        version == VersionWord::TORN.word() || self.fits(flight, index, slot, false)
    }

    /// Puts the result into the arena.
    fn deliver(&self, flight: &mut Flight, index: u32) {
        let state = flight.verbs[index as usize];
        let landing = &flight.landing[state.landing as usize..];
        let batch = flight.batch.as_mut().expect("a flight carries its batch");
        let put = |batch: &mut Batch, at: u32, words: &[u64]| {
            batch.words_mut(Span { at, words: words.len() as u32 }).copy_from_slice(words);
        };
        put(batch, self.at, &landing[..bucket::SLOTS as usize]);
        batch.set_word(self.at + SlotRead::INDEX, state.found);
        if state.found != SlotRead::MISSING {
            let slot = &landing[self.geometry.slot(state.found as u32) as usize..];
            let words = &slot[..usize::from(self.geometry.slot_words)];
            put(batch, self.at + SlotRead::SLOT, words);
        }
    }
}
