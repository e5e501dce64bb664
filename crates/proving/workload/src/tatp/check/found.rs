//! The result of one pass over the tables: for each subscriber the data that transactions may
//! change, and the existing rows.

use crate::tatp::config::TatpConfig;
use crate::tatp::keys::number_of;
use crate::tatp::population::{START_TIMES, TYPES, forwarding_bit};
use crate::tatp::schema::{access_info, call_forwarding, special_facility, subscriber};
use crate::tatp::witness;
use layout::RecordRef;

/// One subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Whether the subscriber has a row.
    pub is_there: bool,
    /// Whether SUB_NBR is the number that the load assigns.
    pub has_number: bool,
    /// Bit n: access of type n + 1 exists.
    pub accesses: u8,
    /// Bit n: a special facility of type n + 1 exists.
    pub facilities: u8,
    /// As in [`super::super::population::Loaded::forwardings`].
    pub forwardings: u16,
    /// BIT_1.
    pub bit_1: i16,
    /// DATA_A, by type.
    pub data_a: [i16; TYPES as usize],
    /// VLR_LOCATION.
    pub location: i32,
}

/// Rows of each table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowCounts {
    pub subscribers: u64,
    pub accesses: u64,
    pub facilities: u64,
    pub forwardings: u64,
}

#[derive(Clone, Debug)]
pub struct Found {
    subscribers: Vec<Seen>,
    pub counts: RowCounts,
    /// The first row of a table that no transaction can have made: a key out of range, or a
    /// duplicate.
    pub stray: Option<String>,
}

impl Found {
    pub fn new(config: &TatpConfig) -> Self {
        let subscribers = vec![Seen::default(); config.subscribers as usize];
        Self { subscribers, counts: RowCounts::default(), stray: None }
    }

    /// All subscribers with their numbers.
    pub fn subscribers(&self) -> impl Iterator<Item = (i32, &Seen)> {
        (1..).zip(&self.subscribers)
    }

    /// The values of a recorded run's registers, taken from all existing rows.
    pub fn registers(&self, mut visit: impl FnMut(u64, i64)) {
        for (s_id, seen) in self.subscribers().filter(|(_, seen)| seen.is_there) {
            visit(witness::location(s_id), i64::from(seen.location));
            visit(witness::bit_1(s_id), i64::from(seen.bit_1));
            for kind in (1..=TYPES).filter(|kind| seen.facilities & 1 << (kind - 1) != 0) {
                visit(witness::data_a(s_id, kind), i64::from(seen.data_a[kind as usize - 1]));
            }
        }
    }

    /// Adds a row of `subscriber`.
    pub fn add_subscriber(&mut self, row: &RecordRef<'_>) {
        self.counts.subscribers += 1;
        let s_id = row.int(subscriber::S_ID);
        match self.subscriber(s_id).filter(|seen| !seen.is_there) {
            Some(seen) => {
                seen.is_there = true;
                seen.has_number = row.bytes(subscriber::SUB_NBR) == number_of(s_id as i32);
                seen.bit_1 = row.int(subscriber::BIT_1) as i16;
                seen.location = row.int(subscriber::VLR_LOCATION) as i32;
            }
            None => self.note_stray(format!("subscriber {s_id}")),
        }
    }

    /// Adds a row of `access_info`.
    pub fn add_access(&mut self, row: &RecordRef<'_>) {
        self.counts.accesses += 1;
        let (s_id, kind) = (row.int(access_info::S_ID), row.int(access_info::AI_TYPE));
        match (self.subscriber(s_id), type_bit(kind)) {
            (Some(seen), Some(bit)) if seen.accesses & bit == 0 => seen.accesses |= bit,
            _ => self.note_stray(format!("access_info {s_id}, {kind}")),
        }
    }

    /// Adds a row of `special_facility`.
    pub fn add_facility(&mut self, row: &RecordRef<'_>) {
        self.counts.facilities += 1;
        let s_id = row.int(special_facility::S_ID);
        let kind = row.int(special_facility::SF_TYPE);
        match (self.subscriber(s_id), type_bit(kind)) {
            (Some(seen), Some(bit)) if seen.facilities & bit == 0 => {
                seen.facilities |= bit;
                seen.data_a[kind as usize - 1] = row.int(special_facility::DATA_A) as i16;
            }
            _ => self.note_stray(format!("special_facility {s_id}, {kind}")),
        }
    }

    /// Adds a row of `call_forwarding`.
    pub fn add_forwarding(&mut self, row: &RecordRef<'_>) {
        self.counts.forwardings += 1;
        let s_id = row.int(call_forwarding::S_ID);
        let kind = row.int(call_forwarding::SF_TYPE);
        let start = row.int(call_forwarding::START_TIME);
        let is_time = START_TIMES.map(i64::from).contains(&start);
        let bit = type_bit(kind).filter(|_| is_time);
        let bit = bit.map(|_| forwarding_bit(kind as i16, start as i16));
        match (self.subscriber(s_id), bit) {
            (Some(seen), Some(bit)) if seen.forwardings & bit == 0 => seen.forwardings |= bit,
            _ => self.note_stray(format!("call_forwarding {s_id}, {kind}, {start}")),
        }
    }

    fn subscriber(&mut self, s_id: i64) -> Option<&mut Seen> {
        let position = usize::try_from(s_id.checked_sub(1)?).ok()?;
        self.subscribers.get_mut(position)
    }

    fn note_stray(&mut self, what: String) {
        self.stray.get_or_insert(what);
    }
}

fn type_bit(kind: i64) -> Option<u8> {
    (1..=i64::from(TYPES)).contains(&kind).then(|| 1 << (kind - 1))
}
