//! Searches a key in a bucket that one read fetched, with its words read in any order.
//!
//! A single fetch cannot prove a miss, which requires that no slot was read before the insert word
//! and none after the collected-up-to word. Two consecutive fetches prove it: the insert word is
//! that of the first, the rest that of the second.

use crate::verb::{SlotGeometry, SlotRead};
use layout::row::{Cover, VERSION, is_intact};
use layout::{VersionWord, bucket};

/// Number of retries before a torn image is returned as torn.
pub(super) const TORN_RETRY_COUNT_MAX: u32 = 64;

/// State of a read to repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Look {
    /// Fetches with a torn image.
    torn: u32,
    /// The insert word of the previous fetch, if that fetch was a miss.
    insert: Option<u64>,
}

impl Look {
    /// Checks a fetched row. Returns whether it is complete: intact, or with TORN as its version.
    pub(super) fn row(&mut self, row: &mut [u64], cover: Cover) -> bool {
        if is_intact(row, cover) {
            return true;
        }
        self.torn += 1;
        if self.torn < TORN_RETRY_COUNT_MAX {
            return false;
        }
        row[VERSION as usize] = VersionWord::TORN.word();
        true
    }

    /// Checks a fetched bucket. Returns whether `result`, laid out as [`SlotRead`], is complete.
    pub(super) fn bucket(
        &mut self,
        words: &mut [u64],
        geometry: &SlotGeometry,
        key: &[u64],
        result: &mut [u64],
    ) -> bool {
        let slots = 0..u32::from(geometry.slots);
        let slot_words = usize::from(geometry.slot_words);
        let Some(slot) = slots.clone().find(|&slot| holds(words, geometry, slot, key)) else {
            let Some(insert) = self.insert else {
                self.insert = Some(words[bucket::INSERT as usize]);
                return false;
            };
            words[bucket::INSERT as usize] = insert;
            result[..bucket::SLOTS as usize].copy_from_slice(&words[..bucket::SLOTS as usize]);
            result[SlotRead::INDEX as usize] = SlotRead::MISSING;
            return true;
        };
        let row = &mut words[geometry.slot(slot) as usize..][..slot_words];
        if geometry.rows && !self.row(row, Cover::AllButLink) {
            // The key is there, so the earlier miss proves nothing any more.
            self.insert = None;
            return false;
        }
        result[SlotRead::SLOT as usize..].copy_from_slice(row);
        result[..bucket::SLOTS as usize].copy_from_slice(&words[..bucket::SLOTS as usize]);
        result[SlotRead::INDEX as usize] = u64::from(slot);
        true
    }
}

/// Whether a fetched slot holds `key`.
fn holds(words: &[u64], geometry: &SlotGeometry, slot: u32, key: &[u64]) -> bool {
    let words = &words[geometry.slot(slot) as usize..][..usize::from(geometry.slot_words)];
    let is_used = match geometry.rows {
        true => words[VERSION as usize] != 0,
        false => words.iter().any(|&word| word != 0),
    };
    is_used && words[usize::from(geometry.key_at)..][..key.len()] == *key
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::row::{KEY, LINK, checksum};

    const SLOT_WORDS: u32 = 6;
    const GEOMETRY: SlotGeometry = SlotGeometry {
        slots: 2,
        key_words: 1,
        key_at: KEY as u8,
        tag: 9,
        slot_words: SLOT_WORDS as u16,
        rows: true,
    };

    /// A bucket with a row with `key` in its second slot.
    fn bucket_with(key: u64) -> Vec<u64> {
        let mut words = vec![0; GEOMETRY.words() as usize];
        words[bucket::INSERT as usize] = 70;
        let row = &mut words[GEOMETRY.slot(1) as usize..];
        (row[VERSION as usize], row[LINK as usize], row[KEY as usize], row[4]) = (5, 6, key, 8);
        row[5] = checksum(&row[VERSION as usize..5], Cover::AllButLink);
        words
    }

    fn result() -> Vec<u64> {
        vec![0; SlotRead::SLOT as usize + SLOT_WORDS as usize]
    }

    #[test]
    fn a_hit_takes_one_fetch_and_a_miss_two() {
        let mut delivered = result();
        assert!(Look::default().bucket(&mut bucket_with(3), &GEOMETRY, &[3], &mut delivered));
        assert_eq!(delivered[SlotRead::INDEX as usize], 1);
        assert_eq!(delivered[SlotRead::SLOT as usize + KEY as usize], 3);
        let (mut look, mut delivered) = (Look::default(), result());
        assert!(!look.bucket(&mut bucket_with(3), &GEOMETRY, &[4], &mut delivered));
        let mut second = bucket_with(3);
        (second[bucket::INSERT as usize], second[bucket::COLLECTED as usize]) = (71, 12);
        assert!(look.bucket(&mut second, &GEOMETRY, &[4], &mut delivered));
        assert_eq!(delivered[SlotRead::INDEX as usize], SlotRead::MISSING);
        assert_eq!(delivered[bucket::INSERT as usize], 70, "the first fetch's");
        assert_eq!(delivered[bucket::COLLECTED as usize], 12, "the second one's");
    }

    #[test]
    fn a_torn_row_is_fetched_again_until_it_is_given_up() {
        let torn = || {
            let mut words = bucket_with(3);
            words[GEOMETRY.slot(1) as usize + 4] ^= 1;
            words
        };
        let (mut look, mut delivered) = (Look::default(), result());
        for _ in 1..TORN_RETRY_COUNT_MAX {
            assert!(!look.bucket(&mut torn(), &GEOMETRY, &[3], &mut delivered));
        }
        assert!(look.bucket(&mut torn(), &GEOMETRY, &[3], &mut delivered));
        let version = delivered[(SlotRead::SLOT + VERSION) as usize];
        assert_eq!(version, VersionWord::TORN.word());
    }

    #[test]
    fn a_key_seen_between_two_misses_makes_the_first_worthless() {
        let (mut look, mut delivered) = (Look::default(), result());
        assert!(!look.bucket(&mut bucket_with(3), &GEOMETRY, &[4], &mut delivered));
        let mut torn = bucket_with(4);
        torn[GEOMETRY.slot(1) as usize + 4] ^= 1;
        assert!(!look.bucket(&mut torn, &GEOMETRY, &[4], &mut delivered));
        assert!(!look.bucket(&mut bucket_with(3), &GEOMETRY, &[4], &mut delivered));
        assert!(look.bucket(&mut bucket_with(3), &GEOMETRY, &[4], &mut delivered));
    }
}
