//! Reading [ZB17 5.1, 5.2]: one read of the record's bucket gets the current version; if the
//! snapshot does not include it, the reader gets the headers of its old versions, then the data of
//! the right one, and then reads the overflow region.

use super::design::{BUCKET_SLOTS, RecordWords, Slot, Table, key_word};
use super::header::Header;
use super::overflow::{ENTRY_HEAD, ENTRY_HEADER, OWNER};
use super::transaction::{Found, Stop, Transaction};
use crate::row_key::RowKey;
use fabric::{Batch, Env};
use layout::GlobalPtr;
use std::collections::BTreeSet;

/// Number of later buckets in which a record may be.
const PROBES_MAX: u64 = 64;
/// Number of versions of the overflow region that a read follows.
const OVERFLOW_VERSIONS_MAX: u64 = 64;

/// The result of a search for a key in a bucket.
enum Seen {
    /// The record, in its current version.
    Record(Found),
    /// Not found; the first free place.
    Free(Slot),
    /// Not found, and no free place.
    Full,
}

/// The result of a search in the headers of old versions.
enum Old {
    /// The snapshot includes this one, at this place of the ring.
    InRing(Header, u64),
    /// It may be in the overflow region.
    Moved,
    /// The record is newer than the snapshot.
    None,
}

/// Searches a bucket, whose places are used in order, for a key; free places in `taken` count as
/// used.
fn look(words: &[u64], (table, first): (&Table, Slot), key: u64, taken: &BTreeSet<Slot>) -> Seen {
    let slots = words.chunks_exact(table.slot_words() as usize);
    for (number, record) in (first.number..).zip(slots) {
        let slot = Slot { number, ..first };
        let header = Header(record[RecordWords::HEADER as usize]);
        // The transaction that has claimed the place of a new record has not written its key: it
        // may be this one.
        if !header.is_version() {
            if taken.contains(&slot) {
                continue;
            }
            return Seen::Free(slot);
        }
        if record[RecordWords::KEY as usize] == key {
            let data = record[RecordWords::DATA as usize..].to_vec();
            return Seen::Record(Found { slot, header: header.unlocked(), data });
        }
    }
    Seen::Full
}

/// The newest version of a ring that the snapshot includes; they are in the order of writing.
fn newest(ring: &[u64], vector: &[u64]) -> Old {
    let (counter, headers) = (ring[0], &ring[1..]);
    let versions = headers.len() as u64;
    let numbers = (counter.saturating_sub(versions)..counter).rev();
    let mut places = numbers.map(|number| number % versions);
    let is_visible = |place: &u64| Header(headers[*place as usize]).is_visible(vector);
    match places.find(is_visible) {
        Some(place) => Old::InRing(Header(headers[place as usize]), place),
        None if counter > versions => Old::Moved,
        None => Old::None,
    }
}

impl<E: Env> Transaction<'_, E> {
    /// Finds records that were not found before, or the places for them.
    pub(super) async fn find(&mut self, keys: &[RowKey]) -> Result<(), Stop> {
        let mut wanted: Vec<RowKey> =
            keys.iter().copied().filter(|key| !self.found.contains_key(key)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        (self.client.work)(&self.client.env, wanted.len() as u64);
        let (mut old, mut probe) = (Vec::new(), 0);
        while !wanted.is_empty() {
            if probe > PROBES_MAX {
                return Err(Stop::NoRoom(wanted[0].table));
            }
            wanted = self.probe(&wanted, probe, &mut old).await?;
            probe += 1;
        }
        if old.is_empty() { Ok(()) } else { self.find_old(&old).await }
    }

    /// Reads, for each key, the bucket at this distance after its own. Returns the keys for which
    /// it is full of other records; records whose current version is not the snapshot's go to
    /// `old`.
    async fn probe(
        &mut self,
        wanted: &[RowKey],
        probe: u64,
        old: &mut Vec<RowKey>,
    ) -> Result<Vec<RowKey>, Stop> {
        let design = self.client.design.clone();
        let mut batch = Batch::new();
        let read = |&key: &RowKey| {
            let (server, bucket) = design.bucket(key);
            let table = design.table(key);
            let number = (bucket + probe) % table.buckets * BUCKET_SLOTS;
            let first = Slot { region: design.data[server], number };
            (first, batch.read(table.slot(first), table.bucket_words()))
        };
        let reads: Vec<_> = wanted.iter().map(read).collect();
        let batch = self.client.env.execute(batch).await?;
        let mut full = Vec::new();
        for (&key, (first, span)) in wanted.iter().zip(reads) {
            let bucket = (design.table(key), first);
            let found = match look(batch.words(span), bucket, key_word(key), &self.taken) {
                Seen::Record(found) => found,
                Seen::Free(slot) => Found { slot, header: Header::NONE, data: Vec::new() },
                Seen::Full => {
                    full.push(key);
                    continue;
                }
            };
            if found.header.is_version() && !found.header.is_visible(&self.vector) {
                old.push(key);
            }
            self.found.insert(key, found);
        }
        Ok(full)
    }

    /// Replaces current versions by those of the snapshot.
    async fn find_old(&mut self, keys: &[RowKey]) -> Result<(), Stop> {
        let design = self.client.design.clone();
        (self.client.work)(&self.client.env, keys.len() as u64);
        let mut batch = Batch::new();
        let read = |key: &RowKey| {
            let table = design.table(*key);
            batch.read(table.ring(self.found[key].slot), table.ring_words() as u32)
        };
        let rings: Vec<_> = keys.iter().map(read).collect();
        let mut batch = self.client.env.execute(batch).await?;
        let old: Vec<Old> =
            rings.iter().map(|&ring| newest(batch.words(ring), &self.vector)).collect();
        batch.clear_verbs();
        let mut read = |(key, old): (&RowKey, &Old)| {
            let (table, slot) = (design.table(*key), self.found[key].slot);
            match old {
                Old::InRing(_, place) => batch.read(table.old_data(slot, *place), table.data_words),
                Old::Moved => batch.read(table.slot(slot).add_words(RecordWords::OVERFLOW), 1),
                Old::None => batch.reserve(0),
            }
        };
        let spans: Vec<_> = keys.iter().zip(&old).map(&mut read).collect();
        let batch = match batch.is_empty() {
            true => batch,
            false => self.client.env.execute(batch).await?,
        };
        for ((key, old), span) in keys.iter().zip(&old).zip(spans) {
            let words = batch.words(span);
            let (header, data) = match old {
                Old::InRing(header, _) => (*header, words.to_vec()),
                Old::Moved => self.find_moved(*key, words[0]).await?,
                Old::None => (Header::NONE, Vec::new()),
            };
            let found = self.found.get_mut(key).expect("its current version was read");
            (found.header, found.data) = (header, data);
        }
        Ok(())
    }

    /// The snapshot's version in the overflow region, found by one read after another.
    async fn find_moved(&self, key: RowKey, latest: u64) -> Result<(Header, Vec<u64>), Stop> {
        let table = self.client.design.table(key);
        let owner = table.slot(self.found[&key].slot).word();
        let mut at = GlobalPtr::from_word(latest);
        for _ in 0..OVERFLOW_VERSIONS_MAX {
            if at.is_null() {
                return Ok((Header::NONE, Vec::new()));
            }
            let mut batch = Batch::new();
            let entry = batch.read(at, ENTRY_HEAD as u32 + table.data_words);
            let batch = self.client.env.execute(batch).await?;
            let entry = batch.words(entry);
            if entry[OWNER] != owner {
                break;
            }
            let header = Header(entry[ENTRY_HEADER]);
            if header.is_visible(&self.vector) {
                return Ok((header, entry[ENTRY_HEAD as usize..].to_vec()));
            }
            at = GlobalPtr::from_word(entry[0]);
        }
        Err(Stop::TooOld)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(counter: u64, headers: [u64; 3]) -> Vec<u64> {
        let header = |timestamp| match timestamp {
            0 => 0,
            timestamp => Header::new(0, timestamp, false).0,
        };
        [vec![counter], headers.map(header).to_vec()].concat()
    }

    #[test]
    fn the_newest_version_that_the_snapshot_has_is_taken() {
        let place = |ring: &[u64], covered| match newest(ring, &[covered]) {
            Old::InRing(header, place) => Some((header.timestamp(), place)),
            Old::Moved | Old::None => None,
        };
        assert_eq!(place(&ring(3, [1, 2, 3]), 2), Some((2, 1)));
        assert_eq!(place(&ring(4, [4, 2, 3]), 9), Some((4, 0)));
        assert!(matches!(newest(&ring(4, [4, 2, 3]), &[1]), Old::Moved));
        assert!(matches!(newest(&ring(2, [5, 6, 0]), &[4]), Old::None));
    }
}
