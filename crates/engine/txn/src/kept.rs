//! Leaves that a lane has written last, kept as they stand in memory: the next insert beside takes them for read.
//!
//! Whoever changes a leaf gives its insert word a value that it never had, so that a swap from the value of the lane's
//! own last write proves at commit that the leaf is what is kept here, and that the new key is still absent. What others
//! have changed meanwhile makes the swap fail: an [`crate::Abort::InsertConflict`], and the leaf is kept no longer. Nothing is
//! ever concluded from a kept leaf without that swap: reads and scans do not see it.
//!
//! Decisions:
//! - docs/decisions/0151-lanes-keep-the-leaves-that-they-wrote-last.md
//! - docs/decisions/0170-a-duplicate-key-behind-a-kept-leaf-is-reported-at-the-next.md

use crate::abort::TxnError;
use crate::access::{Absence, State};
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::write::{LeafSeen, Owner};
use fabric::Env;
use index::tree::{LeafRead, LeafView};
use layout::{GlobalPtr, Key, LeafLayout, VersionWord};

/// Leaves kept of a tree.
const KEPT_MAX: usize = 16;

/// The leaves of one tree that a lane has written last.
#[derive(Default)]
pub(crate) struct KeptLeaves {
    leaves: Vec<KeptLeaf>,
    /// Which is replaced next.
    next: usize,
}

struct KeptLeaf {
    leaf: GlobalPtr,
    /// What the lane's last write left in its insert word.
    insert: VersionWord,
    words: Vec<u64>,
}

impl KeptLeaves {
    /// The leaf that covers `key`, if there is one and the key is not in it.
    fn without(&self, layout: LeafLayout, key: &[u64]) -> Option<&KeptLeaf> {
        let kept =
            self.leaves.iter().find(|kept| LeafView::new(layout, &kept.words).covers(key))?;
        LeafView::new(layout, &kept.words).search(key).is_err().then_some(kept)
    }

    /// Keeps a leaf as it was written, in the place of what was kept of it or of another.
    fn keep(&mut self, leaf: GlobalPtr, insert: VersionWord, words: &[u64]) {
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

    fn forget(&mut self, leaf: GlobalPtr) {
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
            if self.is_open(table.0) && key.may_have_bytes(self.info(table.0).schema.key_bytes()) {
                self.settle_by_kept(self.part_of(table.0, key.words()), key)?;
            }
        }
        Ok(())
    }

    fn settle_by_kept(&mut self, table: u32, key: &Key) -> Result<(), TxnError> {
        let Primary::Tree(tree) = self.info(table).primary else { return Ok(()) };
        self.batch();
        let Err(vacancy) = self.known_access(table, key.words()) else { return Ok(()) };
        let batch = self.batch.as_mut().expect("it was made above");
        let lane_table = self.tables[table as usize].as_ref().expect("it is open");
        let Some(kept) = lane_table.kept.without(tree.layout, key.words()) else { return Ok(()) };
        let collected = LeafView::new(tree.layout, &kept.words).collected();
        if collected > self.snapshot.stamp {
            return Ok(());
        }
        let (owner, leaf) = (Owner::Table(table), kept.leaf);
        let is_noted = |seen: &LeafSeen| seen.is_kept && seen.leaf == leaf;
        let seen = match self.leaves_seen.iter().rposition(is_noted) {
            Some(seen) => seen,
            None => {
                let read =
                    LeafRead { ptr: leaf, span: batch.put(&kept.words), insert: kept.insert };
                let seen = self.note_leaf(owner, &read);
                self.leaves_seen[seen].is_kept = true;
                seen
            }
        };
        let key = self.batch().put(key.words());
        let access = self.add_access(table, vacancy, key.at)?;
        let access = &mut self.accesses[access as usize];
        (access.place, access.absence) = (seen as u32, Absence::Kept);
        Ok(())
    }

    /// The access of a key that a kept leaf has settled for an insert.
    pub(crate) fn kept_access(&self, table: u32, key: &Key) -> Option<u32> {
        let access = self.known_access(table, key.words()).ok()?;
        let entry = &self.accesses[access as usize];
        (entry.state == State::Absent && entry.absence == Absence::Kept).then_some(access)
    }

    /// Keeps the leaves of tables that the commit with this timestamp has written.
    pub(crate) fn keep_leaves(&mut self, timestamp: VersionWord) {
        if !self.shared.config.keeps_leaves {
            return;
        }
        let batch = self.batch.as_ref().expect("the batch is here");
        for lock in self.scratch.locks.leaves.iter().filter(|lock| lock.is_written()) {
            let LeafSeen { owner, leaf, span, .. } = self.leaves_seen[lock.seen as usize];
            let Owner::Table(table) = owner else { continue };
            if let Some(table) = &mut self.tables[table as usize] {
                table.kept.keep(leaf, timestamp, batch.words(span));
            }
        }
    }

    /// A commit that had to give up may have gone by leaves that others have changed, or has put its own number into
    /// their insert words.
    pub(crate) fn forget_leaves(&mut self) {
        if !self.shared.config.keeps_leaves {
            return;
        }
        for number in 0..self.leaf_inserts.len() {
            let insert = self.leaf_inserts[number];
            let LeafSeen { owner, leaf, .. } = self.leaves_seen[insert.seen as usize];
            self.forget_leaf(owner, leaf);
        }
    }

    /// The lane changes a leaf otherwise than by a commit.
    pub(crate) fn forget_leaf(&mut self, owner: Owner, leaf: GlobalPtr) {
        if let Owner::Table(table) = owner
            && let Some(table) = &mut self.tables[table as usize]
        {
            table.kept.forget(leaf);
        }
    }
}
