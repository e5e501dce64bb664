//! The running transaction: its batch, the rows that it has accessed, and the buckets and leaves
//! that it has read.

use crate::abort::{Abort, TxnError};
use crate::catalog::{IndexId, TableId};
use crate::lane::batch::TransactionBatch;
use crate::lane::ids::List;
use crate::read::access::{Absence, Access, AccessId, AccessMap, KeyPlace, RowId, State, Vacancy};
use crate::read::{ACCESSES_MAX, ARENA_WORDS_MAX, access_hash, same_words};
use crate::write::savepoint::UndoLog;
use crate::write::unique::UniqueViolation;
use crate::write::{BucketSeen, LeafSeen, LeafSeenId, Owner};
use fabric::Span;
use index::tree::LeafRead;
use layout::row::KEY;
use layout::{GlobalPtr, VersionWord, leaf};

/// Words of the arena (64 MiB) above which a transaction gives up its memory when it ends.
const ROOM_WORDS_MAX: usize = 8 << 20;

/// Number of accesses that do not count any more and may stay in the map.
const STALE_MAX: usize = 1024;

/// The read set of the running transaction.
pub(crate) struct RunningTransaction {
    pub batch: TransactionBatch,
    pub accesses: List<Access>,
    pub map: AccessMap,
    pub buckets_seen: List<BucketSeen>,
    pub leaves_seen: List<LeafSeen>,
    /// Long values that the transaction has set.
    pub stage: layout::LongStage,
    /// The state of rows before they were changed, as far as savepoints need it.
    pub undo: UndoLog,
    /// The accesses and leaves from these positions on are those of the present reads. Earlier
    /// ones count only if they are written, see [`crate::snapshot::renewal`].
    pub fresh_accesses: u32,
    pub fresh_leaves: u32,
    /// The words of the arena before the present reads.
    pub fresh_words: u32,
    /// [`UndoLog::noted`] before the present reads.
    pub noted: u64,
    /// Whether the transaction has taken a second snapshot.
    pub renews: bool,
    /// Whether it will take a newer one when it goes on.
    pub will_renew: bool,
    /// The memory after the last compaction, see [`super::compaction`].
    pub compacted_bytes: usize,
    /// Number of rows read one by one; a scan counts as two. A single read needs no validation.
    pub read_count: u32,
    /// Distinguishes the row ids of one transaction from those of others.
    pub number: u32,
    pub serializable: bool,
    /// Whether only some reads are validated, and the present ones are, see
    /// [`crate::snapshot::renewal`].
    pub guards: bool,
    /// The reason why the transaction can no longer commit, if it cannot: see
    /// [`super::LaneInner::begin_statement`].
    pub doomed_by: Option<Abort>,
    /// The index to be filled: the transaction adds entries for rows that it does not change.
    pub filling: Option<IndexId>,
    /// The last unique violation of the lane; later transactions keep it.
    pub last_unique_violation: Option<Box<UniqueViolation>>,
}

impl RunningTransaction {
    /// The state before the first transaction, whose number follows `number`.
    pub fn new(number: u32) -> Self {
        Self {
            batch: TransactionBatch::new(),
            accesses: List::default(),
            map: AccessMap::default(),
            buckets_seen: List::default(),
            leaves_seen: List::default(),
            stage: layout::LongStage::default(),
            undo: UndoLog::new(number),
            fresh_accesses: 0,
            fresh_leaves: 0,
            fresh_words: 0,
            noted: 0,
            renews: false,
            will_renew: false,
            compacted_bytes: 0,
            read_count: 0,
            number,
            serializable: false,
            guards: false,
            doomed_by: None,
            filling: None,
            last_unique_violation: None,
        }
    }

    #[inline]
    pub fn reset(&mut self) {
        self.doomed_by = None;
        self.batch.reset();
        self.accesses.clear();
        self.map.clear();
        self.buckets_seen.clear();
        self.leaves_seen.clear();
        self.undo.reset();
        self.forget_positions();
        (self.renews, self.will_renew) = (false, false);
        self.compacted_bytes = 0;
        self.guards = false;
        self.read_count = 0;
        self.number = self.number.wrapping_add(1);
        self.filling = None;
        if self.batch.room_words() > ROOM_WORDS_MAX {
            self.shrink();
            self.map.shrink();
        }
    }

    /// Gives up memory that it does not use, for a long rest.
    pub fn shrink(&mut self) {
        self.batch.shrink();
        self.accesses.shrink();
        self.buckets_seen.shrink();
        self.leaves_seen.shrink();
    }

    /// Forgets the rows that were read; their ids are those of an earlier transaction from now on.
    pub fn forget_rows(&mut self) {
        self.batch.reset();
        self.accesses.clear();
        self.map.clear();
        self.buckets_seen.clear();
        self.leaves_seen.clear();
        self.forget_positions();
        self.undo.forget_arena();
        self.number = self.number.wrapping_add(1);
    }

    /// Everything that is read from now on is a present read.
    fn forget_positions(&mut self) {
        (self.fresh_accesses, self.fresh_leaves, self.fresh_words) = (0, 0, 0);
        self.noted = self.undo.noted;
    }

    /// Forgets what was read, except the rows that are `written`, whose ids stay valid.
    /// `leaves_needed` is the number of leaves that the write set may refer to.
    pub fn forget_reads(
        &mut self,
        written: &[AccessId],
        leaves_needed: u32,
        key_words: impl Fn(TableId) -> u32,
    ) {
        self.remove_last_reads(leaves_needed, &key_words);
        // Inserts have noted what they need of buckets.
        self.buckets_seen.clear();
        self.fresh_accesses = self.accesses.len() as u32;
        self.fresh_leaves = self.leaves_seen.len() as u32;
        self.fresh_words = self.batch.arena_words() as u32;
        self.noted = self.undo.noted;
        // Accesses that no longer count make searches longer.
        if self.map.len() < STALE_MAX.max(2 * written.len()) {
            return;
        }
        self.map.clear();
        for &access in written {
            let Access { table, key_at, .. } = self.accesses[access];
            let key = Span { at: key_at, words: key_words(table) };
            if let Err(vacancy) = self.access_of(table, key) {
                self.map.insert(vacancy, access);
            }
        }
    }

    /// Removes what the present reads have added, so that a long transaction does not hold all that
    /// it has read: what follows the last row that was changed, and also the words, if none was.
    fn remove_last_reads(&mut self, leaves_needed: u32, key_words: &impl Fn(TableId) -> u32) {
        let accesses = self.fresh_accesses.max(self.undo.accesses_needed);
        for position in (accesses..self.accesses.len() as u32).rev() {
            let access = AccessId::new(position);
            debug_assert!(!self.accesses[access].is_written(), "changes are noted");
            let Access { table, key_at, .. } = self.accesses[access];
            let key = Span { at: key_at, words: key_words(table) };
            self.map.remove(access_hash(table, self.batch.words(key)), access);
        }
        self.accesses.truncate((accesses as usize).min(self.accesses.len()));
        let leaves = self.fresh_leaves.max(leaves_needed) as usize;
        self.leaves_seen.truncate(leaves.min(self.leaves_seen.len()));
        if self.noted == self.undo.noted {
            self.batch.truncate(self.fresh_words);
            self.undo.truncate_arena(self.fresh_words);
        }
    }

    #[cold]
    pub fn fail_statement(&mut self, error: &TxnError) {
        self.doomed_by = error.abort();
        if self.doomed_by.is_none() {
            // Only the statement has failed. It may have added accesses that it never looked up.
            self.accesses.iter_mut().for_each(Access::forget_if_unsettled);
        }
    }

    /// The id of a row that this transaction has found or inserted.
    #[inline(always)]
    pub fn row_id(&self, access: AccessId) -> RowId {
        RowId::new(access, self.number)
    }

    /// The access of a row id that this transaction has returned.
    #[inline(always)]
    pub fn access(&self, row: RowId) -> AccessId {
        row.access_in(self.number)
    }

    /// The access of this row, or the vacancy in the map for a new one.
    #[inline(always)]
    pub fn known_access(&self, table: TableId, key: &[u64]) -> Result<AccessId, Vacancy> {
        let batch = &*self.batch;
        self.map.find(access_hash(table, key), |access| {
            let other = &self.accesses[access];
            let words = Span { at: other.key_at, words: key.len() as u32 };
            other.table == table
                && (access.position() >= self.fresh_accesses || other.is_written())
                && same_words(batch.words(words), key)
        })
    }

    /// Like [`Self::known_access`], with the key in the arena.
    #[inline(always)]
    pub fn access_of(&self, table: TableId, key: Span) -> Result<AccessId, Vacancy> {
        self.known_access(table, self.batch.words(key))
    }

    /// Adds an access, which a lookup settles later.
    #[inline(always)]
    pub fn add_access(
        &mut self,
        table: TableId,
        vacancy: Vacancy,
        key_at: u32,
    ) -> Result<AccessId, TxnError> {
        if self.batch.arena_words() > ARENA_WORDS_MAX {
            return Err(TxnError::TooLarge(
                "it holds more than 512 MiB of rows; use for_each or several transactions",
            ));
        }
        if self.accesses.len() == ACCESSES_MAX {
            return Err(TxnError::TooLarge(
                "it touches more than 4,194,304 rows; use for_each or several transactions",
            ));
        }
        let access = self.accesses.add(Access::absent(table, key_at));
        self.map.insert(vacancy, access);
        Ok(access)
    }

    /// Adds an access that is not in the map, for a caller that removes it soon.
    pub fn add_passing_access(&mut self, table: TableId, key_at: u32) -> AccessId {
        self.accesses.add(Access::absent(table, key_at))
    }

    /// The key of an access; `words` is the table's key length.
    #[inline(always)]
    pub fn key(&self, access: AccessId, words: u32) -> Span {
        Span { at: self.accesses[access].key_at, words }
    }

    /// Whether an image has the key of an access; `words` is the table's key length.
    #[inline(always)]
    pub fn has_key(&self, access: AccessId, image: Span, words: u32) -> bool {
        let own = self.batch.words(self.key(access, words));
        same_words(self.batch.words(Span { at: image.at + KEY, words }), own)
    }

    /// Records that the snapshot's version of the row is in `image`.
    #[inline]
    pub fn accept(
        &mut self,
        access: AccessId,
        row: GlobalPtr,
        image: Span,
        version: VersionWord,
        is_old: bool,
    ) {
        debug_assert!(!row.is_null(), "a row that was read has an address");
        debug_assert!(!version.is_none() && !version.is_locked(), "a version that is settled");
        let access = &mut self.accesses[access];
        access.row = row;
        access.image = image;
        access.version = version;
        access.is_old = is_old;
        if version.is_deleted() {
            access.state = State::Absent;
            access.absence = Absence::Tombstone;
        } else {
            access.state = State::Read;
            access.absence = Absence::None;
            access.key_at = image.at + KEY;
        }
    }

    /// Records that the row's version is later than the snapshot.
    pub fn accept_later(&mut self, access: AccessId, row: GlobalPtr) {
        let access = &mut self.accesses[access];
        access.state = State::Absent;
        access.absence = Absence::Later;
        access.row = row;
    }

    /// Records that the bucket or leaf at `place` has no entry for the access's key.
    pub fn accept_no_entry(&mut self, access: AccessId, place: KeyPlace) {
        let access = &mut self.accesses[access];
        access.place = place;
        access.absence = Absence::NoEntry;
    }

    /// Adds a leaf that was read.
    pub fn note_leaf(&mut self, owner: Owner, read: &LeafRead) -> LeafSeenId {
        let LeafRead { ptr, span, insert } = *read;
        self.leaves_seen.add(LeafSeen { owner, leaf: ptr, span, insert, is_kept: false, near: 0 })
    }

    /// The rewrite counter of a leaf when it was read.
    #[inline]
    pub fn leaf_version(&self, seen: LeafSeenId) -> u64 {
        self.batch.word(self.leaves_seen[seen].span.at + leaf::VERSION)
    }
}
