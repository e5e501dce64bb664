//! A part of the tail: the entries of the rows whose hashes begin alike, sorted by row.
//!
//! Readers of the log append to pieces of their own; one worker sorts the pieces of a part. Parts
//! are small enough for a processor's cache, whatever the size of the log.

use layout::VersionWord;
use redo_log::Incarnation;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The kinds of images of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ImageKind {
    Tombstone,
    Whole,
    /// The columns that differ from the replaced version.
    Columns,
}

/// A row of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowOf<'a> {
    pub table: u32,
    /// Of table and key.
    pub hash: u64,
    pub key: &'a [u8],
}

/// The effect of an entry on its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effect<'a> {
    pub incarnation: Incarnation,
    pub version: VersionWord,
    pub replaces: VersionWord,
    pub kind: ImageKind,
    pub image: &'a [u8],
}

/// An entry. Its key, and behind it its image, are in the bytes of its piece.
#[derive(Debug)]
pub(super) struct Link {
    pub version: VersionWord,
    pub replaces: VersionWord,
    hash: u64,
    start: usize,
    image_bytes: u32,
    table: u32,
    pub incarnation: Incarnation,
    piece: u16,
    key_bytes: u8,
    pub kind: ImageKind,
}

const _: () = assert!(size_of::<Link>() == 48);

/// Entries of a part that one reader has found.
#[derive(Default, Debug)]
pub(super) struct Piece {
    links: Vec<Link>,
    bytes: Vec<u8>,
}

impl Piece {
    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.links.len() as u64
    }

    /// Appends an entry.
    ///
    /// # Panics
    /// If key or image are longer than the log permits.
    pub fn add(&mut self, row: RowOf<'_>, effect: Effect<'_>) {
        let Effect { incarnation, version, replaces, kind, image } = effect;
        let key_bytes = u8::try_from(row.key.len()).expect("the log refuses longer keys");
        let image_bytes = u32::try_from(image.len()).expect("the log refuses longer images");
        let (hash, table, start, piece) = (row.hash, row.table, self.bytes.len(), 0);
        self.bytes.extend_from_slice(row.key);
        self.bytes.extend_from_slice(image);
        self.links.push(Link {
            version,
            replaces,
            hash,
            start,
            image_bytes,
            table,
            incarnation,
            piece,
            key_bytes,
            kind,
        });
    }
}

/// Where the entries of a row begin.
#[derive(Debug)]
struct Head {
    hash: u64,
    first: usize,
    table: u32,
    is_loaded: AtomicBool,
}

/// The rows of a table in a part. A hash leads to them by two reads of memory; a binary search
/// needs a dozen.
#[derive(Debug)]
struct TableRows {
    table: u32,
    /// The bits of a hash that choose a bucket.
    bits: u32,
    /// For each bucket the first of its heads, and at the end the number of heads behind the table.
    buckets: Vec<usize>,
}

/// Heads of a bucket, on average.
const BUCKET_HEADS: usize = 4;

impl TableRows {
    /// The rows `heads`, from number `first` on, of a part whose hashes have the same first
    /// `part_bits`.
    fn new(heads: &[Head], first: usize, part_bits: u32) -> Self {
        let bits = (heads.len() / BUCKET_HEADS).max(2).next_power_of_two().ilog2();
        let mut rows = Self { table: heads[0].table, bits, buckets: Vec::new() };
        rows.buckets.reserve_exact((1 << bits) + 1);
        for (number, head) in heads.iter().enumerate() {
            let bucket = rows.bucket(head.hash, part_bits);
            rows.buckets.resize(rows.buckets.len().max(bucket + 1), first + number);
        }
        rows.buckets.resize((1 << bits) + 1, first + heads.len());
        rows
    }

    fn bucket(&self, hash: u64, part_bits: u32) -> usize {
        ((hash << part_bits) >> (u64::BITS - self.bits)) as usize
    }
}

/// The sorted entries of a part.
#[derive(Debug)]
pub(super) struct Part {
    /// By table, hash, key, start of the database, and version.
    links: Vec<Link>,
    bytes: Vec<Vec<u8>>,
    heads: Vec<Head>,
    tables: Vec<TableRows>,
    part_bits: u32,
}

/// The entries of a row, by rising starts of the database and versions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain<'a> {
    part: &'a Part,
    head: &'a Head,
    pub(super) links: &'a [Link],
}

impl<'a> Chain<'a> {
    /// Whether this call is the first for the row. A table's checkpoint may have a row twice.
    pub fn is_first(&self) -> bool {
        !self.head.is_loaded.swap(true, Relaxed)
    }

    pub fn table(&self) -> u32 {
        self.head.table
    }

    pub fn key(&self) -> &'a [u8] {
        self.part.key(&self.links[0])
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.links.len() as u64
    }

    pub(super) fn image(&self, link: &Link) -> &'a [u8] {
        self.part.image(link)
    }
}

impl Part {
    /// Sorts the entries of all readers. The hashes of the rows have the same first `part_bits`.
    ///
    /// # Panics
    /// If there are more than 65,536 readers.
    pub fn sort(pieces: Vec<Piece>, part_bits: u32) -> Self {
        let count = pieces.iter().map(|piece| piece.links.len()).sum();
        let (mut links, mut bytes) = (Vec::with_capacity(count), Vec::with_capacity(pieces.len()));
        for (number, piece) in pieces.into_iter().enumerate() {
            let number = u16::try_from(number).expect("there are few readers");
            links.extend(piece.links.into_iter().map(|link| Link { piece: number, ..link }));
            bytes.push(piece.bytes);
        }
        let (tables, heads) = (Vec::new(), Vec::new());
        let part = Self { links: Vec::new(), bytes, heads, tables, part_bits };
        links.sort_unstable_by(|one, other| part.order(one, other));
        let (mut heads, mut first) = (Vec::new(), 0);
        for row in links.chunk_by(|one, next| part.row(one) == part.row(next)) {
            let Link { table, hash, .. } = row[0];
            heads.push(Head { table, is_loaded: AtomicBool::new(false), hash, first });
            first += row.len();
        }
        let (mut tables, mut first) = (Vec::new(), 0);
        for rows in heads.chunk_by(|one, next| one.table == next.table) {
            tables.push(TableRows::new(rows, first, part_bits));
            first += rows.len();
        }
        Self { links, heads, tables, ..part }
    }

    fn order(&self, one: &Link, other: &Link) -> Ordering {
        let row = |link: &Link| (link.table, link.hash);
        let entry = |link: &Link| (link.incarnation, link.version.word());
        let keys = || self.key(one).cmp(self.key(other));
        row(one).cmp(&row(other)).then_with(keys).then_with(|| entry(one).cmp(&entry(other)))
    }

    fn row(&self, link: &Link) -> RowOf<'_> {
        RowOf { table: link.table, hash: link.hash, key: self.key(link) }
    }

    fn key(&self, link: &Link) -> &[u8] {
        &self.bytes[usize::from(link.piece)][link.start..][..usize::from(link.key_bytes)]
    }

    fn image(&self, link: &Link) -> &[u8] {
        let start = link.start + usize::from(link.key_bytes);
        &self.bytes[usize::from(link.piece)][start..][..link.image_bytes as usize]
    }

    /// The entries of a row, if it has any.
    pub fn chain(&self, row: RowOf<'_>) -> Option<Chain<'_>> {
        let table = self.tables.binary_search_by_key(&row.table, |rows| rows.table).ok()?;
        let rows = &self.tables[table];
        let bucket = rows.bucket(row.hash, self.part_bits);
        (rows.buckets[bucket]..rows.buckets[bucket + 1])
            .filter(|&index| self.heads[index].hash == row.hash)
            .map(|index| self.chain_at(index))
            .find(|chain| chain.key() == row.key)
    }

    /// All rows.
    pub fn chains(&self) -> impl Iterator<Item = Chain<'_>> {
        (0..self.heads.len()).map(|index| self.chain_at(index))
    }

    fn chain_at(&self, index: usize) -> Chain<'_> {
        let head = &self.heads[index];
        let end = self.heads.get(index + 1).map_or(self.links.len(), |next| next.first);
        Chain { part: self, head, links: &self.links[head.first..end] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::SlotId;

    const KEYS: [&[u8]; 3] = [b"a", b"b", b"ab"];

    fn effect(number: u64, image: &[u8]) -> Effect<'_> {
        let (kind, incarnation) = (ImageKind::Whole, Incarnation(1));
        let version = VersionWord::new(SlotId(0), number);
        Effect { incarnation, version, replaces: VersionWord::NONE, kind, image }
    }

    /// Rows whose hashes are equal, in two tables and two pieces.
    #[test]
    fn rows_with_equal_hashes_have_entries_of_their_own() {
        let mut pieces = [Piece::default(), Piece::default()];
        for number in 0..24 {
            let (table, key) = (number as u32 % 2, KEYS[number % 3]);
            let row = RowOf { table, hash: 7, key };
            pieces[number / 4 % 2].add(row, effect(number as u64, &[number as u8]));
        }
        let part = Part::sort(pieces.into(), 3);
        assert_eq!(part.chains().count(), 6);
        for number in 0..6 {
            let row = RowOf { table: number as u32 % 2, hash: 7, key: KEYS[number % 3] };
            let chain = part.chain(row).expect("the row has entries");
            let images: Vec<&[u8]> = chain.links.iter().map(|link| chain.image(link)).collect();
            let number = number as u8;
            assert_eq!(images, [[number], [number + 6], [number + 12], [number + 18]]);
            assert_eq!((chain.table(), chain.key()), (row.table, row.key));
        }
        for row in [
            RowOf { table: 2, hash: 7, key: KEYS[0] },
            RowOf { table: 0, hash: 8, key: KEYS[0] },
            RowOf { table: 0, hash: 7, key: b"c" },
        ] {
            assert!(part.chain(row).is_none(), "{row:?}");
        }
    }

    /// Many rows whose hashes begin with the same bits.
    #[test]
    fn each_row_is_found_in_its_bucket() {
        for count in [1, 3, 100, 5_000_u64] {
            let mut piece = Piece::default();
            let hash = |number: u64| 5 << 61 | number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 3;
            let keys: Vec<[u8; 8]> = (0..count).map(u64::to_le_bytes).collect();
            for (number, key) in (0..count).zip(&keys) {
                let row = RowOf { table: number as u32 % 3, hash: hash(number), key };
                piece.add(row, effect(number + 1, &[]));
            }
            let part = Part::sort(vec![piece], 3);
            assert_eq!(part.chains().count() as u64, count);
            for (number, key) in (0..count).zip(&keys) {
                let row = RowOf { table: number as u32 % 3, hash: hash(number), key };
                let chain = part.chain(row).expect("it was added");
                assert_eq!((chain.key(), chain.entries()), (&key[..], 1));
                assert!(part.chain(RowOf { key: b"another", ..row }).is_none());
                assert!(part.chain(RowOf { table: 3, ..row }).is_none());
            }
        }
    }
}
