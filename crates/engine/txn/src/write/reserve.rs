//! Version buffers from the reserve that memory servers keep for updates and deletes.
//!
//! All lanes of a compute server share these buffers, apart from the lanes' own pools. If one lane
//! kept them, or if a row kept one after its update, later deletes would find none.

use crate::abort::Abort;
use crate::lane::LaneInner;
use crate::read::access::{Access, AccessId, State};
use fabric::{Env, Note};
use layout::{GlobalPtr, NodeId, WORD_BYTES, region};
use memory::extent::allocate_extent_for;
use memory::{AllocateError, Label, Need};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, RwLock};

/// After memory ran short, each of this number of commits runs a round of garbage collection.
const SHORT_COMMITS: u64 = 256;

/// Table and server of a buffer. All buffers of a table have one size.
type Kind = (Label, NodeId);

/// The reserved buffers of a compute server.
#[derive(Default)]
pub(crate) struct ReservedBuffers {
    /// Whether there are any buffers. Lanes read it without the lock.
    is_used: AtomicBool,
    buffers: RwLock<BTreeMap<Kind, Buffers>>,
}

#[derive(Default)]
struct Buffers {
    all: BTreeSet<GlobalPtr>,
    free: Mutex<Vec<GlobalPtr>>,
}

const UNPOISONED: &str = "no holder of reserved buffers panics";

impl ReservedBuffers {
    fn take(&self, kind: Kind) -> Option<GlobalPtr> {
        if !self.is_used.load(Relaxed) {
            return None;
        }
        let buffers = self.buffers.read().expect(UNPOISONED);
        buffers.get(&kind)?.free.lock().expect(UNPOISONED).pop()
    }

    /// Cuts an extent of `bytes` bytes into buffers of `buffer_bytes` bytes. Returns the first.
    fn add(&self, kind: Kind, extent: GlobalPtr, bytes: u64, buffer_bytes: u64) -> GlobalPtr {
        assert!(buffer_bytes <= bytes, "an extent holds at least one buffer");
        let mut buffers = self.buffers.write().expect(UNPOISONED);
        let of_kind = buffers.entry(kind).or_default();
        let free = of_kind.free.get_mut().expect(UNPOISONED);
        for number in 0..bytes / buffer_bytes {
            let buffer = extent.add_words(number * buffer_bytes / WORD_BYTES);
            assert!(of_kind.all.insert(buffer), "an extent is allocated once");
            if number > 0 {
                free.push(buffer);
            }
        }
        self.is_used.store(true, Relaxed);
        extent
    }

    /// Takes a buffer back. Returns `false` if it does not belong to the reserve.
    #[inline]
    pub fn give_back(&self, kind: Kind, buffer: GlobalPtr) -> bool {
        self.is_used.load(Relaxed) && self.give_back_used(kind, buffer)
    }

    #[cold]
    fn give_back_used(&self, kind: Kind, buffer: GlobalPtr) -> bool {
        // Most buffers are not of the reserve: lanes that free them only share the lock.
        let buffers = self.buffers.read().expect(UNPOISONED);
        let Some(of_kind) = buffers.get(&kind) else { return false };
        let is_reserved = of_kind.all.contains(&buffer);
        if is_reserved {
            let mut free = of_kind.free.lock().expect(UNPOISONED);
            debug_assert!(!free.contains(&buffer), "a buffer is freed once");
            free.push(buffer);
        }
        is_reserved
    }

    /// Removes the buffers of dropped tables.
    pub fn retain(&self, is_there: impl Fn(Label) -> bool) {
        if self.is_used.load(Relaxed) {
            let mut buffers = self.buffers.write().expect(UNPOISONED);
            buffers.retain(|kind, _| is_there(kind.0));
            self.is_used.store(!buffers.is_empty(), Relaxed);
        }
    }
}

impl<E: Env> LaneInner<E> {
    /// Finds a version buffer when the lane's pool has none: in a new extent, then in the reserve,
    /// then among those that garbage collection frees.
    #[cold]
    pub(crate) async fn find_buffer(
        &mut self,
        access: AccessId,
        server: NodeId,
    ) -> Result<GlobalPtr, Abort> {
        let Access { table, state, .. } = self.txn.accesses[access];
        let words = self.open.info(table).buffer.words();
        let lane_table = self.open.table_mut(table);
        match lane_table.buffers_on(server).allocate(&self.env, words).await {
            Ok(buffer) => return Ok(buffer),
            Err(error @ AllocateError::Call(_)) => return Err(error.into()),
            Err(_) => self.note_short_memory(),
        }
        if let Some(buffer) = self.reserved_buffer(access, server).await {
            return Ok(self.noted(buffer, words));
        }
        // A lane that shares its slot must not collect here: other lanes wait for its commit.
        if self.identity.shared_slot.is_none() {
            self.advance_horizon().await?;
            let detached = self.insist(async |lane: &mut Self| lane.detach_buffers().await).await;
            if detached.is_err() {
                if !self.is_upkeep_undone {
                    self.identity.poison();
                }
                return Err(Abort::Unreachable);
            }
            let pool = self.open.table_mut(table).buffers_on(server);
            if let Some(buffer) = pool.take(&self.env, words) {
                return Ok(buffer);
            }
            let kind = (self.open.info(table).label, server);
            let is_kept = self.open.info(table).design.keeps_versions && state != State::Deleted;
            if !is_kept && let Some(buffer) = self.shared.reserved.take(kind) {
                return Ok(self.noted(buffer, words));
            }
        }
        Err(Abort::OutOfMemory)
    }

    /// Notes that this buffer is in use, as pools do.
    fn noted(&self, buffer: GlobalPtr, words: u32) -> GlobalPtr {
        self.env.note(|| Note::Allocates { at: buffer, words });
        buffer
    }

    async fn reserved_buffer(&mut self, access: AccessId, server: NodeId) -> Option<GlobalPtr> {
        let Access { table, state, .. } = self.txn.accesses[access];
        let info = self.open.info(table);
        let (kind, buffer_bytes) =
            ((info.label, server), u64::from(info.buffer.words()) * WORD_BYTES);
        let need = if state == State::Deleted { Need::Delete } else { Need::Update };
        // A row that keeps its buffer would take it from the reserve for good.
        let is_kept = info.design.keeps_versions && need == Need::Update;
        if !is_kept && let Some(buffer) = self.shared.reserved.take(kind) {
            return Some(buffer);
        }
        let bytes = buffer_bytes.next_multiple_of(region::HEADER_BYTES);
        let extent = allocate_extent_for(&self.env, server, bytes, kind.0, need).await.ok()?;
        Some(match is_kept {
            true => extent,
            false => self.shared.reserved.add(kind, extent, bytes, buffer_bytes),
        })
    }

    /// Makes the next commits collect garbage, because memory is short.
    pub(crate) fn note_short_memory(&mut self) {
        self.garbage.short_until = self.statistics.commits + SHORT_COMMITS;
    }
}
