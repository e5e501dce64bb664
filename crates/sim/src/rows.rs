//! Rows that must arrive untorn: read, checked, and read again.

use crate::buckets::Search;
use crate::flight::{Flight, Phase};
use crate::state::Core;
use crate::verbs::NONE_LEFT_OUT;
use fabric::Verb;
use layout::VersionWord;
use layout::row::{Cover, LINK, VERSION, checksum};
use std::ops::Range;

/// How often a torn image is read again before it is delivered as torn.
const TORN_RETRY_COUNT_MAX: u32 = 64;

impl Core {
    /// All words of a verb's phase were touched. Returns whether the verb is over.
    pub(crate) fn phase_ended(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        verb: Verb,
    ) -> bool {
        match verb {
            Verb::ReadRow { at, words, cover, .. } => {
                if !self.row_ended(place, flight, index, 0..words, cover) {
                    return false;
                }
                let landing = flight.verbs[index as usize].landing as usize;
                let batch = flight.batch.as_mut().expect("a flight carries its batch");
                let span = fabric::Span { at, words };
                batch.words_mut(span).copy_from_slice(&flight.landing[landing..][..words as usize]);
                true
            }
            Verb::FindSlot { geometry, key, at, .. } => {
                self.search_step(place, flight, index, Search { geometry, key, at })
            }
            _ => true,
        }
    }

    /// Reads `words` of a verb's range in a next phase, after `wait_ns`.
    pub(crate) fn next_phase(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        phase: Phase,
        words: Range<u32>,
        wait_ns: u64,
    ) {
        let start_ns = self.now_ns + wait_ns;
        let mut state = flight.verbs[index as usize];
        state.phase = phase;
        self.spread(place, &mut state, index, words, NONE_LEFT_OUT, start_ns);
        assert!(state.remaining > 0);
        flight.verbs[index as usize] = state;
    }

    /// Reads once more over the network: `wave` says how many times the batch has done so.
    pub(crate) fn next_wave(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        phase: Phase,
        words: Range<u32>,
    ) {
        let wave = flight.verbs[index as usize].wave + 1;
        flight.verbs[index as usize].wave = wave;
        flight.extra_waves = flight.extra_waves.max(wave);
        let first = flight.verb(index).target().add_words(u64::from(words.start));
        flight.extra_reads.push((first, words.len() as u32));
        let back_ns = self.config.answer_ns.draw(&mut self.random);
        let forth_ns = self.config.read_ns.draw(&mut self.random);
        self.next_phase(place, flight, index, phase, words, back_ns + forth_ns);
    }

    /// A step of reading the row in `row` (words of the verb's range). Returns whether it has landed,
    /// intact or with TORN as its version.
    pub(crate) fn row_ended(
        &mut self,
        place: u32,
        flight: &mut Flight,
        index: u32,
        row: Range<u32>,
        cover: Cover,
    ) -> bool {
        let state = flight.verbs[index as usize];
        let image = state.landing as usize + row.start as usize;
        let version_at = image + VERSION as usize;
        let version = row.start + VERSION..row.start + VERSION + 1;
        let pause_ns = 1 + self.random.up_to(self.config.word_ns);
        let is_intact = match state.phase {
            Phase::RowBefore => {
                flight.verbs[index as usize].version = flight.landing[version_at];
                self.next_phase(place, flight, index, Phase::Row, row, pause_ns);
                return false;
            }
            Phase::Row if self.coherent => {
                self.next_phase(place, flight, index, Phase::RowAfter, version, pause_ns);
                return false;
            }
            Phase::RowAfter => {
                let after = flight.landing[version_at];
                after == state.version && after != VersionWord::TORN.word()
            }
            _ => is_intact(&flight.landing[image..][..row.len()], cover),
        };
        if is_intact || self.config.broken.untorn_rows {
            return true;
        }
        if state.attempts + 1 >= TORN_RETRY_COUNT_MAX {
            flight.landing[version_at] = VersionWord::TORN.word();
            return true;
        }
        flight.verbs[index as usize].attempts += 1;
        if self.coherent {
            self.next_phase(place, flight, index, Phase::RowBefore, version, pause_ns);
        } else {
            self.next_wave(place, flight, index, Phase::Row, row);
        }
        false
    }
}

/// Whether a row (header, image, checksum) is whole. Memory that was never written is the whole image of
/// no row: only zeros, with [`VersionWord::NONE`] as its version.
pub(crate) fn is_intact(row: &[u64], cover: Cover) -> bool {
    let (image, sum) = (&row[VERSION as usize..row.len() - 1], row[row.len() - 1]);
    if sum != 0 {
        return sum == checksum(image, cover);
    }
    let link = (LINK - VERSION) as usize;
    let is_covered = |index: usize| cover == Cover::All || index != link;
    image.iter().enumerate().all(|(index, &word)| word == 0 || !is_covered(index))
}
