//! The version mover: a thread of a data server that copies the oldest versions of full buffers to
//! the overflow region, and so makes room for new ones [ZB17 5.1].
//!
//! The paper says that it copies continuously, but not how it finds the versions to copy, nor what
//! a transaction does whose place in a buffer is not yet free. Our mover reads all rings of headers
//! again and again, and moves versions out of rings that are more than half full. A transaction
//! that finds no free place asks it by a message to move the versions of its record now, and
//! continues.
//!
//! Versions are collected when the overflow region is full: the oldest, if they were moved longer
//! ago than the longest transaction takes. The paper sets the deleted bit of such versions and
//! frees their memory later; ours lets new versions overwrite them, and a reader that comes too
//! late finds another owner there.

use super::design::{Design, RecordWords, Slot};
use super::header::Header;
use super::overflow::{ENTRY_HEAD, OverflowRegion};
use crate::Work;
use crate::message::{Malformed, Reader};
use fabric::{Batch, Env, FabricError, Reply, Service, ServiceId};
use layout::RegionId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The service of a data server's mover.
pub(super) const MOVE: ServiceId = ServiceId(222);
/// Number of words of rings that one read fetches.
const LOOK_WORDS: u64 = 4096;

pub struct Mover {
    design: Arc<Design>,
    region: RegionId,
    overflow: Mutex<OverflowRegion>,
    /// Records whose versions are being moved, by the thread or on request.
    busy: Mutex<BTreeSet<(u32, u64)>>,
}

/// An old version that must be moved.
struct Leaving {
    place: u64,
    header: Header,
}

/// The versions of a ring that must be moved, oldest first, from the counter and the headers.
fn leaving(ring: &[u64]) -> Vec<Leaving> {
    let (counter, headers) = (ring[0], &ring[1..]);
    let versions = headers.len() as u64;
    let staying = |&place: &u64| {
        let header = Header(headers[place as usize]);
        header.is_version() && !header.is_moved()
    };
    let places = (counter.saturating_sub(versions)..counter).map(|number| number % versions);
    let unmoved: Vec<u64> = places.filter(staying).collect();
    let excess = unmoved.len().saturating_sub((versions / 2) as usize);
    let leave = |&place: &u64| Leaving { place, header: Header(headers[place as usize]) };
    unmoved[..excess].iter().map(leave).collect()
}

impl Mover {
    /// The mover of the data server of `region`. Versions stay in the overflow region for at least
    /// `kept_ns`.
    pub fn new(design: Arc<Design>, region: RegionId, kept_ns: u64) -> Self {
        let overflow = Mutex::new(OverflowRegion::new(region, design.overflow, kept_ns));
        Self { design, region, overflow, busy: Mutex::default() }
    }

    /// The thread: scans all rings every `pause_ns` while `goes_on` returns true. `work` is called
    /// with the number of moved versions.
    ///
    /// # Errors
    /// Those of the fabric.
    pub async fn run<E: Env>(
        &self,
        env: E,
        work: Work<E>,
        pause_ns: u64,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), FabricError> {
        while goes_on() {
            for table in 0..self.design.tables.len() as u32 {
                self.look(&env, work, table).await?;
            }
            env.sleep_ns(pause_ns).await;
        }
        Ok(())
    }

    /// Scans all rings of a table once.
    async fn look<E: Env>(&self, env: &E, work: Work<E>, number: u32) -> Result<(), FabricError> {
        let table = self.design.tables[number as usize];
        if table.versions == 0 {
            return Ok(());
        }
        let ring_words = table.ring_words();
        let each = (LOOK_WORDS / ring_words).max(1);
        let (mut batch, mut first) = (Batch::new(), 0);
        while first < table.slots() {
            let count = each.min(table.slots() - first);
            batch.reset();
            let at = table.ring(Slot { region: self.region, number: first });
            let span = batch.read(at, (count * ring_words) as u32);
            batch = env.execute(batch).await?;
            let rings = (first..).zip(batch.words(span).chunks_exact(ring_words as usize));
            let full = rings.filter(|(_, ring)| ring[0] > 0 && !leaving(ring).is_empty());
            let full: Vec<u64> = full.map(|(slot, _)| slot).collect();
            for slot in full {
                self.move_versions(env, work, (number, slot)).await?;
            }
            first += count;
        }
        Ok(())
    }

    /// Moves versions of a record, unless that is under way.
    async fn move_versions<E: Env>(
        &self,
        env: &E,
        work: Work<E>,
        record: (u32, u64),
    ) -> Result<(), FabricError> {
        if !self.busy.lock().expect("no holder panics").insert(record) {
            return Ok(());
        }
        let moved = self.move_alone(env, work, record).await;
        self.busy.lock().expect("no holder panics").remove(&record);
        moved
    }

    async fn move_alone<E: Env>(
        &self,
        env: &E,
        work: Work<E>,
        (number, slot): (u32, u64),
    ) -> Result<(), FabricError> {
        let table = &self.design.tables[number as usize];
        let slot = Slot { region: self.region, number: slot };
        let mut batch = Batch::new();
        let counter = batch.read(table.ring(slot), 1);
        // A version exists when the counter counts it, but a read that began earlier may miss it.
        let mut batch = env.execute(batch).await?;
        let counter = batch.words(counter)[0];
        let ring = batch.read(table.ring(slot), table.ring_words() as u32);
        let older = batch.read(table.slot(slot).add_words(RecordWords::OVERFLOW), 1);
        let mut batch = env.execute(batch).await?;
        batch.words_mut(ring)[0] = counter;
        let leaving = leaving(batch.words(ring));
        let mut older = batch.words(older)[0];
        batch.clear_verbs();
        let read =
            |version: &Leaving| batch.read(table.old_data(slot, version.place), table.data_words);
        let data: Vec<_> = leaving.iter().map(read).collect();
        let mut batch = env.execute(batch).await?;
        batch.clear_verbs();
        let words = ENTRY_HEAD + u64::from(table.data_words);
        let mut moved = Vec::new();
        for (version, data) in leaving.iter().zip(data) {
            let place = self.overflow.lock().expect("no holder panics").place(words, env.now_ns());
            let Some(place) = place else { break };
            let head = [older, table.slot(slot).word(), version.header.0];
            let content = batch.words(data).to_vec();
            let entry = batch.put(&[&head, &content[..]].concat());
            batch.write(place, entry);
            older = place.word();
            moved.push(version);
        }
        if moved.is_empty() {
            return Ok(());
        }
        batch.write_word(table.slot(slot).add_words(RecordWords::OVERFLOW), older);
        for version in &moved {
            let at = table.ring(slot).add_words(1 + version.place);
            batch.write_word(at, version.header.moved().0);
        }
        work(env, moved.len() as u64);
        env.execute(batch).await.map(drop)
    }
}

/// The service of the mover: requests name records, as tables and slots, whose versions are to be
/// moved now.
pub(super) struct MoveService<E> {
    pub(super) mover: Arc<Mover>,
    pub(super) work: Work<E>,
}

impl<E: Env> Service<E> for MoveService<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let from = &mut Reader::new(request);
            while !from.is_empty() {
                let (table, slot) = (from.u32()?, from.u64()?);
                let tables = &self.mover.design.tables;
                if tables.get(table as usize).is_none_or(|table| slot >= table.slots()) {
                    return Err(Malformed.into());
                }
                // Its own memory exists as long as it does.
                let _ = self.mover.move_versions(env, self.work, (table, slot)).await;
            }
            Ok(Vec::new())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leave_until_half_of_the_buffer_is_free() {
        let version = |timestamp| Header::new(0, timestamp, false);
        let ring = |counter, headers: [Header; 4]| {
            let words = [[Header(counter)].as_slice(), &headers].concat();
            let words: Vec<u64> = words.iter().map(|header| header.0).collect();
            leaving(&words).iter().map(|leaving| leaving.place).collect::<Vec<_>>()
        };
        let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(version);
        let none = Header::NONE;
        assert!(ring(2, [one, two, none, none]).is_empty(), "half of it is free");
        assert_eq!(ring(3, [one, two, three, none]), [0]);
        assert_eq!(ring(5, [five, two.moved(), three, four]), [2]);
        assert_eq!(ring(5, [five, two, three, four]), [1, 2]);
    }
}
