//! The bytes of a simulated file: as processes see them, and as they may be after a crash.

use crate::disk::fault::{DiskCoverage, DiskFault};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// A disk writes a sector whole or not at all.
pub(crate) const SECTOR: usize = storage::SECTOR_BYTES as usize;

/// The content of a sector after an unsynced write.
#[derive(Clone)]
struct Version {
    /// The number of the write.
    write: u64,
    bytes: [u8; SECTOR],
}

/// A file with its page cache.
#[derive(Clone, Default)]
pub(crate) struct FileState {
    /// The page cache: what processes read.
    live: Vec<u8>,
    /// The disk: what certainly survives a crash. A failed sync lets it differ from `live` although
    /// no write is pending.
    durable: Vec<u8>,
    /// For each sector with unsynced writes, its content after each of them.
    pending: BTreeMap<usize, Vec<Version>>,
    /// The lengths since the last sync, with the number of the operation.
    lengths: Vec<(u64, usize)>,
}

/// The share of unsynced writes that survives a crash or a failed sync. Extremes are more frequent
/// than chance would make them, because most programs err about all or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// Each sector, length and name with this probability in 256.
    Some(u64),
}

impl Survival {
    pub(crate) fn draw(random: &mut Random) -> Self {
        match random.up_to(7) {
            0 => Self::Nothing,
            1 => Self::Everything,
            _ => Self::Some(random.up_to(254) + 1),
        }
    }

    pub(crate) fn keeps(self, random: &mut Random) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Some(chance) => random.up_to(255) < chance,
        }
    }

    /// The number of the changes that survive, out of `count` changes of one place in their order.
    fn of(self, count: usize, random: &mut Random) -> usize {
        if self.keeps(random) { count } else { random.up_to(count as u64 - 1) as usize }
    }
}

impl FileState {
    /// A file whose bytes are all durable.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { durable: bytes.clone(), live: bytes, ..Self::default() }
    }

    pub(crate) fn live(&self) -> &[u8] {
        &self.live
    }

    pub(crate) fn is_dirty(&self) -> bool {
        !self.pending.is_empty() || !self.lengths.is_empty()
    }

    pub(crate) fn write(&mut self, write: u64, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = offset + bytes.len();
        self.lengthen(write, end);
        self.live[offset..end].copy_from_slice(bytes);
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            self.record(write, sector);
        }
    }

    pub(crate) fn lengthen(&mut self, write: u64, bytes: usize) {
        let before = self.live.len();
        if bytes <= before {
            return;
        }
        self.live.resize(bytes, 0);
        self.lengths.push((write, bytes));
        // Where a truncation left older bytes on the disk, zeros are a change like any other.
        let pending = self.pending.keys().last().map_or(0, |&sector| (sector + 1) * SECTOR);
        let end = bytes.min(pending.max(self.durable.len()));
        for sector in before / SECTOR..end.div_ceil(SECTOR) {
            self.record(write, sector);
        }
    }

    pub(crate) fn truncate(&mut self, write: u64, bytes: usize) {
        if bytes >= self.live.len() {
            return self.lengthen(write, bytes);
        }
        self.live.truncate(bytes);
        self.lengths.push((write, bytes));
    }

    fn record(&mut self, write: u64, sector: usize) {
        let bytes = sector_of(&self.live, sector);
        let versions = self.pending.entry(sector).or_default();
        match versions.last_mut() {
            Some(last) if last.write == write => last.bytes = bytes,
            _ => versions.push(Version { write, bytes }),
        }
    }

    /// Everything written becomes durable.
    pub(crate) fn sync(&mut self) {
        self.durable.resize(self.live.len(), 0);
        for sector in std::mem::take(&mut self.pending).into_keys() {
            let bytes = sector_of(&self.live, sector);
            put_sector(&mut self.durable, sector, &bytes);
        }
        self.lengths.clear();
    }

    /// A sync that fails as on Linux: some of the dirty sectors reach the disk, all count as clean,
    /// and reads still return what was written. The length is metadata, which stays dirty.
    pub(crate) fn fail_sync(&mut self, random: &mut Random) {
        let survival = Survival::draw(random);
        let lengths = std::mem::take(&mut self.lengths);
        let length = self.durable.len();
        self.durable.resize(self.live.len().max(length), 0);
        self.settle(survival, random, &mut DiskCoverage::default());
        if !lengths.is_empty() {
            self.lengths = vec![(0, length)];
            self.lengths.extend(lengths);
        }
    }

    /// Loses power: what is not synced survives in part, and the page cache is gone.
    pub(crate) fn crash(
        &mut self,
        survival: Survival,
        random: &mut Random,
        coverage: &mut DiskCoverage,
    ) {
        self.settle(survival, random, coverage);
        self.live.clone_from(&self.durable);
    }

    /// Chooses for each sector and for the length one of the states since the last sync.
    fn settle(&mut self, survival: Survival, random: &mut Random, coverage: &mut DiskCoverage) {
        let mut writes = Writes::default();
        let lengths = std::mem::take(&mut self.lengths);
        let mut length = self.durable.len();
        if !lengths.is_empty() {
            let kept = survival.of(lengths.len(), random);
            length = if kept > 0 { lengths[kept - 1].1 } else { length };
            if kept < lengths.len() {
                coverage.count(DiskFault::LostLength);
            }
        }
        let before = self.durable.len();
        let pending = std::mem::take(&mut self.pending);
        let end = pending.keys().last().map_or(0, |&sector| (sector + 1) * SECTOR);
        self.durable.resize(before.max(length).max(end), 0);
        let mut is_hole = false;
        for (sector, versions) in pending {
            let kept = survival.of(versions.len(), random);
            for (index, version) in versions.iter().enumerate() {
                writes.note(version.write, index < kept);
            }
            match kept.checked_sub(1) {
                Some(last) => put_sector(&mut self.durable, sector, &versions[last].bytes),
                None => is_hole |= sector * SECTOR >= before && sector * SECTOR < length,
            }
        }
        self.durable.truncate(length);
        if is_hole {
            coverage.count(DiskFault::LostExtension);
        }
        writes.report(coverage);
    }

    /// Changes a bit on the disk and in the page cache.
    pub(crate) fn flip(&mut self, bit: u64) {
        let at = (bit / 8) as usize;
        assert!(self.is_dirty() || self.live.len() == self.durable.len());
        self.live[at] ^= 1 << (bit % 8);
        if let Some(byte) = self.durable.get_mut(at) {
            *byte ^= 1 << (bit % 8);
        }
    }

    /// Cuts the file on the disk and in the page cache.
    pub(crate) fn cut(&mut self, bytes: usize) {
        self.sync();
        self.live.truncate(bytes);
        self.durable.truncate(bytes);
    }
}

/// The fates of writes, for the counters.
#[derive(Default)]
struct Writes {
    kept: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

impl Writes {
    fn note(&mut self, write: u64, is_kept: bool) {
        if is_kept { &mut self.kept } else { &mut self.lost }.insert(write);
    }

    fn report(&self, coverage: &mut DiskCoverage) {
        for write in &self.lost {
            coverage.count(DiskFault::LostWrite);
            if self.kept.contains(write) {
                coverage.count(DiskFault::TornWrite);
            }
        }
        if let (Some(first), Some(last)) = (self.lost.first(), self.kept.last())
            && first < last
        {
            coverage.count(DiskFault::ReorderedWrite);
        }
    }
}

fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR] {
    let mut content = [0; SECTOR];
    let from = (sector * SECTOR).min(bytes.len());
    let part = &bytes[from..bytes.len().min(from + SECTOR)];
    content[..part.len()].copy_from_slice(part);
    content
}

/// Writes the part of a sector that is in the file.
fn put_sector(bytes: &mut [u8], sector: usize, content: &[u8; SECTOR]) {
    let from = (sector * SECTOR).min(bytes.len());
    let to = bytes.len().min(from + SECTOR);
    bytes[from..to].copy_from_slice(&content[..to - from]);
}
