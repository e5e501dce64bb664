//! The version mover: empties a slot of a version buffer into the overflow region [ZB17 §5.1].
//!
//! Decisions:
//! - docs/decisions/0012-a-ring-slot-is-freed-by-the-horizon-or-by-the-version-mover.md
//! - docs/decisions/0051-the-version-mover-walks-an-overflow-list-only-now-and-then.md

use crate::extent::{AllocateError, Extents, Label, Need};
use crate::message::{Reader, Writer};
use fabric::{Batch, CallError, Env, Mutant, Note, Reply, Service, ServiceId};
use layout::row::{BufferLayout, Cover, LINK, MOVED_FLAG, OVERFLOW_HEAD, RowLayout};
use layout::{GlobalPtr, VersionWord, region};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// The service that moves versions.
pub const MOVER_SERVICE: ServiceId = ServiceId(4);
const MOVE: u64 = 1;
const DROP: u64 = 2;
const FORGET: u64 = 3;
/// Bytes of an extent of the overflow region.
const OVERFLOW_EXTENT_BYTES: u64 = 256 * 1024;
/// Largest number of overflow entries of one row; a writer that would exceed it gets
/// VersionBufferFull.
pub const OVERFLOW_COUNT_MAX: u32 = 4096;
/// Smallest number of moves between two walks over a list. Walking after as many moves as the list
/// is long costs one step per move.
const MOVES_PER_WALK_MIN: u32 = 16;

/// A writer's request, made while it holds the row's lock.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveRequest {
    pub buffer: GlobalPtr,
    pub layout: BufferLayout,
    pub slot: u32,
    /// The table of the row.
    pub label: Label,
    /// Counter per timestamp slot that every active snapshot covers: versions superseded at or
    /// before it are collected. The caller has raised the collected-up-to word.
    pub horizon: Vec<u64>,
}

/// Moves versions on call. The caller holds the row's lock, so each buffer has one mover at a time.
pub struct MoverService {
    extents: Arc<Extents>,
    /// One lock for all, since threads that move versions of hot rows contend for every lock. Never
    /// held across an await.
    state: Mutex<State>,
    counts: Arc<MoverCounts>,
}

/// Statistics of a mover. Any thread may read them.
#[derive(Debug, Default)]
pub struct MoverCounts {
    /// Versions moved to overflow lists.
    pub moved: AtomicU64,
    /// Versions dropped from overflow lists, because no snapshot needs them.
    pub dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    pools: BTreeMap<(Label, u32), OverflowPool>,
    /// Per buffer: moves until the next walk over its list. It only affects timing, so it may be
    /// lost.
    walks: BTreeMap<(Label, GlobalPtr), u32>,
    /// Batches of finished calls, reused so that a call allocates no arena.
    batches: Vec<Batch>,
}

#[derive(Default)]
struct OverflowPool {
    free: Vec<GlobalPtr>,
    bump: GlobalPtr,
    bump_words: u64,
}

impl OverflowPool {
    fn take(&mut self, words: u32) -> Option<GlobalPtr> {
        if let Some(entry) = self.free.pop() {
            return Some(entry);
        }
        let rest = self.bump_words.checked_sub(u64::from(words))?;
        let entry = self.bump;
        (self.bump, self.bump_words) = (entry.add_words(u64::from(words)), rest);
        Some(entry)
    }

    /// Adds an extent. Another handler may have added one meanwhile: what is left of that is cut
    /// into entries.
    fn add(&mut self, extent: GlobalPtr, extent_words: u64, words: u32) {
        while self.bump_words >= u64::from(words) {
            self.free.push(self.bump);
            self.bump = self.bump.add_words(u64::from(words));
            self.bump_words -= u64::from(words);
        }
        (self.bump, self.bump_words) = (extent, extent_words);
    }
}

impl MoverService {
    /// A mover that allocates its overflow region from `extents` and counts in `counts`.
    pub fn new(extents: Arc<Extents>, counts: Arc<MoverCounts>) -> Self {
        Self { extents, state: Mutex::default(), counts }
    }

    /// Adds the unused memory of the overflow region to the state of a memory server.
    pub fn save(&self, mut writer: Writer) -> Writer {
        let state = self.state();
        writer = writer.number(state.pools.len() as u64);
        for ((label, words), pool) in &state.pools {
            let free: Vec<u64> = pool.free.iter().map(|ptr| ptr.word()).collect();
            writer = writer.number(label.0).number(u64::from(*words));
            writer = writer.number(pool.bump.word()).number(pool.bump_words).words(&free);
        }
        writer
    }

    /// Takes over what [`Self::save`] has described.
    ///
    /// # Errors
    /// The description ends early.
    pub fn restore(&self, reader: &mut Reader<'_>) -> Result<(), CallError> {
        let mut state = self.state();
        for _ in 0..reader.number()? {
            let (label, words) = (Label(reader.number()?), reader.number()? as u32);
            let (bump, bump_words) = (GlobalPtr::from_word(reader.number()?), reader.number()?);
            let free = reader.words()?.into_iter().map(GlobalPtr::from_word).collect();
            state.pools.insert((label, words), OverflowPool { free, bump, bump_words });
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Allocates an entry. If this move has dropped the whole list, the pool has memory even on a
    /// full server. The allocation must not fail then, because the list's head still leads to a
    /// freed entry.
    async fn allocate<E: Env>(
        &self,
        env: &E,
        label: Label,
        words: u32,
    ) -> Result<GlobalPtr, CallError> {
        if let Some(entry) = self.state().pools.entry((label, words)).or_default().take(words) {
            return Ok(entry);
        }
        let (extent, bytes) = self
            .overflow_extent(env, label, u64::from(words) * layout::WORD_BYTES)
            .await
            .map_err(|error| CallError::Refused(error.to_string()))?;
        let mut state = self.state();
        let pool = state.pools.entry((label, words)).or_default();
        pool.add(extent, bytes / layout::WORD_BYTES, words);
        Ok(pool.take(words).expect("an extent has room for an entry"))
    }

    /// Allocates an extent of the overflow region; returns its size too. If memory is full, takes
    /// the pages of a single entry from the reserve.
    async fn overflow_extent<E: Env>(
        &self,
        env: &E,
        label: Label,
        entry_bytes: u64,
    ) -> Result<(GlobalPtr, u64), AllocateError> {
        let bytes = OVERFLOW_EXTENT_BYTES.max(entry_bytes);
        match self.extents.allocate_in(env, bytes, label, Need::Growth).await {
            Err(AllocateError::Full { .. }) => {
                let bytes = entry_bytes.next_multiple_of(region::HEADER_BYTES);
                let extent = self.extents.allocate_in(env, bytes, label, Need::Update).await?;
                Ok((extent, bytes))
            }
            extent => Ok((extent?, bytes)),
        }
    }

    /// Drops the state of a table whose extents are being freed.
    pub fn forget(&self, label: Label) {
        let mut state = self.state();
        state.pools.retain(|(held, _), _| *held != label);
        state.walks.retain(|(held, _), _| *held != label);
    }

    fn take_batch(&self) -> Batch {
        self.state().batches.pop().unwrap_or_default()
    }

    fn put_back(&self, mut batch: Batch) {
        batch.reset();
        self.state().batches.push(batch);
    }

    /// Counts a move; returns a batch for it, and whether it is time to walk over the list.
    fn begin_move(&self, request: &MoveRequest) -> (Batch, bool) {
        let mut state = self.state();
        let key = (request.label, request.buffer);
        let left = state.walks.entry(key).or_insert(MOVES_PER_WALK_MIN);
        *left = left.saturating_sub(1);
        let is_walk_due = *left == 0;
        (state.batches.pop().unwrap_or_default(), is_walk_due)
    }

    /// Records that the list was walked and `kept` entries were left.
    fn record_walk(&self, request: &MoveRequest, kept: u32) {
        let mut state = self.state();
        let key = (request.label, request.buffer);
        match kept {
            0 => drop(state.walks.remove(&key)),
            _ => {
                // The next walk comes at the latest when the list is full.
                let room = OVERFLOW_COUNT_MAX.saturating_sub(kept).max(1);
                state.walks.insert(key, kept.max(MOVES_PER_WALK_MIN).min(room));
            }
        }
    }

    /// Copies the slot's version to a new overflow entry, makes it the head of the list, and marks
    /// the slot as moved; from time to time drops the tail that no snapshot needs. Returns the
    /// number of dropped entries.
    async fn move_version<E: Env>(&self, env: &E, request: &MoveRequest) -> Result<u64, CallError> {
        let words = request.layout.row.words();
        let slot = request.buffer.add_words(u64::from(request.layout.slot(request.slot)));
        let head = request.buffer.add_words(u64::from(OVERFLOW_HEAD));
        let (mut batch, is_walk_due) = self.begin_move(request);
        let head_word = batch.read(head, 1);
        let image = batch.read_row(slot, words, Cover::All);
        batch = execute(env, batch).await?;
        let version = VersionWord::from_word(batch.words(image)[1]);
        if version == VersionWord::TORN {
            return Err(CallError::Refused("another writer is writing the slot".to_owned()));
        }
        let mut next = batch.words(head_word)[0];
        let mut dropped = 0;
        if is_walk_due {
            let kept;
            (kept, dropped) =
                self.trim(env, &mut batch, request, GlobalPtr::from_word(next)).await?;
            self.record_walk(request, kept);
            if kept >= OVERFLOW_COUNT_MAX {
                return Err(CallError::Refused("the overflow list of this row is full".to_owned()));
            }
            if kept == 0 {
                next = 0;
            }
        }
        let entry = self.allocate(env, request.label, words).await?;
        env.note(|| Note::Allocates { at: entry, words });
        debug_assert!(entry.word() != next, "an entry that is in the list is not free");
        batch.clear_verbs();
        // The entry is private until the head points to it; its header word links to the next
        // entry.
        batch.write_word(entry, next);
        batch.write_row(entry, image, LINK, Cover::All);
        if !env.mutant(Mutant::MoverSkipLink) {
            batch.write_word(head, entry.word());
        }
        batch.write_word(slot, MOVED_FLAG);
        self.put_back(execute(env, batch).await?);
        self.counts.moved.fetch_add(1, Relaxed);
        Ok(dropped)
    }

    /// Drops the tail of the list that no snapshot needs; all of it, if the horizon covers its
    /// head.
    async fn drop_list<E: Env>(&self, env: &E, request: &MoveRequest) -> Result<u64, CallError> {
        let head = request.buffer.add_words(u64::from(OVERFLOW_HEAD));
        let mut batch = Batch::new();
        let head_word = batch.read(head, 1);
        batch = execute(env, batch).await?;
        let first = GlobalPtr::from_word(batch.words(head_word)[0]);
        let (kept, dropped) = self.trim(env, &mut batch, request, first).await?;
        self.record_walk(request, kept);
        if kept == 0 {
            batch.clear_verbs();
            batch.write_word(head, 0);
            execute(env, batch).await?;
        }
        Ok(dropped)
    }

    /// Cuts the list before the first entry whose successor every snapshot sees; returns the
    /// numbers of kept and dropped entries. If none was kept, the caller empties the list's head.
    async fn trim<E: Env>(
        &self,
        env: &E,
        batch: &mut Batch,
        request: &MoveRequest,
        head: GlobalPtr,
    ) -> Result<(u32, u64), CallError> {
        let mut freed = Vec::new();
        let mut kept = 0;
        let walked = self.walk(env, batch, request, head, (&mut kept, &mut freed)).await;
        let dropped = freed.len() as u64;
        // A failed walk may have cut the list already: its tail is then free. If it has kept
        // nothing, the head still leads to all entries, so none is free.
        if walked.is_ok() || kept > 0 {
            let words = request.layout.row.words();
            freed.iter().for_each(|&at| env.note(|| Note::Frees { at, words }));
            self.state().pools.entry((request.label, words)).or_default().free.append(&mut freed);
            self.counts.dropped.fetch_add(dropped, Relaxed);
        }
        walked.map(|()| (kept, dropped))
    }

    /// Walks the list from the newest entry: counts the kept entries, cuts the list behind the last
    /// of them, and adds the others to `freed`.
    async fn walk<E: Env>(
        &self,
        env: &E,
        batch: &mut Batch,
        request: &MoveRequest,
        head: GlobalPtr,
        (kept, freed): (&mut u32, &mut Vec<GlobalPtr>),
    ) -> Result<(), CallError> {
        let mut previous = GlobalPtr::NULL;
        let mut entry = head;
        let mut step = self.take_batch();
        while !entry.is_null() && *kept + freed.len() as u32 <= 2 * OVERFLOW_COUNT_MAX {
            step.reset();
            let header = step.read(entry, 3);
            step = execute(env, step).await?;
            let [next, _version, successor] = *step.words(header) else {
                unreachable!("three words")
            };
            let successor = VersionWord::from_word(successor);
            let counter =
                request.horizon.get(usize::from(successor.slot().0)).copied().unwrap_or(0);
            let is_collected = successor.counter() <= counter;
            if !freed.is_empty() || is_collected || env.mutant(Mutant::MoverDropNeeded) {
                if freed.is_empty() && !previous.is_null() {
                    batch.clear_verbs();
                    batch.write_word(previous, 0);
                    let cut = std::mem::take(batch);
                    *batch = execute(env, cut).await?;
                }
                freed.push(entry);
            } else {
                *kept += 1;
                previous = entry;
            }
            debug_assert!(next != entry.word(), "an entry does not lead to itself");
            entry = GlobalPtr::from_word(next);
        }
        self.put_back(step);
        Ok(())
    }
}

async fn execute<E: Env>(env: &E, batch: Batch) -> Result<Batch, CallError> {
    env.execute(batch).await.map_err(|error| CallError::Refused(error.to_string()))
}

impl<E: Env> Service<E> for MoverService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            if let Some(label) = decode_forget(request)? {
                self.forget(label);
                return Ok(Vec::new());
            }
            let (what, request) = decode(request)?;
            let dropped = match what {
                MOVE => self.move_version(env, &request).await?,
                _ => self.drop_list(env, &request).await?,
            };
            Ok(Writer::new().number(dropped).finish())
        })
    }
}

fn decode_forget(message: &[u8]) -> Result<Option<Label>, CallError> {
    let mut reader = Reader::new(message, "the version mover");
    match reader.number()? {
        FORGET => {
            // The region that the label's extents were in.
            reader.number()?;
            Ok(Some(Label(reader.number()?)))
        }
        _ => Ok(None),
    }
}

/// Notifies the mover of `node` that a table was dropped and its extents are being freed.
pub async fn forget<E: Env>(env: &E, node: layout::NodeId, label: Label) -> Result<(), CallError> {
    let place = GlobalPtr::new(node.region(), 0);
    let message = Writer::new().number(FORGET).number(place.word()).number(label.0).finish();
    env.call(node, MOVER_SERVICE, message).await.map(drop)
}

fn decode(message: &[u8]) -> Result<(u64, MoveRequest), CallError> {
    let mut reader = Reader::new(message, "the version mover");
    let what = reader.number()?;
    let buffer = GlobalPtr::from_word(reader.number()?);
    let key_words = reader.number()? as u32;
    let payload_words = reader.number()? as u32;
    let checksummed = reader.number()? != 0;
    let slots = reader.number()? as u32;
    let slot = reader.number()? as u32;
    let label = Label(reader.number()?);
    let horizon = reader.words()?;
    if !(MOVE..=DROP).contains(&what)
        || slot >= slots
        || slots > layout::row::BUFFER_SLOTS_MAX
        || key_words > 8
    {
        return Err(CallError::Malformed("the version mover"));
    }
    let row = RowLayout { key_words, payload_words, checksummed };
    Ok((what, MoveRequest { buffer, layout: BufferLayout { row, slots }, slot, label, horizon }))
}

/// Has the buffer's server empty a slot. The caller holds the row's lock. Returns the number of
/// overflow entries that were collected meanwhile.
pub async fn move_version<E: Env>(env: &E, request: &MoveRequest) -> Result<u64, CallError> {
    let answer = call(env, request, MOVE).await?;
    Reader::new(&answer, "a moved version").number()
}

/// Drops the overflow list as far as the horizon covers it, without moving a version.
pub async fn drop_overflow<E: Env>(env: &E, request: &MoveRequest) -> Result<u64, CallError> {
    let answer = call(env, request, DROP).await?;
    Reader::new(&answer, "a dropped list").number()
}

async fn call<E: Env>(env: &E, request: &MoveRequest, what: u64) -> Result<Vec<u8>, CallError> {
    let row = request.layout.row;
    let message = Writer::new()
        .number(what)
        .number(request.buffer.word())
        .number(u64::from(row.key_words))
        .number(u64::from(row.payload_words))
        .number(u64::from(row.checksummed))
        .number(u64::from(request.layout.slots))
        .number(u64::from(request.slot))
        .number(request.label.0)
        .words(&request.horizon)
        .finish();
    env.call(request.buffer.region().server(), MOVER_SERVICE, message).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{LocalWorld, WorldConfig, run_now};
    use layout::{NodeId, RegionId};

    #[test]
    fn moves_and_drops_are_counted() {
        let bytes = 1 << 20;
        let world = LocalWorld::new(&WorldConfig { server_bytes: vec![bytes], seed: 1 });
        let world = world.expect("memory");
        let extents = Arc::new(Extents::new(RegionId(0), bytes));
        let buffer = extents.allocate(4096, Label(1), Need::Growth).expect("there is room");
        let counts = Arc::new(MoverCounts::default());
        let service = MoverService::new(extents, counts.clone());
        world.register(NodeId(0), MOVER_SERVICE, Arc::new(service));
        let env = world.endpoint();
        let row = RowLayout { key_words: 1, payload_words: 1, checksummed: false };
        let layout = BufferLayout { row, slots: 2 };
        let request = MoveRequest { buffer, layout, slot: 0, label: Label(1), horizon: Vec::new() };
        for slot in [0, 1] {
            let dropped = run_now(move_version(&env, &MoveRequest { slot, ..request.clone() }));
            assert_eq!(dropped, Ok(0));
        }
        assert_eq!((counts.moved.load(Relaxed), counts.dropped.load(Relaxed)), (2, 0));
        assert_eq!(
            run_now(drop_overflow(&env, &request)),
            Ok(2),
            "every snapshot covers counter 0"
        );
        assert_eq!((counts.moved.load(Relaxed), counts.dropped.load(Relaxed)), (2, 2));
    }
}
