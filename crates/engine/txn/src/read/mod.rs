//! Point reads: from keys to the versions that the snapshot covers.
//!
//! Independent reads go together: one round trip for all buckets and leaves, one more for rows that stand
//! outside. What is not as usual (old versions, overflow blocks, old directories) is settled one by one
//! in [`crate::old_version`].
//!
//! To read it: [`post`] (what is asked for), [`settle`] (what came), [`leaf`] (leaves of trees, of which a
//! transaction reads each once), [`lone`] (one row alone), [`columns`] (reads that need not all of a row).

mod columns;
mod leaf;
mod lone;
mod post;
mod settle;

use crate::abort::TxnError;
use crate::access::State;
use crate::catalog::TableId;
use crate::lane::LaneInner;
pub use columns::Columns;
use columns::{WHOLE, words_of};
use fabric::{Env, Span};
use index::tree::PostedLeaf;
use layout::{GlobalPtr, Key};
pub use post::{ACCESSES_MAX, ARENA_WORDS_MAX};

/// A read on its way.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    access: u32,
    step: Step,
    /// Where the result of the last verb stands.
    span: Span,
}

/// What a read waits for.
#[derive(Clone, Copy, Debug)]
enum Step {
    Bucket(GlobalPtr),
    Leaf(Option<PostedLeaf>),
    /// A leaf that the transaction has read before.
    Seen(u32),
    Row(GlobalPtr),
    /// The bucket has an overflow chain, or the directory was old.
    Chain,
    /// The version in place is not the snapshot's.
    Old(GlobalPtr),
    Settled,
}

/// Whether two keys are the same; they have a few words, for which a call is too much.
#[inline]
pub(crate) fn same_words(one: &[u64], other: &[u64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

impl<E: Env> LaneInner<E> {
    /// Finds or reads every key's row; `visit` gets the access of each, in order. For an insert, what kept leaves have
    /// settled is settled.
    #[inline]
    pub(crate) async fn locate_many(
        &mut self,
        keys: &[(TableId, Key)],
        (columns, is_insert): (&[Columns], bool),
        visit: &mut impl FnMut(u32, State),
    ) -> Result<(), TxnError> {
        let mut order = std::mem::take(&mut self.scratch.spans);
        let mut pending = std::mem::take(&mut self.scratch.pending);
        order.clear();
        pending.clear();
        let result = self.locate_all(keys, (columns, is_insert), &mut order, &mut pending).await;
        if result.is_ok() {
            for place in &order {
                visit(place.at, self.accesses[place.at as usize].state);
            }
        }
        self.scratch.spans = order;
        self.scratch.pending = pending;
        result
    }

    #[inline]
    async fn locate_all(
        &mut self,
        keys: &[(TableId, Key)],
        (columns, is_insert): (&[Columns], bool),
        order: &mut Vec<Span>,
        pending: &mut Vec<Pending>,
    ) -> Result<(), TxnError> {
        self.batch().clear_verbs();
        let by_kept = is_insert && self.shared.config.keeps_leaves;
        let mut open = None;
        let (mut key_bytes, mut words, mut in_parts) = (0, WHOLE, false);
        for (table, key) in keys {
            if open != Some(table) {
                if !self.is_open(table.0) {
                    self.open_table(table.0).await?;
                }
                open = Some(table);
                let info = self.info(table.0);
                (key_bytes, in_parts) = (info.schema.key_bytes(), info.parts.is_some());
                words = words_of(columns, *table);
            }
            if !key.may_have_bytes(key_bytes) {
                return Err(self.info(table.0).wrong_key(key).into());
            }
            let table = if in_parts { self.part_of(table.0, key.words()) } else { table.0 };
            if by_kept && let Some(access) = self.kept_access(table, key) {
                order.push(Span { at: access, words: 0 });
                continue;
            }
            let access = self.post_lookup(table, key, words, pending)?;
            order.push(Span { at: access, words: 0 });
        }
        self.settle_pending(pending).await
    }

    /// Reads these rows, each in this very part of its table; answers the access of each. The tables are open.
    pub(crate) async fn find_in_parts(
        &mut self,
        keys: &[(u32, Key)],
    ) -> Result<Vec<u32>, TxnError> {
        let mut pending = std::mem::take(&mut self.scratch.pending);
        pending.clear();
        self.batch().clear_verbs();
        let mut post = |(part, key): &(u32, Key)| self.post_lookup(*part, key, WHOLE, &mut pending);
        let posted = keys.iter().map(&mut post).collect::<Result<Vec<u32>, _>>();
        let result = match posted {
            Ok(accesses) => self.settle_pending(&mut pending).await.map(|()| accesses),
            Err(error) => Err(error),
        };
        self.scratch.pending = pending;
        result
    }

    /// Carries out what was posted and settles every access of the list.
    #[inline]
    pub(crate) async fn settle_pending(&mut self, pending: &mut [Pending]) -> Result<(), TxnError> {
        if pending.is_empty() {
            return Ok(());
        }
        if !self.batch().is_empty() {
            self.execute().await?;
        }
        self.batch().clear_verbs();
        for place in pending.iter_mut() {
            if !matches!(place.step, Step::Row(_)) && self.advance(place)? {
                Box::pin(self.find_and_advance(place)).await?;
            }
        }
        if !self.batch().is_empty() {
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

    /// What is not as usual, once all that was posted is there.
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
