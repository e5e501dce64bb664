//! A group record: the snapshot that one group commit makes durable.

use crate::bytes::{put, u32_at, u64_at};
use crate::position::{Incarnation, Position};
use crate::varint;

/// Bytes before the counters.
pub const GROUP_BYTES: usize = 32;
/// Most slots of a timestamp vector.
const SLOTS_MAX: u32 = 1 << 16;

const SLOTS: usize = 4;
const REPLAY_SEGMENT: usize = 8;
const REPLAY_OFFSET: usize = 16;
const ENCODING: usize = 24;
const RESERVED: usize = 25;
const COUNT: usize = 28;
const FULL: u8 = 1;
const DELTA: u8 = 2;

const _: () = {
    assert!(SLOTS == 4 && REPLAY_SEGMENT == SLOTS + 4 && REPLAY_OFFSET == REPLAY_SEGMENT + 8);
    assert!(ENCODING == REPLAY_OFFSET + 8 && RESERVED == ENCODING + 1 && COUNT == RESERVED + 3);
    assert!(GROUP_BYTES == COUNT + 4 && FULL != DELTA);
};

/// The content of a group record.
///
/// ```text
/// byte | field       | bytes | meaning
///    0 | incarnation |     4 | the start of the database that wrote it
///    4 | slots       |     4 | slots of the timestamp vector
///    8 | segment     |     8 | replay from: every entry that the snapshot does not cover begins
///   16 | offset      |     8 | there or later
///   24 | encoding    |     1 | 1: counters that are not 0; 2: differences from the group before
///   25 | reserved    |     3 | 0
///   28 | count       |     4 | number of pairs
///   32 | pairs       |       | slots skipped, then counter or difference; both LEB128
/// ```
///
/// # Invariants
/// The first group record of a segment has encoding 1, so that a segment can be read alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupRecord {
    pub incarnation: Incarnation,
    /// The begin of the oldest entry that the snapshot does not cover.
    pub replay_from: Position,
    /// The newest visible commit number of each slot.
    pub counters: Vec<u64>,
}

impl GroupRecord {
    /// Encodes the record relative to the counters of the group before it in the same segment, if
    /// that is shorter.
    pub fn encode(&self, before: Option<&[u64]>) -> Vec<u8> {
        let full = pairs(self.counters.iter().copied());
        let delta = before.and_then(|before| {
            let is_later = before.len() <= self.counters.len()
                && before.iter().zip(&self.counters).all(|(before, counter)| before <= counter);
            let known = before.iter().copied().chain(std::iter::repeat(0));
            is_later.then(|| pairs(self.counters.iter().zip(known).map(|(now, then)| now - then)))
        });
        let (encoding, (count, pairs)) = match delta {
            Some(delta) if delta.1.len() < full.1.len() => (DELTA, delta),
            _ => (FULL, full),
        };
        let mut bytes = vec![0; GROUP_BYTES];
        put(&mut bytes, 0, &self.incarnation.0.to_le_bytes());
        put(&mut bytes, SLOTS, &(self.counters.len() as u32).to_le_bytes());
        put(&mut bytes, REPLAY_SEGMENT, &self.replay_from.segment.to_le_bytes());
        put(&mut bytes, REPLAY_OFFSET, &self.replay_from.offset.to_le_bytes());
        bytes[ENCODING] = encoding;
        put(&mut bytes, COUNT, &count.to_le_bytes());
        bytes.extend(pairs);
        bytes
    }

    /// Decodes a record; `None` if it is not well formed.
    pub fn decode(bytes: &[u8], before: Option<&[u64]>) -> Option<Self> {
        let (head, mut rest) = bytes.split_at_checked(GROUP_BYTES)?;
        let slots = u32_at(head, SLOTS);
        if slots > SLOTS_MAX || head[RESERVED..COUNT] != [0; 3] {
            return None;
        }
        let mut counters = match head[ENCODING] {
            FULL => Vec::new(),
            DELTA => before?.to_vec(),
            _ => return None,
        };
        if counters.len() > slots as usize {
            return None;
        }
        counters.resize(slots as usize, 0);
        let mut at = 0_usize;
        for _ in 0..u32_at(head, COUNT) {
            at = at.checked_add(usize::try_from(varint::take(&mut rest)?).ok()?)?;
            let counter = counters.get_mut(at)?;
            *counter = counter.checked_add(varint::take(&mut rest)?)?;
            at += 1;
        }
        rest.is_empty().then_some(Self {
            incarnation: Incarnation(u32_at(head, 0)),
            replay_from: Position {
                segment: u64_at(head, REPLAY_SEGMENT),
                offset: u64_at(head, REPLAY_OFFSET),
            },
            counters,
        })
    }
}

/// Encodes the numbers that are not 0, with their count.
fn pairs(numbers: impl Iterator<Item = u64>) -> (u32, Vec<u8>) {
    let (mut count, mut skipped, mut bytes) = (0, 0, Vec::new());
    for number in numbers {
        if number == 0 {
            skipped += 1;
            continue;
        }
        varint::append(&mut bytes, skipped);
        varint::append(&mut bytes, number);
        (count, skipped) = (count + 1, 0);
    }
    (count, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(counters: Vec<u64>) -> GroupRecord {
        let replay_from = Position { segment: 3, offset: 4711 };
        GroupRecord { incarnation: Incarnation(2), replay_from, counters }
    }

    fn counters() -> impl Strategy<Value = Vec<u64>> {
        let counter = prop_oneof![3 => Just(0), 2 => 0..200_u64, 1 => any::<u64>()];
        prop::collection::vec(counter, 0..100)
    }

    proptest! {
        #[test]
        fn records_come_back(counters in counters(), before in prop::option::of(counters())) {
            let record = record(counters);
            let bytes = record.encode(before.as_deref());
            prop_assert_eq!(GroupRecord::decode(&bytes, before.as_deref()), Some(record));
        }

        #[test]
        fn later_records_come_back(
            before in prop::collection::vec(0..1_u64 << 46, 0..100),
            more in prop::collection::vec((0..100_usize, 0..1000_u64), 0..10),
            slots in 0..20_usize,
        ) {
            let mut counters = before.clone();
            counters.resize(before.len() + slots, 0);
            for (slot, more) in more {
                if let Some(counter) = counters.get_mut(slot) {
                    *counter += more;
                }
            }
            let record = record(counters);
            let bytes = record.encode(Some(&before));
            prop_assert_eq!(GroupRecord::decode(&bytes, Some(&before)), Some(record));
        }

        #[test]
        fn any_bytes_decode_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = GroupRecord::decode(&bytes, Some(&[1, 2, 3]));
        }
    }

    #[test]
    fn a_difference_needs_few_bytes() {
        let before: Vec<u64> = (0..64).map(|slot| 1_000_000 + slot).collect();
        let mut counters = before.clone();
        counters[17] += 40;
        let record = record(counters);
        assert_eq!(record.encode(Some(&before)).len(), GROUP_BYTES + 2);
        let full = record.encode(None);
        assert_eq!(full.len(), GROUP_BYTES + 64 * 4);
        assert_eq!(GroupRecord::decode(&full, Some(&before)), Some(record.clone()));
        assert_eq!(GroupRecord::decode(&record.encode(Some(&before)), None), None);
    }
}
