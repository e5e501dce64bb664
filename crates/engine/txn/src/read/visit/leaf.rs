//! Visits the rows of one leaf of a tree.

use crate::abort::TxnError;
use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::scan::KeyedRow;
use crate::read::value::Visitor;
use crate::write::Owner;
use fabric::Env;
use index::tree::LeafView;
use layout::Key;
use layout::row::Cover;

impl<E: Env> LaneInner<E> {
    /// Visits the leaf that covers `from`, from this key on; returns the first key of the next
    /// leaf.
    pub(super) async fn visit_leaf(
        &mut self,
        table: TableId,
        from: Key,
        visit: &mut Visitor<'_>,
    ) -> Result<Option<Key>, TxnError> {
        let owner = Owner::Table(table);
        let tree = self.open.tree(owner);
        let (arena, leaves) = (self.txn.batch.arena_words() as u32, self.txn.leaves_seen.len());
        let seen = self.leaf_for(owner, &from).await?;
        let batch = &*self.txn.batch;
        let view = LeafView::new(tree.layout, batch.words(self.txn.leaves_seen[seen].span));
        self.check_collected(view.collected())?;
        // The leaf may have absorbed its right neighbour after the last visit: then it begins with
        // entries that were already visited.
        let first = view.search(from.words()).unwrap_or_else(|position| position);
        let entries: Vec<KeyedRow> =
            (first..view.count()).map(|n| KeyedRow::of(&view, n)).collect();
        let next = view.high_key();
        self.witness_leaf(seen);
        self.visit_rows(table, &entries, visit).await?;
        self.txn.leaves_seen.truncate(leaves);
        self.txn.batch.clear_verbs();
        self.txn.batch.truncate(arena);
        Ok(next)
    }

    /// Reads rows by address, visits those that the snapshot covers, and drops their accesses.
    async fn visit_rows(
        &mut self,
        table: TableId,
        rows: &[KeyedRow],
        visit: &mut Visitor<'_>,
    ) -> Result<(), TxnError> {
        let words = self.open.info(table).row.words();
        self.txn.batch.clear_verbs();
        let mut reads = Vec::with_capacity(rows.len());
        for KeyedRow { key, row } in rows {
            self.env.prefetch(*row, words);
            let key_span = self.txn.batch.put(key.words());
            let span = self.txn.batch.read_row(*row, words, Cover::AllButLink);
            reads.push((key_span, span));
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.execute().await?;
        let accesses = self.txn.accesses.len();
        for (KeyedRow { row, .. }, (key, span)) in rows.iter().zip(reads) {
            let access = self.txn.add_passing_access(table, key.at);
            if !self.finish_row(access, *row, span) {
                Box::pin(self.settle_old(access, *row, span)).await?;
            }
            self.show(access, visit);
            self.txn.accesses.truncate(accesses);
        }
        self.show_kept(table, visit).await
    }
}
