//! Reads of a single row: the same verbs as for a list of one, but without lists, and in the usual
//! case without nested futures. Most transactions of small workloads consist of one such read.

use super::post::LoneLookup;
use super::{Pending, Step};
use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::access::{RowId, State};
use fabric::Env;
use layout::Key;

impl<E: Env> LaneInner<E> {
    /// [`Transaction::read`](crate::Transaction::read).
    #[inline]
    pub(crate) async fn read(
        &mut self,
        table: TableId,
        key: &Key,
    ) -> Result<Option<RowId>, TxnError> {
        self.begin_statement()?;
        let found = self.read_lone(table, key).await;
        self.end_statement(found)
    }

    #[inline(always)]
    async fn read_lone(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        self.txn.read_count += 1;
        self.txn.batch.clear_verbs();
        if !self.open.is_open(table) {
            Box::pin(self.open_table(table)).await?;
        }
        let info = self.open.info(table);
        if !key.may_have_bytes(info.schema.key_bytes()) {
            return Err(info.wrong_key(key).into());
        }
        let part = self.open.part_of(table, key.words());
        let LoneLookup { access, pending } = self.post_lone_lookup(part, key)?;
        if let Some(mut pending) = pending {
            if !self.txn.batch.is_empty() {
                match self.execute_at_once() {
                    Some(done) => done?,
                    None => self.execute().await?,
                }
            }
            if !self.is_settled_at_once(&mut pending)? {
                self.settle_lone(pending).await?;
            }
        }
        let is_there = !matches!(self.txn.accesses[access].state, State::Absent | State::Deleted);
        Ok(is_there.then(|| self.txn.row_id(access)))
    }

    /// Processes the result of the first verb; returns whether the read is then settled.
    #[inline(always)]
    fn is_settled_at_once(&mut self, pending: &mut Pending) -> Result<bool, TxnError> {
        self.txn.batch.clear_verbs();
        if let Step::Bucket(bucket) = pending.step {
            self.advance_bucket(pending, bucket)?;
        }
        Ok(matches!(pending.step, Step::Settled))
    }

    /// Does the rest: reads the row to which a leaf or slot leads, or settles an unusual case.
    async fn settle_lone(&mut self, mut pending: Pending) -> Result<(), TxnError> {
        if matches!(pending.step, Step::Leaf(_) | Step::Seen(_)) && self.advance(&mut pending)? {
            Box::pin(self.find_and_advance(&mut pending)).await?;
        }
        if !self.txn.batch.is_empty() {
            self.execute().await?;
        }
        match pending.step {
            Step::Row(row) if self.finish_row(pending.access, row, pending.span) => Ok(()),
            _ => self.settle_unusual(&pending).await,
        }
    }
}
