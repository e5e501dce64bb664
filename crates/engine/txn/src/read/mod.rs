//! Point reads: from keys to the versions that the snapshot covers.
//!
//! Independent reads share round trips: one for all buckets and leaves, and one more for rows
//! outside their buckets. The unusual cases (old versions, overflow blocks, outdated directories)
//! are settled one by one in [`crate::read::old_version`].
//!
//! Read [`post`] (the verbs) first, then [`settle`] (their results), [`leaf`] (leaves of trees,
//! which a transaction reads once each), [`lone`] (a single row), [`columns`] (reads of some
//! columns). Then [`access`] (the access set), [`scan`] with [`cursor`], [`visit`] (whole tables),
//! [`steps`] (scans and visits that pause), [`value`] (long values).

pub(crate) mod access;
pub(crate) mod cursor;
pub(crate) mod old_version;
pub(crate) mod scan;
pub(crate) mod steps;
pub(crate) mod value;
pub(crate) mod visit;

mod columns;
mod leaf;
mod lone;
mod post;
mod settle;

use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::access::{AccessId, State};
use crate::write::LeafSeenId;
pub use columns::Columns;
use columns::{WHOLE, words_of};
use fabric::{Env, Span};
use index::tree::PostedLeaf;
use layout::{GlobalPtr, Key};
pub(crate) use post::access_hash;
pub use post::{ACCESSES_MAX, ARENA_WORDS_MAX};

/// A read whose verbs are posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    access: AccessId,
    step: Step,
    /// The result of the last verb.
    span: Span,
}

/// The progress of a read.
#[derive(Clone, Copy, Debug)]
enum Step {
    Bucket(GlobalPtr),
    Leaf(Option<PostedLeaf>),
    /// The leaf was read before by this transaction.
    Seen(LeafSeenId),
    Row(GlobalPtr),
    /// The bucket has an overflow chain, or the directory was outdated.
    Chain,
    /// The snapshot does not cover the version in place.
    Old(GlobalPtr),
    Settled,
}

/// The data that a statement needs of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// The rows; for a table in this list, only these columns.
    Rows(&'a [Columns]),
    /// Only whether the keys are free: kept leaves suffice.
    ForInsert,
}

/// Whether two keys are equal. They have a few words, too few for a call of `memcmp`.
#[inline]
pub(crate) fn same_words(one: &[u64], other: &[u64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

impl<E: Env> LaneInner<E> {
    /// Finds or reads every key's row; calls `visit` with the access of each, in order.
    #[inline]
    pub(crate) async fn locate_many(
        &mut self,
        keys: &[(TableId, Key)],
        wanted: Wanted<'_>,
        visit: &mut impl FnMut(AccessId, State),
    ) -> Result<(), TxnError> {
        let mut located = std::mem::take(&mut self.scratch.located);
        let mut pending = std::mem::take(&mut self.scratch.pending);
        located.clear();
        pending.clear();
        let result = self.locate_all(keys, wanted, &mut located, &mut pending).await;
        if result.is_ok() {
            for &access in &located {
                visit(access, self.txn.accesses[access].state);
            }
        }
        self.scratch.located = located;
        self.scratch.pending = pending;
        result
    }

    #[inline]
    async fn locate_all(
        &mut self,
        keys: &[(TableId, Key)],
        wanted: Wanted<'_>,
        located: &mut Vec<AccessId>,
        pending: &mut Vec<Pending>,
    ) -> Result<(), TxnError> {
        self.txn.batch.clear_verbs();
        let (columns, by_kept) = match wanted {
            Wanted::Rows(columns) => (columns, false),
            Wanted::ForInsert => (&[][..], self.shared.config.keeps_leaves),
        };
        let mut open = None;
        let (mut key_bytes, mut words, mut in_parts) = (0, WHOLE, false);
        for (table, key) in keys {
            if open != Some(table) {
                if !self.open.is_open(*table) {
                    self.open_table(*table).await?;
                }
                open = Some(table);
                let info = self.open.info(*table);
                (key_bytes, in_parts) = (info.schema.key_bytes(), info.parts.is_some());
                words = words_of(columns, *table);
            }
            if !key.may_have_bytes(key_bytes) {
                return Err(self.open.info(*table).wrong_key(key).into());
            }
            let table = if in_parts { self.open.part_of(*table, key.words()) } else { *table };
            if by_kept && let Some(access) = self.kept_access(table, key) {
                located.push(access);
                continue;
            }
            let access = self.post_lookup(table, key, words, pending)?;
            located.push(access);
        }
        self.settle_pending(pending).await
    }

    /// Reads these rows, each in the given part of its table; returns their accesses. The tables
    /// are open.
    pub(crate) async fn find_in_parts(
        &mut self,
        keys: &[(TableId, Key)],
    ) -> Result<Vec<AccessId>, TxnError> {
        let mut pending = std::mem::take(&mut self.scratch.pending);
        pending.clear();
        self.txn.batch.clear_verbs();
        let mut post =
            |(part, key): &(TableId, Key)| self.post_lookup(*part, key, WHOLE, &mut pending);
        let posted = keys.iter().map(&mut post).collect::<Result<Vec<AccessId>, _>>();
        let result = match posted {
            Ok(accesses) => self.settle_pending(&mut pending).await.map(|()| accesses),
            Err(error) => Err(error),
        };
        self.scratch.pending = pending;
        result
    }

    /// Executes the posted verbs and settles every access of the list.
    #[inline]
    pub(crate) async fn settle_pending(&mut self, pending: &mut [Pending]) -> Result<(), TxnError> {
        if pending.is_empty() {
            return Ok(());
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        self.txn.batch.clear_verbs();
        for place in pending.iter_mut() {
            if !matches!(place.step, Step::Row(_)) && self.advance(place)? {
                Box::pin(self.find_and_advance(place)).await?;
            }
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        for place in pending.iter() {
            match place.step {
                Step::Row(row) if self.finish_row(place.access, row, place.span) => {}
                Step::Settled => {}
                _ => self.settle_unusual(place).await?,
            }
        }
        Ok(())
    }

    /// Settles the unusual cases, after the results of all posted verbs have been processed.
    async fn settle_unusual(&mut self, place: &Pending) -> Result<(), TxnError> {
        match place.step {
            Step::Row(row) | Step::Old(row) => {
                Box::pin(self.settle_old(place.access, row, place.span)).await
            }
            Step::Chain => Box::pin(self.settle_bucket(place.access)).await,
            _ => Ok(()),
        }
    }
}
