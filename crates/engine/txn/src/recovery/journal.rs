//! The journal of a lane: where it is, and what is written to it. The bytes are those of
//! [`layout::journal`].

use crate::database::Shared;
use crate::snapshot::slot::lane_of;
use fabric::{Batch, Env, FabricError, Span};
use layout::journal::{self, ENTRY, ENTRY_HEAD, Entry, NEXT, WORDS};
use layout::oracle::LANE_JOURNAL;
use layout::{GlobalPtr, RegionId, SlotId, WORD_BYTES, region};
use memory::extent::allocate_extent_for;
use memory::{AllocateError, Label, Need};

/// Size of a lane's first journal; a larger entry gets a journal of the next power of two.
const JOURNAL_BYTES_MIN: u64 = 8 << 10;
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
}

impl LaneJournal {
    /// The journal of a lane: that of an earlier owner of its slot, or a new one.
    pub async fn open<E: Env>(
        env: &E,
        shared: &Shared<E>,
        slot: SlotId,
    ) -> Result<Self, JournalError> {
        let (at, words) = match journals_of(env, shared, slot).await?.first() {
            Some(newest) => (newest.at, newest.words),
            None => allocate(env, shared, slot, JOURNAL_BYTES_MIN).await?,
        };
        Ok(Self { slot, at, words, id: env.random() })
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
            (self.at, self.words) = allocate(env, shared, self.slot, bytes).await?;
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
}

/// The journals of a slot, the newest first.
pub(super) async fn journals_of<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
) -> Result<Vec<Found>, FabricError> {
    let mut found = Vec::new();
    let mut batch = Batch::new();
    let first = batch.read(lane_of(shared, slot).add_words(u64::from(LANE_JOURNAL)), 1);
    batch = env.execute(batch).await?;
    let mut at = GlobalPtr::from_word(batch.word(first.at));
    while !at.is_null() {
        batch.reset();
        let head = batch.read(at, ENTRY);
        batch = env.execute(batch).await?;
        let word = |word: u32| batch.word(head.at + word);
        found.push(Found { at, words: word(WORDS) });
        at = GlobalPtr::from_word(word(NEXT));
    }
    Ok(found)
}

/// Allocates a journal, and puts it at the start of its slot's list.
async fn allocate<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
    bytes: u64,
) -> Result<(GlobalPtr, u64), JournalError> {
    let server = shared.servers[usize::from(slot.0) % shared.servers.len()];
    // Without journals no row could be deleted when memory is full.
    let at = allocate_extent_for(env, server, bytes, Label(0), Need::Delete).await?;
    let words = bytes / WORD_BYTES;
    let newest = lane_of(shared, slot).add_words(u64::from(LANE_JOURNAL));
    let mut next = 0;
    let mut batch = Batch::new();
    loop {
        batch.reset();
        let head = batch.put(&[next, words]);
        batch.write(at, head);
        batch.fence();
        let swap = batch.compare_and_swap(newest, next, at.word());
        batch = env.execute(batch).await?;
        if batch.swapped(swap) {
            return Ok((at, words));
        }
        next = batch.found(swap);
    }
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
    let at = journal.at.add_words(u64::from(ENTRY));
    let head = read_words(env, at, ENTRY_HEAD as u64).await?;
    // The size is not checked yet: it may be that of an entry that was being written.
    let words = journal::size_of(&head).min(journal.words.saturating_sub(u64::from(ENTRY)));
    let entry = read_words(env, at, words).await?;
    Ok(Entry::read(&entry).is_some().then_some(entry))
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

/// Whether the mark of a lane on any server has this id.
pub(super) async fn is_marked<E: Env>(
    env: &E,
    shared: &Shared<E>,
    slot: SlotId,
    id: u64,
) -> Result<bool, FabricError> {
    let mut batch = Batch::new();
    let marks = shared.servers.iter().map(|server| region::mark(RegionId(server.0), slot));
    let reads: Vec<Span> = marks.map(|mark| batch.read(mark, 1)).collect();
    let batch = env.execute(batch).await?;
    Ok(reads.iter().any(|read| batch.word(read.at) == id))
}
