//! The journals of a lane: where they are, and what is written to that of its commits. The bytes
//! are those of [`layout::journal`].

use crate::database::Shared;
use crate::snapshot::slot::{lane_of, replicate};
use fabric::{Batch, Env, FabricError, JournalOf, Mutant, Span, UpkeepJournal};
use layout::journal::{self, COMMITS, ENTRY, ENTRY_HEAD, Entry, KIND, NEXT, UPKEEP, WORDS};
use layout::oracle::LANE_JOURNAL;
use layout::upkeep_entry::UpkeepEntry;
use layout::{GlobalPtr, NodeId, RegionId, SlotId, WORD_BYTES, region, upkeep_entry};
use memory::extent::allocate_extent_for;
use memory::{AllocateError, Label, Need};
use std::pin::Pin;
use std::sync::Arc;

/// Size of a lane's first journal; a larger entry gets a journal of the next power of two.
const JOURNAL_BYTES_MIN: u64 = 8 << 10;
/// Size of the first journal of a lane's upkeep on each server.
const UPKEEP_BYTES_MIN: u64 = 16 << 10;
/// Maximal number of words of one write: every fabric sends them at once.
const WRITE_WORDS_MAX: usize = 8192;

/// Why a lane has no journal, or none that is large enough.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error(transparent)]
    Fabric(#[from] FabricError),
    #[error(transparent)]
    Allocate(#[from] AllocateError),
}

/// The journal of a lane.
pub(crate) struct LaneJournal {
    slot: SlotId,
    at: GlobalPtr,
    words: u64,
    /// The id of the last entry. Ids begin at random, so that no mark of an earlier owner of the
    /// slot has one of them.
    id: u64,
    upkeep: Arc<UpkeepJournal>,
}

impl LaneJournal {
    /// The journals of a lane: those of an earlier owner of its slot, or new ones.
    pub async fn open<E: Env>(
        env: &E,
        shared: &Shared<E>,
        slot: SlotId,
    ) -> Result<Self, JournalError> {
        let known = journals_of(env, shared, slot).await?;
        let (at, words) = match known.iter().find(|journal| journal.kind == COMMITS) {
            Some(newest) => (newest.at, newest.words),
            None => allocate_for_commits(env, shared, slot, JOURNAL_BYTES_MIN).await?,
        };
        let upkeep = UpkeepJournal::new(list_of(shared, slot));
        for &server in &shared.servers {
            // An entry is ahead of its batch's changes only in their own region: others may be on
            // other servers, or their replicas.
            let is_there =
                |journal: &&Found| journal.kind == UPKEEP && journal.at.region() == server.region();
            let (at, words) = match known.iter().find(is_there) {
                Some(newest) => (newest.at, newest.words),
                None => allocate(env, upkeep.list(), server, UPKEEP_BYTES_MIN, UPKEEP).await?,
            };
            upkeep.add(RegionId(server.0), at, words);
        }
        Ok(Self { slot, at, words, id: env.random(), upkeep: Arc::new(upkeep) })
    }

    /// The journal of the lane's upkeep.
    pub fn for_upkeep<E: Env>(&self) -> JournalOf<E> {
        JournalOf { journal: self.upkeep.clone(), make_room: make_room_for_upkeep }
    }

    /// The id of the next entry.
    pub fn next_id(&mut self) -> u64 {
        self.id = self.id.wrapping_add(1);
        self.id
    }

    /// The lane's mark on the server of a region.
    pub fn mark(&self, region: RegionId) -> GlobalPtr {
        region::mark(region, self.slot)
    }

    /// The word on the server of a region that tells that a commit has arrived there whole.
    pub fn end_mark(&self, region: RegionId) -> GlobalPtr {
        region::end_mark(region, self.slot)
    }

    /// Makes room for an entry.
    pub async fn make_room<E: Env>(
        &mut self,
        env: &E,
        shared: &Shared<E>,
        entry: &[u64],
    ) -> Result<(), JournalError> {
        let words = u64::from(ENTRY) + entry.len() as u64;
        if words > self.words {
            let bytes = (words * WORD_BYTES).next_power_of_two();
            (self.at, self.words) = allocate_for_commits(env, shared, self.slot, bytes).await?;
        }
        Ok(())
    }

    /// Posts the write of an entry, for which there is room.
    pub fn post(&self, batch: &mut Batch, entry: &[u64]) {
        debug_assert!(u64::from(ENTRY) + entry.len() as u64 <= self.words);
        let mut to = self.at.add_words(u64::from(ENTRY));
        for words in entry.chunks(WRITE_WORDS_MAX) {
            let span = batch.put(words);
            batch.write(to, span);
            to = to.add_words(words.len() as u64);
        }
    }
}

/// A journal that the words of a slot lead to.
pub(super) struct Found {
    pub at: GlobalPtr,
    pub words: u64,
    pub kind: u64,
}

/// The word that leads to the journals of a slot.
fn list_of<E: Env>(shared: &Shared<E>, slot: SlotId) -> GlobalPtr {
    lane_of(shared, slot).add_words(u64::from(LANE_JOURNAL))
}

/// The journals of a slot, the newest first.
pub(super) async fn journals_of<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
) -> Result<Vec<Found>, FabricError> {
    let mut found = Vec::new();
    let mut batch = Batch::new();
    let first = batch.read(readable(env, list_of(shared, slot)), 1);
    batch = env.execute(batch).await?;
    let mut at = GlobalPtr::from_word(batch.word(first.at));
    while !at.is_null() {
        batch.reset();
        let head = batch.read(readable(env, at), ENTRY);
        batch = env.execute(batch).await?;
        let word = |word: u32| batch.word(head.at + word);
        found.push(Found { at, words: word(WORDS), kind: word(KIND) });
        at = GlobalPtr::from_word(word(NEXT));
    }
    Ok(found)
}

async fn allocate_for_commits<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
    bytes: u64,
) -> Result<(GlobalPtr, u64), JournalError> {
    let server = shared.servers[usize::from(slot.0) % shared.servers.len()];
    allocate(env, list_of(shared, slot), server, bytes, COMMITS).await
}

/// Allocates a journal, and puts it at the start of its slot's list.
async fn allocate<E: Env>(
    env: &E,
    list: GlobalPtr,
    server: NodeId,
    bytes: u64,
    kind: u64,
) -> Result<(GlobalPtr, u64), JournalError> {
    // Without journals no row could be deleted when memory is full.
    let at = allocate_extent_for(env, server, bytes, Label(0), Need::Delete).await?;
    let words = bytes / WORD_BYTES;
    let mut next = 0;
    let mut batch = Batch::new();
    loop {
        batch.reset();
        let head = batch.put(&[next, words, kind]);
        batch.write(at, head);
        batch.fence();
        let swap = batch.compare_and_swap(list, next, at.word());
        batch = env.execute(batch).await?;
        if batch.swapped(swap) {
            replicate(env, batch, list, at.word()).await?;
            return Ok((at, words));
        }
        next = batch.found(swap);
    }
}

/// Makes room for an entry of upkeep: see [`fabric::MakeRoom`].
fn make_room_for_upkeep<'a, E: Env>(
    env: &'a E,
    journal: &'a UpkeepJournal,
    region: RegionId,
    words: u64,
) -> Pin<Box<dyn Future<Output = Result<(), FabricError>> + 'a>> {
    Box::pin(async move {
        let needed = 2 * words + u64::from(ENTRY);
        let bytes = (needed * WORD_BYTES).next_power_of_two().max(UPKEEP_BYTES_MIN);
        let server = region.server();
        let (at, words) = match allocate(env, journal.list(), server, bytes, UPKEEP).await {
            Ok(allocated) => allocated,
            Err(JournalError::Fabric(error)) => return Err(error),
            Err(JournalError::Allocate(_)) => return Err(FabricError::NoJournal { bytes }),
        };
        journal.add(region, at, words);
        Ok(())
    })
}

/// Begins an entry: lists follow its head.
pub(crate) fn begin_entry(entry: &mut Vec<u64>) {
    entry.clear();
    entry.resize(ENTRY_HEAD, 0);
}

/// Reads the entry of a journal, if it is whole.
pub(super) async fn read_entry<E: Env>(
    env: &E,
    journal: &Found,
) -> Result<Option<Vec<u64>>, FabricError> {
    let at = readable(env, journal.at.add_words(u64::from(ENTRY)));
    let head = read_words(env, at, ENTRY_HEAD as u64).await?;
    // The size is not checked yet: it may be that of an entry that was being written.
    let words = journal::size_of(&head).min(journal.words.saturating_sub(u64::from(ENTRY)));
    let entry = read_words(env, at, words).await?;
    Ok(Entry::read(&entry).is_some().then_some(entry))
}

/// Reads the entries of a journal of upkeep that are whole.
pub(super) async fn read_upkeep_entries<E: Env>(
    env: &E,
    journal: &Found,
) -> Result<Vec<Vec<u64>>, FabricError> {
    let room = upkeep_entry::room(journal.words);
    let mut whole = Vec::new();
    let of_place = |place| {
        [0, 1].map(|turn| upkeep_entry::place(in_region(journal.at, place), journal.words, turn))
    };
    for at in places(env, journal.at.region()).into_iter().flat_map(of_place) {
        let head = read_words(env, at, (upkeep_entry::HEAD as u64).min(room)).await?;
        // The size is not checked yet: it may be that of an entry that was being written.
        let words = upkeep_entry::size_of(&head).min(room);
        let entry = read_words(env, at, words).await?;
        if UpkeepEntry::read(&entry).is_some() {
            whole.push(entry);
        }
    }
    Ok(whole)
}

async fn read_words<E: Env>(env: &E, at: GlobalPtr, words: u64) -> Result<Vec<u64>, FabricError> {
    let mut read = Vec::with_capacity(words as usize);
    let mut batch = Batch::new();
    while (read.len() as u64) < words {
        batch.reset();
        let count = (words - read.len() as u64).min(WRITE_WORDS_MAX as u64) as u32;
        let span: Span = batch.read(at.add_words(read.len() as u64), count);
        batch = env.execute(batch).await?;
        read.extend_from_slice(batch.words(span));
    }
    Ok(read)
}

/// The primary of a region and its replicas. All of them are written, in this order backwards, so
/// each may be the only one that has a write.
pub(crate) fn places<E: Env>(env: &E, region: RegionId) -> Vec<RegionId> {
    let primary = (!env.is_closed(region)).then_some(region);
    if primary.is_some() && env.mutant(Mutant::RecoverIgnoreReplicas) {
        return vec![region];
    }
    primary.into_iter().chain(env.replicas(region)).collect()
}

pub(crate) fn in_region(at: GlobalPtr, region: RegionId) -> GlobalPtr {
    GlobalPtr::new(region, at.offset())
}

/// Where these words can be read: on a replica if their region is closed.
pub(crate) fn readable<E: Env>(env: &E, at: GlobalPtr) -> GlobalPtr {
    places(env, at.region()).first().map_or(at, |&place| in_region(at, place))
}

/// Whether the mark of a lane on any server, or on a replica, has this id.
pub(super) async fn is_marked<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
    id: u64,
) -> Result<bool, FabricError> {
    let mut batch = Batch::new();
    let regions = shared.servers.iter().flat_map(|server| places(env, RegionId(server.0)));
    let marks = regions.map(|region| region::mark(region, slot));
    let reads: Vec<Span> = marks.map(|mark| batch.read(mark, 1)).collect();
    let batch = env.execute(batch).await?;
    Ok(reads.iter().any(|read| batch.word(read.at) == id))
}
