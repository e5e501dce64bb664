//! Range scans. All cursors of a statement go over leaves and rows together: independent scans
//! share round trips, and a scan of a long range reads leaves ahead, from the addresses in the leaf
//! cache.
//!
//! Decision: docs/decisions/0048-independent-scans-share-round-trips.md

use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::Pending;
use crate::read::access::{AccessId, RowId, State};
use crate::read::scan::{Range, Scan, ScanEntry};
use crate::write::{LeafSeenId, Owner};
use fabric::{Env, Mutant, Span};
use index::tree::{LeafView, PostedLeaf};
use layout::row::KEY;
use layout::{GlobalPtr, Key};

/// Maximal number of rows that one cursor reads in a round trip.
const ROWS_PER_ROUND: usize = 256;
/// Maximal number of leaves that one cursor reads in a round trip.
const LEAVES_AHEAD_MAX: usize = 8;
/// A scan with at least this limit reads more than one leaf at a time.
const ROWS_FOR_LEAVES_AHEAD: usize = 32;

/// The state of a scan.
pub(crate) struct Cursor {
    scan: Scan,
    range: Range,
    /// The next key.
    from: Key,
    /// The scan has ended.
    is_over: bool,
    /// Number of rows after which the scan pauses.
    pause: usize,
    /// The positions of this round's entries in [`Round::scan_rows`].
    scan_rows: std::ops::Range<usize>,
}

impl Cursor {
    /// A cursor at the beginning of its range.
    pub(crate) fn new(scan: &Scan, range: Range) -> Self {
        let from = if scan.reverse { scan.high } else { scan.low };
        let is_over = scan.limit == 0 || scan.low > scan.high;
        Self { scan: *scan, range, from, is_over, pause: usize::MAX, scan_rows: 0..0 }
    }

    /// The scan has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Lets the scan pause when it has found `pause` rows, and end when it has found `limit`.
    pub(crate) fn bound(&mut self, pause: usize, limit: usize) {
        (self.pause, self.scan.limit) = (pause, limit);
        self.is_over |= limit == 0;
    }

    /// The number of rows until the next pause. A pause after many rows makes no round trip
    /// smaller.
    fn wanted(&self) -> usize {
        match self.pause {
            ROWS_PER_ROUND.. => self.scan.limit,
            pause => self.scan.limit.min(pause),
        }
    }

    /// The table or index, and the scan of it.
    pub(crate) fn source(&self) -> (Owner, &Scan) {
        (self.range.owner, &self.scan)
    }

    /// The rest of the range.
    pub(crate) fn rest(&self) -> Scan {
        match self.scan.reverse {
            false => Scan { low: self.from.max(self.scan.low), ..self.scan },
            true => Scan { high: self.from.min(self.scan.high), ..self.scan },
        }
    }

    /// Continues at `next`, or ends.
    fn advance(&mut self, next: Option<Key>) {
        match next {
            Some(next) => self.from = next,
            None => self.is_over = true,
        }
    }
}

/// A leaf that is read ahead.
#[derive(Clone, Copy)]
struct LeafAhead {
    owner: Owner,
    posted: PostedLeaf,
}

/// An entry that a cursor found, and the access of its row.
struct ScanRow {
    scan_entry: ScanEntry,
    access: AccessId,
}

/// Reusable lists of a round of cursors.
#[derive(Default)]
pub(crate) struct Round {
    ahead: Vec<LeafAhead>,
    scan_entries: Vec<ScanEntry>,
    scan_rows: Vec<ScanRow>,
    pending: Vec<Pending>,
}

impl<E: Env> LaneInner<E> {
    /// Runs all cursors to their ends; `rows` gets the visible rows of each, in the cursor's order.
    pub(crate) async fn run_cursors(
        &mut self,
        cursors: &mut [Cursor],
        rows: &mut [Vec<RowId>],
    ) -> Result<(), TxnError> {
        let mut round = std::mem::take(&mut self.scratch.round);
        let mut result = Ok(());
        while result.is_ok() && cursors.iter().any(|cursor| !cursor.is_over) {
            result = self.run_round(cursors, rows, &mut round).await;
        }
        self.scratch.round = round;
        result
    }

    /// Runs a cursor to its pause or its end. A pause is between two round trips, so that pauses
    /// cost none.
    pub(crate) async fn run_to_pause(
        &mut self,
        cursor: &mut Cursor,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        let mut round = std::mem::take(&mut self.scratch.round);
        let mut result = Ok(());
        while result.is_ok() && !cursor.is_over && rows.len() < cursor.pause {
            let (cursors, rows) = (std::slice::from_mut(cursor), std::slice::from_mut(rows));
            result = self.run_round(cursors, rows, &mut round).await;
        }
        self.scratch.round = round;
        result
    }

    async fn run_round(
        &mut self,
        cursors: &mut [Cursor],
        rows: &mut [Vec<RowId>],
        round: &mut Round,
    ) -> Result<(), TxnError> {
        self.read_leaves_ahead(cursors, &mut round.ahead).await?;
        for cursor in cursors.iter().filter(|cursor| !cursor.is_over) {
            self.leaf_for(cursor.range.owner, &cursor.from).await?;
        }
        round.scan_rows.clear();
        round.pending.clear();
        self.txn.batch.clear_verbs();
        for (cursor, rows) in cursors.iter_mut().zip(&mut *rows) {
            cursor.scan_rows = 0..0;
            if !cursor.is_over {
                self.post_scan_rows(cursor, rows.len(), round)?;
            }
        }
        self.settle_pending(&mut round.pending).await?;
        for (cursor, rows) in cursors.iter_mut().zip(rows) {
            for ScanRow { scan_entry, access } in &round.scan_rows[cursor.scan_rows.clone()] {
                if rows.len() < cursor.scan.limit
                    && self.is_visible_entry(&cursor.range, scan_entry, *access)
                {
                    rows.push(self.txn.row_id(*access));
                }
            }
            cursor.is_over |= rows.len() >= cursor.scan.limit;
        }
        Ok(())
    }

    /// Reads the next leaves of the cursors in one round trip, from the addresses in the leaf
    /// cache. If the cache has no address or a wrong one, the leaf is found later, one by one.
    async fn read_leaves_ahead(
        &mut self,
        cursors: &[Cursor],
        ahead: &mut Vec<LeafAhead>,
    ) -> Result<(), TxnError> {
        ahead.clear();
        self.txn.batch.clear_verbs();
        for cursor in cursors.iter().filter(|cursor| !cursor.is_over) {
            let owner = cursor.range.owner;
            let tree = self.open.tree(owner);
            if self.seen_leaf_in(owner, &tree, cursor.from.words()).is_some() {
                continue;
            }
            let is_long = !cursor.scan.reverse && cursor.wanted() >= ROWS_FOR_LEAVES_AHEAD;
            let count_max = if is_long { LEAVES_AHEAD_MAX } else { 1 };
            let to = cursor.rest().high;
            let before = ahead.len();
            let batch = &mut *self.txn.batch;
            let cache = self.open.leaf_cache(owner);
            cache.run(cursor.from.words(), to.words(), count_max, &mut |place| {
                if ahead.iter().all(|known| known.posted.ptr != place.ptr) {
                    let posted = index::tree::post_leaf_at(batch, &tree, place);
                    ahead.push(LeafAhead { owner, posted });
                }
            });
            for LeafAhead { posted, .. } in &ahead[before..] {
                self.env.prefetch(posted.ptr, tree.layout.words());
            }
        }
        if self.txn.batch.is_empty() {
            return Ok(());
        }
        self.execute().await?;
        for &LeafAhead { owner, posted } in ahead.iter() {
            let tree = self.open.tree(owner);
            if let Some(read) = index::tree::accept_any(&self.txn.batch, &tree, posted) {
                self.txn.note_leaf(owner, &read);
            }
        }
        Ok(())
    }

    /// Posts reads of the rows whose entries the cursor finds in leaves that were read. It reads a
    /// few more rows than the limit, since some entries may be garbage.
    fn post_scan_rows(
        &mut self,
        cursor: &mut Cursor,
        found: usize,
        round: &mut Round,
    ) -> Result<(), TxnError> {
        let first = round.scan_rows.len();
        let wanted = (cursor.wanted().saturating_sub(found)).saturating_add(2).min(ROWS_PER_ROUND);
        while !cursor.is_over && round.scan_rows.len() < first + wanted {
            let Some(seen) = self.seen_leaf(cursor.range.owner, cursor.from.words()) else { break };
            let rest = cursor.rest();
            let room = first + wanted - round.scan_rows.len();
            let mut next =
                self.list_leaf_entries(&rest, &cursor.range, seen, room, &mut round.scan_entries)?;
            if round.scan_entries.len() > room {
                round.scan_entries.truncate(room);
                let last = round.scan_entries[room - 1].key;
                let last = Key::from_words(self.txn.batch.words(last));
                next = if rest.reverse { last.predecessor() } else { last.successor() };
            }
            // Rows that were inserted one after another are adjacent in memory: read in that order,
            // they are one verb.
            if rest.reverse {
                round.scan_entries.reverse();
            }
            let begin = round.scan_rows.len();
            for scan_entry in &round.scan_entries {
                let access = self.post_scan_row(&cursor.range, scan_entry, &mut round.pending)?;
                round.scan_rows.push(ScanRow { scan_entry: *scan_entry, access });
            }
            if rest.reverse {
                round.scan_rows[begin..].reverse();
            }
            cursor.advance(next);
        }
        cursor.scan_rows = first..round.scan_rows.len();
        Ok(())
    }

    /// Lists the entries of a leaf that are in range, including those of the write set; returns
    /// where the scan goes on. The range starts where the last leaf ended: a leaf that the
    /// transaction read before a split may cover keys that were already listed. If the room is
    /// limited, it lists at most one entry more.
    fn list_leaf_entries(
        &mut self,
        scan: &Scan,
        range: &Range,
        seen: LeafSeenId,
        room: usize,
        scan_entries: &mut Vec<ScanEntry>,
    ) -> Result<Option<Key>, TxnError> {
        scan_entries.clear();
        if !self.env.mutant(Mutant::ScanRangeUnwitnessed) {
            self.witness_leaf(seen);
        }
        let may_add_own = self.may_add_own(range);
        let span = self.txn.leaves_seen[seen].span;
        let tree = self.open.tree(range.owner);
        let batch = &*self.txn.batch;
        let view = LeafView::new(tree.layout, batch.words(span));
        self.check_collected(view.collected())?;
        let end = view.search(scan.high.words()).map_or_else(|after| after, |last| last + 1);
        let begin = view.lower_bound(scan.low.words());
        // Rows of the write set may belong between the entries, so sorting needs all entries.
        let most = if may_add_own { usize::MAX } else { room.saturating_add(1) } as u32;
        let entries = match scan.reverse {
            false => begin..end.min(begin.saturating_add(most)),
            true => begin.max(end.saturating_sub(most))..end,
        };
        scan_entries.extend(entries.map(|n| {
            let at = span.at + tree.layout.entry(n);
            let key = Span { at, words: tree.layout.key_words };
            ScanEntry { key, row: GlobalPtr::from_word(view.value(n)[0]), own: None }
        }));
        let low = Key::from_words(view.low());
        let high = view.high_key();
        let next = match scan.reverse {
            false => high.filter(|high| *high <= scan.high),
            true if low > scan.low => low.predecessor(),
            true => None,
        };
        if may_add_own {
            let last = high.and_then(|high| high.predecessor()).unwrap_or(scan.high);
            self.add_own(range, &low.max(scan.low), &last.min(scan.high), scan_entries);
        }
        if scan.reverse {
            scan_entries.reverse();
        }
        Ok(next)
    }

    /// Whether the write set can have a row of the range that no entry leads to.
    fn may_add_own(&self, range: &Range) -> bool {
        self.writes.rows.iter().any(|&access| {
            let entry = &self.txn.accesses[access];
            let is_moved = range.index.is_some() && entry.state == State::Updated;
            (entry.state == State::Inserted || is_moved) && self.may_be_of(range, entry.table)
        })
    }

    /// Whether rows of a table may belong to a range. A scan reads the parts of a table one after
    /// another, but an entry of an index need not be in the part of its row.
    fn may_be_of(&self, range: &Range, table: TableId) -> bool {
        match range.index {
            None => table == range.table,
            Some(_) => self.open.is_same_table(table, range.table),
        }
    }

    /// Adds the rows of the write set whose keys are in range and that no entry leads to yet, and
    /// sorts the list.
    pub(crate) fn add_own(
        &mut self,
        range: &Range,
        low: &Key,
        high: &Key,
        scan_entries: &mut Vec<ScanEntry>,
    ) {
        for number in 0..self.writes.rows.len() {
            let access = self.writes.rows[number];
            let entry = self.txn.accesses[access];
            let is_old = entry.state == State::Updated && range.index.is_none();
            let is_other = !self.may_be_of(range, entry.table);
            if is_other || entry.state == State::Deleted || is_old {
                continue;
            }
            let key = match &range.index {
                Some(index) => self.entry_key(index, entry.fresh),
                None => {
                    let words = self.open.info(entry.table).row.key_words;
                    let span = Span { at: entry.fresh.at + KEY, words };
                    Key::from_words(self.txn.batch.words(span))
                }
            };
            if key < *low || *high < key || !self.has_entry(range, &key) {
                continue;
            }
            let batch = &mut *self.txn.batch;
            let is_known = |scan_entry: &ScanEntry| batch.words(scan_entry.key) == key.words();
            if !scan_entries.iter().any(is_known) {
                let key = batch.put(key.words());
                scan_entries.push(ScanEntry { key, row: GlobalPtr::NULL, own: Some(access) });
            }
        }
        self.sort(scan_entries);
    }

    /// Sorts entries by their keys.
    #[inline]
    pub(crate) fn sort(&self, scan_entries: &mut [ScanEntry]) {
        if scan_entries.len() > 1 {
            let batch = &*self.txn.batch;
            let by_key = |one: &ScanEntry, other: &ScanEntry| {
                batch.words(one.key).cmp(batch.words(other.key))
            };
            scan_entries.sort_unstable_by(by_key);
        }
    }

    /// Whether the range is in the part of the index that has this entry; true for a table.
    fn has_entry(&self, range: &Range, key: &Key) -> bool {
        match (range.owner, &range.index) {
            (Owner::Index(part), Some(info)) => {
                self.open.entry_part_of(part, info, key.words()) == part
            }
            _ => true,
        }
    }

    /// The access of an entry's row; posts the read of the row if the transaction has not read it.
    pub(crate) fn post_scan_row(
        &mut self,
        range: &Range,
        scan_entry: &ScanEntry,
        pending: &mut Vec<Pending>,
    ) -> Result<AccessId, TxnError> {
        if let Some(own) = scan_entry.own {
            return Ok(own);
        }
        let (mut table, mut key) = (range.table, scan_entry.key);
        if let Some(index) = &range.index {
            let batch = &*self.txn.batch;
            let primary = self.primary_key(index, batch.words(key));
            table = self.open.row_part_of(table, primary.words());
            key = self.txn.batch.put(primary.words());
        }
        match scan_entry.row.is_null() {
            true => self.post_key(table, key, pending),
            false => self.post_row(table, key, scan_entry.row, pending),
        }
    }

    /// Whether the row is visible and has the key of its entry: an entry can outlive the versions
    /// with its key.
    pub(crate) fn is_visible_entry(
        &self,
        range: &Range,
        scan_entry: &ScanEntry,
        access: AccessId,
    ) -> bool {
        let entry = &self.txn.accesses[access];
        if matches!(entry.state, State::Absent | State::Deleted) {
            return false;
        }
        match &range.index {
            Some(index) => {
                let batch = &*self.txn.batch;
                self.entry_key(index, entry.current()).words() == batch.words(scan_entry.key)
                    || self.env.mutant(Mutant::ScanTrustEntry)
            }
            None => true,
        }
    }
}
