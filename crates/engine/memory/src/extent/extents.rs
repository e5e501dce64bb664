//! The extents of one region, by the label that holds them.

use super::reserve::reserve_bytes;
use super::{AllocateError, Label, Need, Usage};
use crate::message::{Reader, Writer};
use fabric::CallError;
use layout::{GlobalPtr, RegionId, region};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The extents of one region: best fit among freed memory, otherwise fresh memory from a rising
/// mark.
pub struct Extents {
    pub(super) region: RegionId,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) region_bytes: u64,
    pub(super) mark: u64,
    /// End of the memory that was touched in advance.
    pub(super) touched: u64,
    /// Zeroed free memory below the mark: offset and bytes of each piece, with no two adjacent.
    pub(super) free: BTreeMap<u64, u64>,
    pub(super) used: BTreeMap<Label, BTreeMap<u64, u64>>,
    /// Bytes that only updates and deletes get.
    pub(super) reserve_bytes: u64,
    /// Extents taken from the reserve, by offset: label and bytes.
    pub(super) reserved: BTreeMap<u64, (Label, u64)>,
    /// With replicas: whether the memory behind the header is kept for the list of the extents.
    pub(super) keeps_list: bool,
    /// Whether another server, which has died, has allocated memory of the region.
    pub(super) is_taken_over: bool,
}

impl Extents {
    /// All of a region except its header.
    pub fn new(region: RegionId, region_bytes: u64) -> Self {
        let state = State {
            region_bytes,
            mark: region::HEADER_BYTES,
            touched: 0,
            free: BTreeMap::new(),
            used: BTreeMap::new(),
            reserve_bytes: reserve_bytes(region_bytes),
            reserved: BTreeMap::new(),
            keeps_list: false,
            is_taken_over: false,
        };
        Self { region, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the extents panics")
    }

    /// Allocates `bytes` zeroed bytes, rounded up to whole pages.
    pub fn allocate(
        &self,
        bytes: u64,
        label: Label,
        need: Need,
    ) -> Result<GlobalPtr, AllocateError> {
        let bytes = bytes.max(1).next_multiple_of(region::HEADER_BYTES);
        let mut state = self.lock();
        let is_reserved = state.check_reserve(bytes, label, need)?;
        let offset = match state.take_free(bytes) {
            Some(offset) => offset,
            None => state.take_fresh(bytes)?,
        };
        assert!(offset >= region::HEADER_BYTES && offset + bytes <= state.region_bytes);
        let before = state.used.entry(label).or_default().insert(offset, bytes);
        assert!(before.is_none(), "an extent has one owner");
        debug_assert!(state.is_consistent());
        if is_reserved {
            state.reserved.insert(offset, (label, bytes));
        }
        Ok(GlobalPtr::new(self.region, offset))
    }

    /// Reserves the fresh memory up to `bytes` bytes beyond all touched memory. Returns its start,
    /// its size, and how many of its bytes were touched before.
    pub(super) fn begin_populating(&self, bytes: u64) -> (u64, u64, u64) {
        let mut state = self.lock();
        let start = state.mark;
        let touched = state.touched.max(start);
        let pages = bytes.next_multiple_of(region::HEADER_BYTES);
        // Half of the free memory stays available for concurrent allocations.
        let end_max = start + (state.region_bytes - start) / 2;
        state.mark = touched.saturating_add(pages).min(end_max).max(start);
        (start, state.mark - start, touched.min(state.mark) - start)
    }

    pub(super) fn end_populating(&self, start: u64, bytes: u64) {
        let mut state = self.lock();
        state.touched = state.touched.max(start + bytes);
        if bytes > 0 {
            state.add_free(start, bytes);
        }
    }

    /// Removes the extent at `offset` from `label`'s list; returns its size.
    pub(super) fn forget(&self, offset: u64, label: Label) -> Option<u64> {
        let mut state = self.lock();
        let bytes = state.used.get_mut(&label)?.remove(&offset)?;
        state.reserved.remove(&offset);
        Some(bytes)
    }

    /// Adds a zeroed extent to the free memory.
    pub(super) fn recycle(&self, offset: u64, bytes: u64) {
        let mut state = self.lock();
        state.add_free(offset, bytes);
        debug_assert!(state.is_consistent());
    }

    pub(super) fn extents_of(&self, label: Label) -> Vec<u64> {
        self.lock().used.get(&label).map(|held| held.keys().copied().collect()).unwrap_or_default()
    }

    /// The end of all memory that was ever allocated. Everything behind it is zero.
    pub fn mark(&self) -> u64 {
        self.lock().mark
    }

    /// Adds which extents are allocated to the state of a memory server.
    pub fn save(&self, writer: Writer) -> Writer {
        let state = self.lock();
        let pieces = |pieces: &BTreeMap<u64, u64>| {
            pieces.iter().flat_map(|(at, bytes)| [*at, *bytes]).collect()
        };
        let free: Vec<u64> = pieces(&state.free);
        let mut writer = writer.number(state.mark).words(&free).number(state.used.len() as u64);
        for (label, held) in &state.used {
            let held: Vec<u64> = pieces(held);
            writer = writer.number(label.0).words(&held);
        }
        let reserved = state.reserved.iter();
        let reserved: Vec<u64> =
            reserved.flat_map(|(at, (label, bytes))| [*at, label.0, *bytes]).collect();
        writer.words(&reserved)
    }

    /// The extents of a region of `region_bytes` bytes that [`Self::save`] has described.
    ///
    /// # Errors
    /// The description contradicts itself, or is of a larger region.
    pub fn restore(
        region: RegionId,
        region_bytes: u64,
        reader: &mut Reader<'_>,
    ) -> Result<Self, CallError> {
        let pairs = |words: Vec<u64>| -> BTreeMap<u64, u64> {
            words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
        };
        let (mark, free) = (reader.number()?, pairs(reader.words()?));
        let mut used = BTreeMap::new();
        for _ in 0..reader.number()? {
            used.insert(Label(reader.number()?), pairs(reader.words()?));
        }
        let reserved = reader.words()?;
        let reserved =
            reserved.chunks_exact(3).map(|three| (three[0], (Label(three[1]), three[2])));
        let reserved = reserved.collect();
        let extents = Self::new(region, region_bytes);
        let mut state = extents.lock();
        let reserve_bytes = state.reserve_bytes;
        // Its memory was touched when its contents were read.
        *state = State {
            region_bytes,
            mark,
            touched: mark,
            free,
            used,
            reserve_bytes,
            reserved,
            keeps_list: false,
            is_taken_over: false,
        };
        match state.mark >= region::HEADER_BYTES && state.is_consistent() {
            true => drop(state),
            false => return Err(CallError::Malformed("the extents of a region")),
        }
        Ok(extents)
    }

    pub fn usage(&self) -> Vec<Usage> {
        let state = self.lock();
        let sum = |(label, held): (&Label, &BTreeMap<u64, u64>)| Usage {
            label: *label,
            bytes: held.values().sum(),
        };
        state.used.iter().map(sum).collect()
    }
}
