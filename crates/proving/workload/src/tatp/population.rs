//! The rows of each subscriber right after the load. They follow from the seed and the subscriber's
//! number alone, so the checks can recompute them.

use super::config::TatpConfig;
use super::keys::{Number, number_of};
use super::schema::{NUMBER_DIGITS, access_info, call_forwarding, special_facility, subscriber};
use crate::random::Random;
use layout::RecordMut;

/// The random stream for the rows of a subscriber.
const SHAPE_STREAM: u32 = 310;
/// The random stream for the columns.
const COLUMNS_STREAM: u32 = 311;
/// Percentage of active special facilities.
const ACTIVE_PERCENT: u32 = 85;
/// In recorded runs the largest number that the load writes into a column that transactions change;
/// transactions write larger ones.
pub const LOADED_MAX: i64 = 255;
/// Types of access and of special facilities.
pub const TYPES: i16 = 4;
/// The start times of forwarding.
pub const START_TIMES: [i16; 3] = [0, 8, 16];

/// One subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// S_ID.
    pub s_id: i32,
    /// Bit n: access of type n + 1 exists. One to four of them.
    pub accesses: u8,
    /// Bit n: a special facility of type n + 1 exists. One to four of them.
    pub facilities: u8,
    /// Bit 3 n + m: the facility of type n + 1 forwards calls from start time m on. None to three
    /// of each.
    pub forwardings: u16,
    /// BIT_1.
    pub bit_1: i16,
    /// DATA_A of the facilities, by type.
    pub data_a: [i16; TYPES as usize],
    /// VLR_LOCATION.
    pub location: i32,
}

impl Loaded {
    /// The rows that the load makes for a subscriber.
    pub fn new(config: &TatpConfig, s_id: i32) -> Self {
        let mut random = Random::stream(config.seed, SHAPE_STREAM, s_id as u64);
        let accesses = some_of(&mut random, 1, 4) as u8;
        let facilities = some_of(&mut random, 1, 4) as u8;
        let mut forwardings = 0;
        for kind in (0..TYPES).filter(|&kind| facilities & 1 << kind != 0) {
            forwardings |= some_of(&mut random, 0, 3) << (3 * kind);
        }
        let location_max = if config.recorded { LOADED_MAX } else { i64::from(i32::MAX) };
        let bit_1 = random.uniform(0, 1) as i16;
        let data_a = std::array::from_fn(|_| random.uniform(0, LOADED_MAX) as i16);
        let location = random.uniform(1, location_max) as i32;
        Self { s_id, accesses, facilities, forwardings, bit_1, data_a, location }
    }

    /// SUB_NBR.
    pub fn number(&self) -> Number {
        number_of(self.s_id)
    }

    /// The existing types of access.
    pub fn access_types(&self) -> impl Iterator<Item = i16> + use<> {
        types(self.accesses)
    }

    /// The existing types of special facilities.
    pub fn facility_types(&self) -> impl Iterator<Item = i16> + use<> {
        types(self.facilities)
    }

    /// Type and start time of each forwarding.
    pub fn forwarding_times(&self) -> impl Iterator<Item = (i16, i16)> + use<> {
        let forwardings = self.forwardings;
        let times = (1..=TYPES).flat_map(|kind| START_TIMES.map(|start| (kind, start)));
        times.filter(move |&(kind, start)| forwardings & forwarding_bit(kind, start) != 0)
    }
}

/// The bit of a forwarding in [`Loaded::forwardings`].
pub fn forwarding_bit(sf_type: i16, start_time: i16) -> u16 {
    1 << (3 * (sf_type - 1) + start_time / 8)
}

fn types(bits: u8) -> impl Iterator<Item = i16> {
    (1..=TYPES).filter(move |kind| bits & 1 << (kind - 1) != 0)
}

/// A random set of bits among `most`, with a random size of at least `least`.
fn some_of(random: &mut Random, least: i64, most: i64) -> u16 {
    let wanted = random.uniform(least, most);
    let mut bits = 0;
    for taken in 0..wanted {
        // The n-th of the bits that are still free.
        let mut nth = random.below((most - taken) as u64);
        for bit in (0..most).map(|position| 1 << position) {
            if bits & bit == 0 {
                if nth == 0 {
                    bits |= bit;
                    break;
                }
                nth -= 1;
            }
        }
    }
    bits
}

/// A row that the load makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    Subscriber,
    /// The type of access.
    Access(i16),
    /// The type of facility.
    Facility(i16),
    /// Its type and start time.
    Forwarding(i16, i16),
}

/// Fills the columns of a new row.
pub fn fill(config: &TatpConfig, loaded: &Loaded, row: Row, record: &mut RecordMut<'_>) {
    // Each row has a random stream of its own.
    let item = match row {
        Row::Subscriber => 0,
        Row::Access(kind) => kind,
        Row::Facility(kind) => TYPES + kind,
        Row::Forwarding(kind, start) => 2 * TYPES + 3 * kind + start / 8,
    };
    let item = u64::from(loaded.s_id as u32) << 8 | item as u64;
    let mut random = Random::stream(config.seed, COLUMNS_STREAM, item);
    match row {
        Row::Subscriber => fill_subscriber(&mut random, loaded, record),
        Row::Access(_) => {
            record.set_int(access_info::DATA1, random.uniform(0, 255));
            record.set_int(access_info::DATA2, random.uniform(0, 255));
            record.set_bytes(access_info::DATA3, &letters::<3>(&mut random));
            record.set_bytes(access_info::DATA4, &letters::<5>(&mut random));
        }
        Row::Facility(kind) => {
            let is_active = random.percent(ACTIVE_PERCENT);
            record.set_int(special_facility::IS_ACTIVE, i64::from(is_active));
            record.set_int(special_facility::ERROR_CNTRL, random.uniform(0, 255));
            let data_a = loaded.data_a[kind as usize - 1];
            record.set_int(special_facility::DATA_A, i64::from(data_a));
            record.set_bytes(special_facility::DATA_B, &letters::<5>(&mut random));
        }
        Row::Forwarding(_, start) => {
            let end = i64::from(start) + random.uniform(1, 8);
            record.set_int(call_forwarding::END_TIME, end);
            record.set_bytes(call_forwarding::NUMBERX, &digits(&mut random));
        }
    }
}

fn fill_subscriber(random: &mut Random, loaded: &Loaded, record: &mut RecordMut<'_>) {
    record.set_bytes(subscriber::SUB_NBR, &loaded.number());
    record.set_int(subscriber::BIT_1, i64::from(loaded.bit_1));
    let (bit_2, hex_1) = (subscriber::BIT_1 + 1, subscriber::HEX_1);
    let (byte2_1, after) = (subscriber::BYTE2_1, subscriber::MSC_LOCATION);
    (bit_2..hex_1).for_each(|column| record.set_int(column, random.uniform(0, 1)));
    (hex_1..byte2_1).for_each(|column| record.set_int(column, random.uniform(0, 15)));
    (byte2_1..after).for_each(|column| record.set_int(column, random.uniform(0, 255)));
    record.set_int(subscriber::MSC_LOCATION, random.uniform(1, i64::from(i32::MAX)));
    record.set_int(subscriber::VLR_LOCATION, i64::from(loaded.location));
}

pub fn digits(random: &mut Random) -> Number {
    let mut text = [0; NUMBER_DIGITS];
    random.fill_numeric(&mut text);
    text
}

fn letters<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| b'A' + random.below(26) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_have_what_the_specification_gives_them() {
        let config = TatpConfig::new(100_000);
        let (mut accesses, mut facilities) = ([0_u32; 5], [0_u32; 5]);
        let mut forwardings = [0_u32; 4];
        let mut rows = 0;
        for s_id in 1..=100_000 {
            let loaded = Loaded::new(&config, s_id);
            accesses[loaded.accesses.count_ones() as usize] += 1;
            facilities[loaded.facilities.count_ones() as usize] += 1;
            for kind in 1..=TYPES {
                let times = loaded.forwarding_times().filter(|&(of, _)| of == kind).count();
                if loaded.facility_types().any(|other| other == kind) {
                    forwardings[times] += 1;
                } else {
                    assert_eq!(times, 0, "there is no facility {kind} of {s_id}");
                }
            }
            assert_eq!(loaded.access_types().count(), loaded.accesses.count_ones() as usize);
            rows += 1 + loaded.accesses.count_ones() + loaded.facilities.count_ones();
            rows += loaded.forwardings.count_ones();
        }
        // Six standard deviations of binomials with p = 1/4.
        for counts in [&accesses[1..], &facilities[1..]] {
            assert!(counts.iter().all(|&count| count.abs_diff(25_000) < 822), "{counts:?}");
        }
        assert!(forwardings.iter().all(|&count| count.abs_diff(62_500) < 2000), "{forwardings:?}");
        // 1 + 2.5 + 2.5 + 2.5 * 1.5 rows per subscriber.
        assert!(rows.abs_diff(975_000) < 5000, "{rows}");
        assert_eq!((accesses[0], facilities[0]), (0, 0));
    }
}
