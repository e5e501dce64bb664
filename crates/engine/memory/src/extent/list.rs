//! The list of a region's extents in the region itself. With replicas each extent is written there
//! before anybody gets it, so a server that takes the region over knows all of them, and what is
//! free.
//!
//! The memory that pools of the dead server's handlers had not used yet stays with its label.
//!
//! Decision: docs/decisions/0355-free-memory-follows-its-region.md

use super::{AllocateError, Extents, Label, Need};
use fabric::{Batch, CallError, Env, FabricError};
use layout::extent_list::{
    KNOWN_PAGE, LABEL_MAX, PAGE_BYTES, REGION_BYTES_MAX, extent_of, first_page, list_bytes,
    page_word,
};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};

/// Words of the list that are read at once.
const READ_WORDS: u64 = 16 * 1024;

/// The list of a region as it was read.
#[derive(Default)]
struct List {
    /// Label, offset and bytes of each extent.
    extents: Vec<(Label, u64, u64)>,
    /// The end of the last page that has ever been allocated.
    end: u64,
}

impl Extents {
    /// The extents of a region whose server has died, as its list has them.
    ///
    /// # Errors
    /// If the region cannot be read, or its list contradicts itself.
    pub async fn take_over<E: Env>(env: &E, region: RegionId) -> Result<Self, CallError> {
        let unreachable = |_| CallError::Unreachable(region.server());
        let (listed, created) = read_sizes(env, region).await.map_err(unreachable)?;
        // Without a list nothing was allocated.
        let extents = Self::new(region, if listed == 0 { created } else { listed });
        extents.keep_list();
        let list = read_list(env, region, listed).await.map_err(unreachable)?;
        let mut state = extents.lock();
        state.is_taken_over = true;
        let mut at = state.mark;
        for (label, offset, bytes) in list.extents {
            // An extent that was given back on its way to this replica, and is part of a later one.
            let end = offset + bytes;
            if offset < at && end <= at {
                continue;
            }
            let offset = offset.max(at);
            let bytes = end - offset;
            if offset > at {
                state.free.insert(at, offset - at);
            }
            state.used.entry(label).or_default().insert(offset, bytes);
            at = at.max(offset + bytes);
        }
        (state.mark, state.touched) = (at, at);
        match state.is_consistent() {
            true => drop(state),
            false => return Err(CallError::Malformed("the list of a region's extents")),
        }
        Ok(extents)
    }

    /// The extents of a region in which nothing is free.
    pub fn used_up(region: RegionId, bytes: u64) -> Self {
        let extents = Self::new(region, bytes);
        let mut state = extents.lock();
        (state.mark, state.touched, state.keeps_list) = (bytes, bytes, true);
        drop(state);
        extents
    }

    /// Keeps the list of the extents from now on; nothing was allocated yet, or there is one.
    pub fn keep_list(&self) {
        let mut state = self.lock();
        if !state.keeps_list {
            assert!(state.mark == region::HEADER_BYTES, "all extents are in the list");
            assert!(state.region_bytes <= REGION_BYTES_MAX, "a region with replicas is too large");
            state.mark += list_bytes(state.region_bytes).min(state.region_bytes - state.mark);
            state.keeps_list = true;
        }
    }

    /// Whether another server has allocated memory of the region.
    pub(super) fn is_taken_over(&self) -> bool {
        self.lock().is_taken_over
    }

    /// Allocates an extent as [`Self::allocate`] does, and lists it if there are replicas. Fails in
    /// a simulated world that injects full memory.
    ///
    /// # Errors
    /// If memory is full, or if the list cannot be written. Then the extent stays with its label.
    pub async fn allocate_in<E: Env>(
        &self,
        env: &E,
        bytes: u64,
        label: Label,
        need: Need,
    ) -> Result<GlobalPtr, AllocateError> {
        if env.refuses_memory() {
            let region_bytes = self.lock().region_bytes;
            return Err(AllocateError::Full { wanted_bytes: bytes, free_bytes: 0, region_bytes });
        }
        if label.0 > LABEL_MAX {
            return Err(CallError::Malformed("a label").into());
        }
        let extent = self.allocate(bytes, label, need)?;
        if env.has_replicas() {
            let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
            self.list(env, extent, first_page(label.0, bytes), bytes).await?;
        }
        Ok(extent)
    }

    /// Notes in the list that the extent at `offset`, which is zeroed, is free.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(super) async fn unlist<E: Env>(
        &self,
        env: &E,
        extent: GlobalPtr,
        bytes: u64,
    ) -> Result<(), CallError> {
        self.list(env, extent, KNOWN_PAGE, bytes).await
    }

    async fn list<E: Env>(
        &self,
        env: &E,
        extent: GlobalPtr,
        first: u64,
        bytes: u64,
    ) -> Result<(), CallError> {
        let region_bytes = {
            let state = self.lock();
            assert!(state.keeps_list, "the list has room since before the first extent");
            state.region_bytes
        };
        let last = extent.offset() + bytes - PAGE_BYTES;
        let mut batch = Batch::new();
        batch.write_word(region::listed(self.region), region_bytes);
        if last > extent.offset() {
            batch.write_word(page_word(self.region, last), KNOWN_PAGE);
        }
        batch.write_word(page_word(self.region, extent.offset()), first);
        let written = env.execute(batch).await;
        written.map(drop).map_err(|_| CallError::Unreachable(self.region.server()))
    }
}

/// The end of all memory of a region that was ever allocated, as its list has it. All behind it is
/// zero.
///
/// # Errors
/// If the region cannot be read.
pub async fn listed_end<E: Env>(env: &E, region: RegionId) -> Result<u64, FabricError> {
    let (listed, _) = read_sizes(env, region).await?;
    let end = read_list(env, region, listed).await?.end;
    Ok(end.max(region::HEADER_BYTES + list_bytes(listed)))
}

/// The bytes of a region that are listed, and with which it was created.
async fn read_sizes<E: Env>(env: &E, region: RegionId) -> Result<(u64, u64), FabricError> {
    let mut batch = Batch::new();
    let header = batch.read(GlobalPtr::new(region, 0), region::LISTED_WORD as u32 + 1);
    let batch = env.execute(batch).await?;
    let header = batch.words(header);
    Ok((header[region::LISTED_WORD as usize], header[region::BYTES_WORD as usize]))
}

async fn read_list<E: Env>(
    env: &E,
    region: RegionId,
    region_bytes: u64,
) -> Result<List, FabricError> {
    let pages = region_bytes / PAGE_BYTES;
    let (mut list, mut batch) = (List::default(), Batch::new());
    let mut page = 0;
    while page < pages {
        batch.reset();
        let count = READ_WORDS.min(pages - page);
        let words = batch.read(page_word(region, page * PAGE_BYTES), count as u32);
        batch = env.execute(batch).await?;
        for (word, page) in batch.words(words).iter().zip(page..) {
            if *word != 0 {
                list.end = (page + 1) * PAGE_BYTES;
            }
            if let Some((label, bytes)) = extent_of(*word) {
                list.extents.push((Label(label), page * PAGE_BYTES, bytes));
            }
        }
        page += count;
    }
    Ok(list)
}

const _: () = assert!(PAGE_BYTES.is_multiple_of(WORD_BYTES));
