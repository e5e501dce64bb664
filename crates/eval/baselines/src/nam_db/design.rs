//! The location of all data: the catalog of a database [ZB17 5].
//!
//! ```text
//! word of a data server's region            | what
//! behind the header                         | its part of the timestamp vector, if it has one
//! behind that                               | overflow region
//! behind that, for each table: buckets      | a cluster of records, which one read fetches
//!                              header rings | for each slot a counter and headers of old versions
//!                              data rings   | for each slot their data
//! ```

use super::vector::Vector;
use crate::row_key::RowKey;
use layout::region::HEADER_BYTES;
use layout::{GlobalPtr, RegionId, WORD_BYTES};

/// Slots of a bucket. The paper says that one read fetches all records of a bucket, but not how
/// many there may be; with two, at an average of one record per bucket, the first read finds eleven
/// of twelve records.
pub const BUCKET_SLOTS: u64 = 2;
/// Bits of a row's number in a key; the partition is above them.
const NUMBER_BITS: u32 = 44;

/// The words of a record in its slot.
///
/// ```text
/// word | field              | written by
///    0 | overflow           | the version mover: the latest version in the overflow region
///    1 | header             | compare-and-swap sets the lock bit; a write of the record clears it
///    2 | key                | that same write, as all that follows
///    3 | pointer to headers |
///    4 | pointer to data    |
///    5 | data               |
/// ```
pub struct RecordWords;

impl RecordWords {
    /// The pointer into the overflow region.
    pub const OVERFLOW: u64 = 0;
    pub const HEADER: u64 = 1;
    pub const KEY: u64 = 2;
    /// The first word of the data.
    pub const DATA: u64 = 5;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Words of a record's data.
    pub data_words: u32,
    /// Number of old versions in the buffer of a record.
    pub versions: u64,
    /// Number of buckets on each data server.
    pub buckets: u64,
    first_word: u64,
}

/// The required capacity of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSize {
    /// Bytes of a record's data, equal for all records.
    pub data_bytes: usize,
    /// Number of records on each data server.
    pub records: u64,
    /// Number of old versions in the buffer of a record.
    pub versions: u64,
}

/// The place of a record: slot `number` of its table in a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot {
    pub region: RegionId,
    /// The number of the slot among those of all buckets.
    pub number: u64,
}

/// The distribution of records over the data servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// By the hash of the key [ZB17 5.2].
    Hashed,
    /// This many consecutive partitions are on one server, for locality [ZB17 7.3].
    Partitions(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Design {
    pub vector: Vector,
    /// The regions of the data servers.
    pub data: Vec<RegionId>,
    /// The distribution of records over them.
    pub placement: Placement,
    /// The tables, by their numbers.
    pub tables: Vec<Table>,
    /// The first word and the number of words of the overflow region on each data server.
    pub overflow: (u64, u64),
    /// The number of words of a region with room for all of it.
    pub region_words: u64,
    /// The number of consecutive partitions whose ordered indexes are on one server.
    pub index_partitions: u32,
}

pub fn key_word(key: RowKey) -> u64 {
    assert!(key.number >> NUMBER_BITS == 0, "a row's number has {NUMBER_BITS} bits");
    (u64::from(key.partition) + 1) << NUMBER_BITS | key.number
}

/// The key of a word, in `table`.
pub fn row_key(table: u32, word: u64) -> RowKey {
    let partition = (word >> NUMBER_BITS) as u32 - 1;
    RowKey::new(partition, table, word & ((1 << NUMBER_BITS) - 1))
}

/// Distributes similar keys.
fn hash(word: u64) -> u64 {
    let mixed = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

impl Table {
    pub fn slot_words(&self) -> u64 {
        RecordWords::DATA + u64::from(self.data_words)
    }

    pub fn bucket_words(&self) -> u32 {
        (BUCKET_SLOTS * self.slot_words()) as u32
    }

    /// Words of a slot's ring of headers: the next-write counter, and the headers.
    pub fn ring_words(&self) -> u64 {
        1 + self.versions
    }

    /// Number of slots on each data server.
    pub fn slots(&self) -> u64 {
        self.buckets * BUCKET_SLOTS
    }

    fn words(&self) -> u64 {
        let data = self.versions * u64::from(self.data_words);
        self.slots() * (self.slot_words() + self.ring_words() + data)
    }

    fn at(&self, region: RegionId, word: u64) -> GlobalPtr {
        GlobalPtr::new(region, (self.first_word + word) * WORD_BYTES)
    }

    /// The address of a slot.
    pub fn slot(&self, slot: Slot) -> GlobalPtr {
        self.at(slot.region, slot.number * self.slot_words())
    }

    /// The header of a slot's record.
    pub fn header(&self, slot: Slot) -> GlobalPtr {
        self.slot(slot).add_words(RecordWords::HEADER)
    }

    /// The ring of headers of a slot.
    pub fn ring(&self, slot: Slot) -> GlobalPtr {
        let rings = self.slots() * self.slot_words();
        self.at(slot.region, rings + slot.number * self.ring_words())
    }

    /// The data of old version `place` of a slot's ring.
    pub fn old_data(&self, slot: Slot, place: u64) -> GlobalPtr {
        let rings = self.slots() * (self.slot_words() + self.ring_words());
        let version = slot.number * self.versions + place;
        self.at(slot.region, rings + version * u64::from(self.data_words))
    }
}

impl Design {
    /// A database with these tables.
    pub fn new(
        vector: Vector,
        data: Vec<RegionId>,
        placement: Placement,
        (overflow_words, index_partitions): (u64, u32),
        sizes: &[TableSize],
    ) -> Self {
        let overflow = (HEADER_BYTES / WORD_BYTES + vector.words_each(), overflow_words);
        let mut region_words = overflow.0 + overflow.1;
        let mut tables = Vec::new();
        for size in sizes {
            let data_words = size.data_bytes.div_ceil(WORD_BYTES as usize) as u32;
            let (versions, buckets) = (size.versions, size.records.max(1));
            let table = Table { data_words, versions, buckets, first_word: region_words };
            region_words += table.words();
            tables.push(table);
        }
        Self { vector, data, placement, tables, overflow, region_words, index_partitions }
    }

    /// The table of a row.
    pub fn table(&self, key: RowKey) -> &Table {
        &self.tables[key.table as usize]
    }

    /// The data server and the bucket of a key.
    pub fn bucket(&self, key: RowKey) -> (usize, u64) {
        let (hash, buckets) = (hash(key_word(key)), self.table(key).buckets);
        match self.placement {
            Placement::Hashed => {
                let bucket = hash % (buckets * self.data.len() as u64);
                ((bucket / buckets) as usize, bucket % buckets)
            }
            Placement::Partitions(each) => ((key.partition / each) as usize, hash % buckets),
        }
    }

    /// The data server with the ordered indexes of a partition: they are range-partitioned [ZB17
    /// 5.2].
    pub fn index_server(&self, partition: u32) -> usize {
        (partition / self.index_partitions) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(placement: Placement) -> Design {
        let size = |data_bytes| TableSize { data_bytes, records: 100, versions: 4 };
        let regions = vec![RegionId(1), RegionId(2), RegionId(3)];
        let vector = Vector::new(vec![RegionId(0)], 9);
        Design::new(vector, regions, placement, (1000, 2), &[size(8), size(33)])
    }

    #[test]
    fn keys_come_back_out_of_their_words() {
        let key = RowKey::new(2799, 1, (1 << NUMBER_BITS) - 1);
        assert_eq!(row_key(1, key_word(key)), key);
    }

    #[test]
    fn tables_end_where_the_next_begins() {
        let design = design(Placement::Hashed);
        let [first, second] = [0, 1].map(|table| design.tables[table]);
        let slot = Slot { region: RegionId(2), number: first.slots() };
        assert_eq!(first.old_data(slot, 0), second.slot(Slot { number: 0, ..slot }));
        assert_eq!(second.data_words, 5);
        let end = second.old_data(Slot { number: second.slots(), ..slot }, 0);
        assert_eq!(end.offset(), design.region_words * WORD_BYTES);
    }

    #[test]
    fn rows_are_spread_by_hash_or_by_partition() {
        let servers = |placement| {
            let design = design(placement);
            let server = |number| design.bucket(RowKey::new(3, 1, number)).0;
            let mut counts = [0; 3];
            (0..300).for_each(|number| counts[server(number)] += 1);
            counts
        };
        assert!(servers(Placement::Hashed).iter().all(|&count| (70..130).contains(&count)));
        assert_eq!(servers(Placement::Partitions(2)), [0, 300, 0]);
    }
}
