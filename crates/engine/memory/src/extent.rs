//! Extents: large pieces of a region that a memory server allocates on call [ZB17 §5.3].
//!
//! Decisions:
//! - docs/decisions/0042-tables-and-indexes-have-memory-labels-of-their-own.md
//! - docs/decisions/0044-free-extents-are-merged-and-split.md

use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Note, Reply, Service, ServiceId};
use layout::{GlobalPtr, NodeId, RegionId, WORD_BYTES, region};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The service that allocates and frees extents.
pub const EXTENT_SERVICE: ServiceId = ServiceId(1);
const ALLOCATE: u64 = 1;
const FREE: u64 = 2;
const USAGE: u64 = 3;
const FREE_LABEL: u64 = 4;
const POPULATE: u64 = 5;
/// A region keeps one part in this number in reserve for updates and deletes.
const RESERVE_SHARE: u64 = 16;
/// Most bytes of a reserve.
const RESERVE_BYTES_MAX: u64 = 16 << 20;
/// Smallest region with a reserve; only tests have smaller ones.
const RESERVED_REGION_BYTES_MIN: u64 = 8 << 20;
/// A free piece below this size does not count for the reserve: a version buffer of long rows
/// would not fit.
const RESERVED_PIECE_BYTES_MIN: u64 = 16 * 1024;
/// Words zeroed by one verb when an extent is freed.
const ZERO_WORDS: u32 = 16 * 1024;

/// The use of memory: a table's number, or 0 for the system itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Label(pub u64);

/// The reason for a request, which decides how much of a server's reserve it may take.
///
/// A delete needs memory before it frees any: the deleted version stays in a version buffer until
/// no snapshot needs it. If inserts could take everything, a full server would stay full for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// New rows, index entries, values and tables: nothing of the reserve.
    Growth,
    /// Old versions of updated rows. A label gets at most a quarter of what is left for the others.
    Update,
    /// Old versions of deleted rows. A label gets at most as much as is left for the others.
    Delete,
}

impl Need {
    /// A label may hold at most the rest of the reserve divided by this.
    fn divisor(self) -> u64 {
        match self {
            Self::Growth => u64::MAX,
            Self::Update => 4,
            Self::Delete => 1,
        }
    }

    fn number(self) -> u64 {
        match self {
            Self::Growth => 0,
            Self::Update => 1,
            Self::Delete => 2,
        }
    }

    fn from_number(number: u64) -> Result<Self, CallError> {
        let needs = [Self::Growth, Self::Update, Self::Delete];
        needs.into_iter().find(|need| need.number() == number).ok_or(CallError::Malformed("a need"))
    }
}

/// Bytes allocated for one label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    pub label: Label,
    pub bytes: u64,
}

/// Why no extent was allocated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// No memory server has room.
    #[error(
        "memory servers are full: {wanted_bytes} bytes were wanted, the fullest has {free_bytes} of {region_bytes} bytes left; give the servers more memory or drop tables"
    )]
    Full { wanted_bytes: u64, free_bytes: u64, region_bytes: u64 },
    /// The call to the memory server failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// The extents of one region: best fit among freed memory, otherwise fresh memory from a rising
/// mark.
pub struct Extents {
    region: RegionId,
    state: Mutex<State>,
}

struct State {
    region_bytes: u64,
    mark: u64,
    /// End of the memory that was touched in advance.
    touched: u64,
    /// Zeroed free memory below the mark: offset and bytes of each piece, with no two adjacent.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<Label, BTreeMap<u64, u64>>,
    /// Bytes that only updates and deletes get.
    reserve_bytes: u64,
    /// Extents taken from the reserve, by offset: label and bytes.
    reserved: BTreeMap<u64, (Label, u64)>,
}

impl Extents {
    /// All of a region except its header.
    pub fn new(region: RegionId, region_bytes: u64) -> Self {
        let reserve_bytes = match region_bytes {
            ..RESERVED_REGION_BYTES_MIN => 0,
            _ => (region_bytes / RESERVE_SHARE).min(RESERVE_BYTES_MAX),
        };
        let state = State {
            region_bytes,
            mark: region::HEADER_BYTES,
            touched: 0,
            free: BTreeMap::new(),
            used: BTreeMap::new(),
            reserve_bytes,
            reserved: BTreeMap::new(),
        };
        Self { region, state: Mutex::new(state) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
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

    /// Like [`Self::allocate`], but fails in a simulated world that injects full memory.
    pub fn allocate_in<E: Env>(
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
        self.allocate(bytes, label, need)
    }

    /// Reserves the fresh memory up to `bytes` bytes beyond all touched memory. Returns its start,
    /// its size, and how many of its bytes were touched before.
    fn begin_populating(&self, bytes: u64) -> (u64, u64, u64) {
        let mut state = self.lock();
        let start = state.mark;
        let touched = state.touched.max(start);
        let pages = bytes.next_multiple_of(region::HEADER_BYTES);
        // Half of the free memory stays available for concurrent allocations.
        let end_max = start + (state.region_bytes - start) / 2;
        state.mark = touched.saturating_add(pages).min(end_max).max(start);
        (start, state.mark - start, touched.min(state.mark) - start)
    }

    fn end_populating(&self, start: u64, bytes: u64) {
        let mut state = self.lock();
        state.touched = state.touched.max(start + bytes);
        if bytes > 0 {
            state.add_free(start, bytes);
        }
    }

    /// Removes the extent at `offset` from `label`'s list; returns its size.
    fn forget(&self, offset: u64, label: Label) -> Option<u64> {
        let mut state = self.lock();
        let bytes = state.used.get_mut(&label)?.remove(&offset)?;
        state.reserved.remove(&offset);
        Some(bytes)
    }

    /// Adds a zeroed extent to the free memory.
    fn recycle(&self, offset: u64, bytes: u64) {
        let mut state = self.lock();
        state.add_free(offset, bytes);
        debug_assert!(state.is_consistent());
    }

    fn extents_of(&self, label: Label) -> Vec<u64> {
        self.lock().used.get(&label).map(|held| held.keys().copied().collect()).unwrap_or_default()
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

impl State {
    /// Bytes of the free pieces of at least `least_bytes` bytes.
    fn free_bytes(&self, least_bytes: u64) -> u64 {
        let pieces = self.free.values().filter(|&&bytes| bytes >= least_bytes);
        pieces.sum::<u64>() + self.region_bytes - self.mark
    }

    /// Checks a request against the reserve: returns whether it takes memory from the reserve, or
    /// an error if `need` does not allow that.
    fn check_reserve(&self, bytes: u64, label: Label, need: Need) -> Result<bool, AllocateError> {
        let least_bytes = match need {
            Need::Growth => RESERVED_PIECE_BYTES_MIN,
            Need::Update | Need::Delete => bytes.min(RESERVED_PIECE_BYTES_MIN),
        };
        let free_bytes = self.free_bytes(least_bytes);
        let left_bytes = free_bytes.saturating_sub(bytes);
        if left_bytes >= self.reserve_bytes {
            return Ok(false);
        }
        let of_label = self.reserved.values().filter(|&&(holder, _)| holder == label);
        let drawn_bytes = bytes + of_label.map(|&(_, bytes)| bytes).sum::<u64>();
        if need != Need::Growth && drawn_bytes <= left_bytes / need.divisor() {
            return Ok(true);
        }
        Err(self.full(bytes))
    }

    /// The error for a request for `wanted_bytes`. It names the bytes that a request for growth
    /// would get.
    fn full(&self, wanted_bytes: u64) -> AllocateError {
        let fresh_bytes = self.region_bytes - self.mark;
        let largest = self.free.values().copied().fold(fresh_bytes, u64::max);
        let free_bytes = match self.reserve_bytes {
            0 => largest,
            reserve_bytes => {
                let free_bytes = self.free_bytes(RESERVED_PIECE_BYTES_MIN);
                largest.min(free_bytes.saturating_sub(reserve_bytes))
            }
        };
        AllocateError::Full { wanted_bytes, free_bytes, region_bytes: self.region_bytes }
    }

    /// Takes the smallest free piece that is large enough; the rest of it stays free.
    fn take_free(&mut self, bytes: u64) -> Option<u64> {
        let fits = self.free.iter().filter(|&(_, &free)| free >= bytes);
        let (&offset, &free) = fits.min_by_key(|&(_, &free)| free)?;
        self.free.remove(&offset);
        if free > bytes {
            self.free.insert(offset + bytes, free - bytes);
        }
        Some(offset)
    }

    /// Adds a free piece, merged with adjacent ones; if it reaches the mark, lowers the mark to its
    /// start.
    fn add_free(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut end) = (offset, offset + bytes);
        assert!(bytes > 0 && end <= self.mark, "memory above the mark was never allocated");
        assert!(self.free.range(start..end).next().is_none(), "memory is freed once");
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free >= start
        {
            assert!(before + free == start, "memory is freed once");
            self.free.remove(&before);
            start = before;
        }
        if let Some(free) = self.free.remove(&end) {
            end += free;
        }
        if end == self.mark {
            self.mark = start;
        } else {
            self.free.insert(start, end - start);
        }
    }

    /// Whether every byte below the mark belongs to at most one extent or free piece. For
    /// assertions.
    fn is_consistent(&self) -> bool {
        let used = self.used.values().flatten();
        let mut pieces: Vec<(u64, u64)> =
            used.chain(&self.free).map(|(at, bytes)| (*at, *bytes)).collect();
        pieces.sort_unstable();
        let is_apart = |pair: &[(u64, u64)]| pair[0].0 + pair[0].1 <= pair[1].0;
        let end = pieces.last().map_or(0, |(at, bytes)| at + bytes);
        pieces.windows(2).all(is_apart) && end <= self.mark && self.mark <= self.region_bytes
    }

    fn take_fresh(&mut self, bytes: u64) -> Result<u64, AllocateError> {
        if bytes > self.region_bytes - self.mark {
            return Err(self.full(bytes));
        }
        let offset = self.mark;
        self.mark += bytes;
        Ok(offset)
    }
}

/// Handles allocation calls of compute servers.
pub struct ExtentService(pub Arc<Extents>);

impl<E: Env> Service<E> for ExtentService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut reader = Reader::new(request, "the extent service");
            match reader.number()? {
                ALLOCATE => {
                    let (bytes, label) = (reader.number()?, Label(reader.number()?));
                    self.allocate(env, bytes, label, Need::from_number(reader.number()?)?)
                }
                FREE => {
                    let offset = GlobalPtr::from_word(reader.number()?).offset();
                    self.free(env, offset, Label(reader.number()?)).await
                }
                FREE_LABEL => {
                    let label = Label(reader.number()?);
                    for offset in self.0.extents_of(label) {
                        self.free(env, offset, label).await?;
                    }
                    Ok(Vec::new())
                }
                POPULATE => {
                    let (start, bytes, touched) = self.0.begin_populating(reader.number()?);
                    let from = GlobalPtr::new(self.0.region, start + touched);
                    zero(env, from, bytes - touched).await?;
                    self.0.end_populating(start, bytes);
                    Ok(Vec::new())
                }
                USAGE => Ok(self.usage()),
                _ => Err(CallError::Malformed("the extent service")),
            }
        })
    }
}

impl ExtentService {
    fn allocate<E: Env>(
        &self,
        env: &E,
        bytes: u64,
        label: Label,
        need: Need,
    ) -> Result<Vec<u8>, CallError> {
        match self.0.allocate_in(env, bytes, label, need) {
            Ok(ptr) => Ok(Writer::new().number(ptr.word()).finish()),
            Err(AllocateError::Full { wanted_bytes, free_bytes, region_bytes }) => {
                Ok(Writer::new()
                    .number(0)
                    .number(wanted_bytes)
                    .number(free_bytes)
                    .number(region_bytes)
                    .finish())
            }
            Err(AllocateError::Call(error)) => Err(error),
        }
    }

    async fn free<E: Env>(&self, env: &E, offset: u64, label: Label) -> Result<Vec<u8>, CallError> {
        let Some(bytes) = self.0.forget(offset, label) else {
            return Err(CallError::Refused(format!(
                "no extent of label {} starts at {offset:#x}",
                label.0
            )));
        };
        let at = GlobalPtr::new(self.0.region, offset);
        env.note(|| Note::FreesExtent { at, bytes });
        zero(env, at, bytes).await?;
        self.0.recycle(offset, bytes);
        Ok(Vec::new())
    }

    fn usage(&self) -> Vec<u8> {
        let usage = self.0.usage();
        usage
            .iter()
            .fold(Writer::new(), |writer, part| writer.number(part.label.0).number(part.bytes))
            .finish()
    }
}

/// Zeroes freed memory, because allocation returns zeroed extents.
async fn zero<E: Env>(env: &E, start: GlobalPtr, bytes: u64) -> Result<(), CallError> {
    let words = bytes / WORD_BYTES;
    let mut batch = fabric::Batch::new();
    let mut done = 0;
    while done < words {
        batch.reset();
        let count = ZERO_WORDS.min((words - done) as u32);
        let span = batch.reserve(count);
        batch.words_mut(span).fill(0);
        batch.write(start.add_words(done), span);
        let node = env.node_of(start.region());
        batch = env.execute(batch).await.map_err(|_| CallError::Unreachable(node))?;
        done += u64::from(count);
    }
    Ok(())
}

/// Allocates an extent of at least `bytes` bytes on `node`.
pub async fn allocate_extent<E: Env>(
    env: &E,
    node: NodeId,
    bytes: u64,
    label: Label,
) -> Result<GlobalPtr, AllocateError> {
    allocate_extent_for(env, node, bytes, label, Need::Growth).await
}

/// Requests an extent of at least `bytes` bytes from `node`.
pub async fn allocate_extent_for<E: Env>(
    env: &E,
    node: NodeId,
    bytes: u64,
    label: Label,
    need: Need,
) -> Result<GlobalPtr, AllocateError> {
    let request = Writer::new().number(ALLOCATE).number(bytes).number(label.0);
    let request = request.number(need.number()).finish();
    let answer = env.call(node, EXTENT_SERVICE, request).await?;
    let mut reader = Reader::new(&answer, "an allocation");
    let ptr = GlobalPtr::from_word(reader.number()?);
    if ptr.is_null() {
        let (wanted_bytes, free_bytes) = (reader.number()?, reader.number()?);
        return Err(AllocateError::Full {
            wanted_bytes,
            free_bytes,
            region_bytes: reader.number()?,
        });
    }
    Ok(ptr)
}

pub async fn free_extent<E: Env>(env: &E, ptr: GlobalPtr, label: Label) -> Result<(), CallError> {
    let request = Writer::new().number(FREE).number(ptr.word()).number(label.0).finish();
    env.call(env.node_of(ptr.region()), EXTENT_SERVICE, request).await.map(drop)
}

/// Frees all extents of `label` on `node`, after the table was dropped and its last reader has
/// ended.
pub async fn free_label<E: Env>(env: &E, node: NodeId, label: Label) -> Result<(), CallError> {
    let request = Writer::new().number(FREE_LABEL).number(label.0).finish();
    env.call(node, EXTENT_SERVICE, request).await.map(drop)
}

/// Touches the next `bytes` bytes that `node` will allocate, so that no transaction pays for the
/// first touch.
pub async fn populate<E: Env>(env: &E, node: NodeId, bytes: u64) -> Result<(), CallError> {
    let request = Writer::new().number(POPULATE).number(bytes).finish();
    env.call(node, EXTENT_SERVICE, request).await.map(drop)
}

/// Allocated bytes on `node`, by label.
pub async fn usage<E: Env>(env: &E, node: NodeId) -> Result<Vec<Usage>, CallError> {
    let answer = env.call(node, EXTENT_SERVICE, Writer::new().number(USAGE).finish()).await?;
    let mut reader = Reader::new(&answer, "memory usage");
    let mut usage = Vec::new();
    while !reader.is_empty() {
        usage.push(Usage { label: Label(reader.number()?), bytes: reader.number()? });
    }
    Ok(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{Fabric, LocalWorld, WorldConfig, run_now};

    #[test]
    fn freed_extents_are_zeroed_and_full_memory_is_an_error() {
        let world =
            LocalWorld::new(&WorldConfig { server_bytes: vec![1 << 20], seed: 1 }).expect("memory");
        let extents = Arc::new(Extents::new(RegionId(0), 1 << 20));
        world.register(NodeId(0), EXTENT_SERVICE, Arc::new(ExtentService(extents)));
        let env = world.endpoint();
        let ask = |bytes| run_now(allocate_extent(&env, NodeId(0), bytes, Label(7)));
        let first = ask(64 * 1024).expect("there is room");
        let mut batch = fabric::Batch::new();
        batch.write_word(first, 9);
        run_now(env.execute(batch)).expect("inside the region");
        let error = ask(1 << 20).expect_err("the region is smaller");
        assert!(error.to_string().contains("memory servers are full"), "{error}");
        assert_eq!(run_now(usage(&env, NodeId(0))).expect("usage")[0].bytes, 64 * 1024);
        run_now(free_extent(&env, first, Label(7))).expect("it was allocated");
        assert!(run_now(free_extent(&env, first, Label(7))).is_err());
        assert_eq!(ask(64 * 1024).expect("there is room"), first);
        for _ in 0..3 {
            run_now(populate(&env, NodeId(0), 100 * 1024)).expect("there is room");
        }
        let second = ask(64 * 1024).expect("there is room");
        assert_eq!(second.offset() - first.offset(), 64 * 1024, "touched memory is free");
        ask((1 << 20) - 3 * 64 * 1024).expect("all of it is free");
        let mut batch = fabric::Batch::new();
        let span = batch.read(first, 1);
        let batch = run_now(env.execute(batch)).expect("inside the region");
        assert_eq!(batch.words(span), [0]);
    }

    #[test]
    fn adjacent_free_pieces_merge_and_serve_any_size() {
        let page = region::HEADER_BYTES;
        let extents = Extents::new(RegionId(0), 9 * page);
        let take = |pages: u64| {
            extents.allocate(pages * page, Label(1), Need::Growth).map(GlobalPtr::offset)
        };
        let give = |offset: u64| {
            let bytes = extents.forget(offset, Label(1)).expect("it was allocated");
            extents.recycle(offset, bytes);
        };
        let taken =
            [take(1), take(2), take(3), take(1), take(1)].map(|at| at.expect("there is room"));
        let error = take(1).expect_err("all is allocated");
        assert!(matches!(error, AllocateError::Full { free_bytes: 0, .. }), "{error}");
        // The free pieces at 1, 3 and 2 become one of 6 pages, but the smallest piece that fits is
        // taken.
        give(taken[0]);
        give(taken[2]);
        assert_eq!(take(3), Ok(taken[2]), "the smallest piece that is large enough");
        give(taken[2]);
        give(taken[1]);
        let error = take(7).expect_err("six pages are free");
        assert!(matches!(error, AllocateError::Full { free_bytes, .. } if free_bytes == 6 * page));
        assert_eq!((take(5), take(1)), (Ok(taken[0]), Ok(taken[0] + 5 * page)));
        // Free memory at the end becomes fresh again.
        give(taken[4]);
        give(taken[3]);
        give(taken[0]);
        give(taken[0] + 5 * page);
        assert_eq!(take(8), Ok(taken[0]));
    }

    #[test]
    fn growth_leaves_a_reserve_that_every_label_can_draw_on() {
        let (region_bytes, page) = (16 << 20, region::HEADER_BYTES);
        let reserve = region_bytes / RESERVE_SHARE;
        let extents = Extents::new(RegionId(0), region_bytes);
        let error = extents.allocate(region_bytes, Label(1), Need::Growth).expect_err("too much");
        let AllocateError::Full { free_bytes, .. } = error else { panic!("{error}") };
        assert_eq!(free_bytes, region_bytes - page - reserve);
        extents.allocate(free_bytes, Label(1), Need::Growth).expect("it is free");
        assert!(extents.allocate(page, Label(1), Need::Growth).is_err(), "the reserve stays");
        let draw = |label, need| {
            let pages = (0..).take_while(|_| extents.allocate(page, label, need).is_ok()).count();
            pages as u64 * page
        };
        // One fifth: an update stops at a quarter of what is left. One half: a delete stops at what
        // is left.
        assert_eq!(draw(Label(1), Need::Update), (reserve / 5).next_multiple_of(page) - page);
        assert_eq!(draw(Label(1), Need::Delete) / page, reserve / 2 / page - 51);
        for label in 2..6 {
            assert!(draw(Label(label), Need::Delete) >= 8 * page, "label {label} gets a part");
        }
        assert!(extents.allocate(page, Label(6), Need::Growth).is_err());
        for label in 1..6 {
            for offset in extents.extents_of(Label(label)) {
                let bytes = extents.forget(offset, Label(label)).expect("it was allocated");
                extents.recycle(offset, bytes);
            }
        }
        extents.allocate(free_bytes, Label(1), Need::Growth).expect("all is free again");
    }
    #[test]
    fn free_pieces_of_the_least_size_count_for_growth() {
        let (region_bytes, piece) = (RESERVED_REGION_BYTES_MIN, RESERVED_PIECE_BYTES_MIN);
        let extents = Extents::new(RegionId(0), region_bytes);
        let take = || extents.allocate(piece, Label(1), Need::Growth).ok();
        let taken: Vec<GlobalPtr> = std::iter::from_fn(take).collect();
        // The last one stays, so that no piece becomes fresh memory.
        let others = &taken[..taken.len() - 1];
        let freed: Vec<GlobalPtr> = others.iter().copied().step_by(2).collect();
        for extent in &freed {
            let bytes = extents.forget(extent.offset(), Label(1)).expect("it was allocated");
            extents.recycle(extent.offset(), bytes);
        }
        assert_eq!(std::iter::from_fn(take).count(), freed.len(), "as many as were freed");
    }

    #[test]
    fn a_label_that_was_freed_gets_as_much_of_the_reserve_as_before() {
        let (region_bytes, page) = (RESERVED_REGION_BYTES_MIN, region::HEADER_BYTES);
        let extents = Extents::new(RegionId(0), region_bytes);
        let growth_bytes = region_bytes - page - region_bytes / RESERVE_SHARE;
        extents.allocate(growth_bytes, Label(1), Need::Growth).expect("it is free");
        let draw = || {
            let take = || extents.allocate(page, Label(2), Need::Delete).ok();
            let taken: Vec<GlobalPtr> = std::iter::from_fn(take).collect();
            for extent in &taken {
                let bytes = extents.forget(extent.offset(), Label(2)).expect("it was allocated");
                extents.recycle(extent.offset(), bytes);
            }
            taken.len()
        };
        let first = draw();
        assert!(first > 0, "a label can draw on the reserve");
        assert_eq!([draw(), draw()], [first, first]);
    }
}
