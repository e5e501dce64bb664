//! Kept leaves: a lane keeps the leaves that it has written last, and its next insert into one of
//! them need not read it.
//!
//! Each change of a leaf gives its insert word a value that it never had before. So a successful
//! swap from the value of the lane's own last write proves at commit that the leaf is still as kept
//! here, and that the new key is still absent. If another lane has changed the leaf meanwhile, the
//! swap fails: the commit aborts with [`crate::Abort::InsertConflict`], and the leaf is evicted.
//! Nothing relies on a kept leaf without that swap: reads and scans do not use it.
//!
//! Decisions:
//! - docs/decisions/0151-lanes-keep-the-leaves-that-they-wrote-last.md
//! - docs/decisions/0170-a-duplicate-key-behind-a-kept-leaf-is-reported-at-the-next.md

use crate::abort::TxnError;
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::read::access::{Absence, AccessId, KeyPlace, State};
use crate::write::{LeafSeen, LeafSeenId, Owner};
use fabric::Env;
use index::tree::{LeafRead, LeafView};
use layout::{GlobalPtr, Key, LeafLayout, VersionWord};

/// Number of kept leaves per tree.
const KEPT_MAX: usize = 16;

/// The leaves of one tree that a lane has written last.
#[derive(Default)]
pub(crate) struct KeptLeaves {
    leaves: Vec<KeptLeaf>,
    /// Position of the leaf to replace next.
    next: usize,
}

struct KeptLeaf {
    leaf: GlobalPtr,
    /// Its insert word after the lane's last write.
    insert: VersionWord,
    words: Vec<u64>,
}

impl KeptLeaves {
    /// The kept leaf that covers `key`, if there is one that does not contain it.
    fn without(&self, layout: LeafLayout, key: &[u64]) -> Option<&KeptLeaf> {
        let kept =
            self.leaves.iter().find(|kept| LeafView::new(layout, &kept.words).covers(key))?;
        LeafView::new(layout, &kept.words).search(key).is_err().then_some(kept)
    }

    /// Keeps a leaf as it was written, in place of its earlier content or of another leaf.
    fn keep(&mut self, leaf: GlobalPtr, insert: VersionWord, words: &[u64]) {
        debug_assert!(!insert.is_locked(), "a commit unlocks the leaves that it writes");
        let known = self.leaves.iter().position(|kept| kept.leaf == leaf);
        if known.is_none() && self.leaves.len() < KEPT_MAX {
            self.leaves.push(KeptLeaf { leaf, insert, words: words.to_vec() });
            return;
        }
        let place = known.unwrap_or(self.next);
        self.next = (self.next + usize::from(known.is_none())) % KEPT_MAX;
        let kept = &mut self.leaves[place];
        (kept.leaf, kept.insert) = (leaf, insert);
        kept.words.clear();
        kept.words.extend_from_slice(words);
    }

    /// Evicts a leaf.
    pub(crate) fn evict(&mut self, leaf: GlobalPtr) {
        self.leaves.retain(|kept| kept.leaf != leaf);
        self.next = 0;
    }
}

impl<E: Env> LaneInner<E> {
    /// Settles the keys that are absent from kept leaves; the others are looked up.
    pub(crate) fn settle_kept(&mut self, inserts: &[(TableId, Key)]) -> Result<(), TxnError> {
        if !self.shared.config.keeps_leaves {
            return Ok(());
        }
        for (table, key) in inserts {
            let is_right = || key.may_have_bytes(self.open.info(*table).schema.key_bytes());
            if self.open.is_open(*table) && is_right() {
                self.settle_by_kept(self.open.part_of(*table, key.words()), key)?;
            }
        }
        Ok(())
    }

    fn settle_by_kept(&mut self, table: TableId, key: &Key) -> Result<(), TxnError> {
        let Primary::Tree(tree) = self.open.info(table).primary else { return Ok(()) };
        let Err(vacancy) = self.txn.known_access(table, key.words()) else { return Ok(()) };
        let open = self.open.table(table);
        let Some(kept) = open.kept.without(tree.layout, key.words()) else { return Ok(()) };
        let collected = LeafView::new(tree.layout, &kept.words).collected();
        if collected > self.snapshot.stamp {
            return Ok(());
        }
        let (owner, leaf, insert) = (Owner::Table(table), kept.leaf, kept.insert);
        // A transaction that was parked may have noted what another lane has kept of this leaf.
        let is_noted = |seen: &LeafSeen| seen.is_kept && seen.leaf == leaf && seen.insert == insert;
        let fresh = self.txn.fresh_leaves as usize;
        let leaves = self.txn.leaves_seen.get(fresh..).unwrap_or_default();
        let seen = match leaves.iter().rposition(is_noted) {
            Some(seen) => LeafSeenId::new((fresh + seen) as u32),
            None => {
                let span = self.txn.batch.put(&kept.words);
                let read = LeafRead { ptr: leaf, span, insert };
                let seen = self.txn.note_leaf(owner, &read);
                self.txn.leaves_seen[seen].is_kept = true;
                seen
            }
        };
        let key = self.txn.batch.put(key.words());
        let access = self.txn.add_access(table, vacancy, key.at)?;
        let access = &mut self.txn.accesses[access];
        (access.place, access.absence) = (KeyPlace::LeafSeen(seen), Absence::Kept);
        Ok(())
    }

    /// The access of a key that a kept leaf has settled for an insert.
    pub(crate) fn kept_access(&self, table: TableId, key: &Key) -> Option<AccessId> {
        let access = self.txn.known_access(table, key.words()).ok()?;
        let entry = &self.txn.accesses[access];
        (entry.state == State::Absent && entry.absence == Absence::Kept).then_some(access)
    }

    /// Keeps the leaves of tables that the commit with this timestamp has written.
    pub(crate) fn cache_written_leaves(&mut self, timestamp: VersionWord) {
        if !self.shared.config.keeps_leaves {
            return;
        }
        let batch = &*self.txn.batch;
        for lock in self.writes.locks.leaves.iter().filter(|lock| lock.is_written()) {
            let LeafSeen { owner, leaf, .. } = self.txn.leaves_seen[lock.seen];
            let Owner::Table(table) = owner else { continue };
            if let Some(table) = &mut self.open.tables[table.position()] {
                table.kept.keep(leaf, timestamp, batch.words(lock.written));
            }
        }
    }

    /// Evicts the leaves of an aborted commit's inserts: others may have changed them, or the
    /// commit has written its own timestamp to their insert words.
    pub(crate) fn evict_leaves_of_inserts(&mut self) {
        if !self.shared.config.keeps_leaves {
            return;
        }
        for number in 0..self.writes.leaf_inserts.len() {
            let insert = self.writes.leaf_inserts[number];
            let LeafSeen { owner, leaf, .. } = self.txn.leaves_seen[insert.seen];
            self.open.evict_leaf(owner, leaf);
        }
    }
}
