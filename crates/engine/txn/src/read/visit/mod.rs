//! Visits of whole tables: every row that the snapshot covers, in storage order.
//!
//! A visit proceeds in parts: a leaf of a tree ([`leaf`]), or some buckets of a hash table
//! ([`buckets`]).

mod buckets;
mod chain;
mod leaf;

use crate::abort::TxnError;
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::read::value::Visitor;
use crate::transaction::Transaction;
use fabric::Env;
use layout::{Key, RecordRef};

/// Minimal and maximal number of buckets in one part of a visit: each part takes some round trips.
const CHUNK_BUCKETS: std::ops::RangeInclusive<u64> = 16..=512;
/// Number of parts of a visit of a large table, within these bounds.
const CHUNKS: u64 = 256;

/// The directory when the visit began: it had `count` buckets, and every bucket had been split
/// `level` or `level + 1` times.
#[derive(Clone, Copy, Debug)]
pub struct VisitStart {
    count: u64,
    level: u32,
}

/// The position of a visit of a whole table. Each part may be visited by a transaction of its own.
/// Rows that do not change between the first and the last of these transactions are visited once;
/// others may be visited twice or not at all.
#[derive(Clone, Copy, Debug)]
pub enum VisitPart {
    /// The leaf that covers this key, from the key on.
    Leaf(Key),
    /// Some buckets, with the numbers that they had when the visit began.
    Buckets { first: u64, began: VisitStart },
}

impl<E: Env> Transaction<'_, E> {
    /// Like [`Transaction::for_each`], for a table or for a single part of it.
    pub(crate) async fn for_each_in(
        &mut self,
        table: TableId,
        visit: &mut dyn FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        let lane = self.lane().begin_statement()?;
        let visited = lane.visit_all_of(table, &mut Visitor::Plain(visit)).await;
        lane.end_statement(visited)
    }
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::for_each`], and [`Transaction::for_each_long`].
    pub(crate) async fn for_each(
        &mut self,
        table: TableId,
        mut visitor: Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.begin_statement()?;
        let visited = self.visit_table(table, &mut visitor).await;
        self.end_statement(visited)
    }

    /// [`Transaction::for_each_long_in_part`].
    pub(crate) async fn for_each_in_part(
        &mut self,
        table: TableId,
        part: Option<VisitPart>,
        mut visitor: Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        self.begin_statement()?;
        let visited = self.visit_next_part(table, part, &mut visitor).await;
        self.end_statement(visited)
    }

    async fn visit_next_part(
        &mut self,
        table: TableId,
        part: Option<VisitPart>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        let part = match part {
            Some(part) => part,
            None => self.first_part(table).await?,
        };
        self.visit_part(table, part, visitor).await
    }

    /// Visits every row of a table that the snapshot covers.
    pub(crate) async fn visit_table(
        &mut self,
        table: TableId,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.open_table(table).await?;
        let parts = self.open.info(table).parts.clone();
        let numbers =
            parts.as_ref().map_or(std::slice::from_ref(&table.0), |all| all.of_all_rows());
        for &number in numbers {
            self.visit_all_of(TableId(number), visit).await?;
        }
        Ok(())
    }

    /// Like [`Self::visit_table`], for a table without parts or for a single part.
    async fn visit_all_of(
        &mut self,
        table: TableId,
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        self.scratch.shown.clear();
        let mut next = Some(self.first_part(table).await?);
        while let Some(part) = next {
            next = self.visit_part(table, part, visit).await?;
        }
        self.note_visit(table);
        Ok(())
    }

    /// The start of a visit of a table.
    pub(crate) async fn first_part(&mut self, table: TableId) -> Result<VisitPart, TxnError> {
        self.open_table(table).await?;
        let hash = match &self.open.info(table).primary {
            Primary::Tree(tree) => return Ok(VisitPart::Leaf(Key::lowest(tree.layout.key_words))),
            Primary::Hash(hash) => hash.clone(),
        };
        let directory = index::hash::read_directory(&self.env, &hash).await?;
        let (count, level) = (hash.bucket_count(&directory), directory.level);
        self.open.table_mut(table).directory = directory;
        Ok(VisitPart::Buckets { first: 0, began: VisitStart { count, level } })
    }

    /// Visits a part of a table; returns the next part.
    pub(crate) async fn visit_part(
        &mut self,
        table: TableId,
        part: VisitPart,
        visit: &mut Visitor<'_>,
    ) -> Result<Option<VisitPart>, TxnError> {
        self.open_table(table).await?;
        match part {
            VisitPart::Leaf(from) => {
                Ok(self.visit_leaf(table, from, visit).await?.map(VisitPart::Leaf))
            }
            VisitPart::Buckets { first, began } => {
                let count = began.count;
                let chunk = (count / CHUNKS).clamp(*CHUNK_BUCKETS.start(), *CHUNK_BUCKETS.end());
                let end = (first + chunk).min(count);
                self.visit_buckets(table, began, first..end, visit).await?;
                Ok((end < count).then_some(VisitPart::Buckets { first: end, began }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::local::{OpenConfig, open};
    use crate::{Isolation, Outcome, TableSpec};
    use fabric::run_now;
    use layout::{Column, ColumnType, KeyBuilder, PhysicalDesign, Schema, Storage};

    /// Number of rows, in many leaves and buckets.
    const ROWS: i64 = 500;

    #[test]
    fn a_visit_of_a_whole_table_leaves_nothing_in_the_arena() {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("memory");
        for storage in [Storage::HashInlined, Storage::HashOutside, Storage::Tree] {
            let columns = vec![Column::new("id", ColumnType::Int8)];
            let schema = Schema::new(&format!("{storage:?}"), columns, &[0]);
            let schema = schema.expect("a valid schema");
            let design = PhysicalDesign { storage, ..PhysicalDesign::default() };
            let spec = TableSpec { schema, design, indexes: Vec::new() };
            let table = run_now(database.create_table(spec)).expect("created");
            let mut lane = run_now(database.lane()).expect("a lane");
            let mut transaction = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            for id in 0..ROWS {
                let key = KeyBuilder::new().int8(id).key();
                run_now(transaction.insert(table, &key)).expect("is free");
            }
            assert_eq!(run_now(transaction.commit()), Outcome::Committed);

            let mut transaction = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            let before = transaction.lane_ref().txn.batch.arena_words();
            let mut count = 0;
            run_now(transaction.for_each(table, &mut |_| count += 1)).expect("readable");
            let running = &transaction.lane_ref().txn;
            assert_eq!((count, running.batch.arena_words()), (ROWS, before), "{storage:?}");
            assert_eq!((running.accesses.len(), running.leaves_seen.len()), (0, 0), "{storage:?}");
        }
    }
}
