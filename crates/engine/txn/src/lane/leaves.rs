//! Warming a lane's leaf caches: one lane reads all leaves of a table, and others copy their
//! locations.

use super::inner::LaneInner;
use super::open::OpenCatalog;
use crate::abort::{Abort, TxnError};
use crate::catalog::{CatalogError, Primary, Secondary, TableId};
use crate::lane::Lane;
use crate::transaction::Isolation;
use crate::write::Owner;
use fabric::{Batch, Env};
use index::tree::LeafCache;
use layout::Key;

/// The locations of the leaves of some trees.
#[derive(Clone, Debug, Default)]
pub struct KnownLeaves {
    trees: Vec<(Owner, LeafCache)>,
}

impl<E: Env> Lane<E> {
    pub(crate) async fn read_leaves_generic(
        &mut self,
        table: TableId,
    ) -> Result<KnownLeaves, TxnError> {
        let mut transaction = self.begin(Isolation::Snapshot).await?;
        let lane = transaction.lane();
        lane.open_table(table).await?;
        let mut known = KnownLeaves::default();
        for owner in lane.open.trees_of(table) {
            lane.read_leaves_of(owner).await?;
            known.trees.push((owner, lane.open.leaf_cache(owner).clone()));
        }
        Ok(known)
    }

    pub(crate) async fn take_leaves_generic(
        &mut self,
        table: TableId,
        known: &KnownLeaves,
    ) -> Result<(), TxnError> {
        let mut transaction = self.begin(Isolation::Snapshot).await?;
        let lane = transaction.lane();
        lane.open_table(table).await?;
        let own = lane.open.trees_of(table);
        for (owner, leaves) in &known.trees {
            if !own.contains(owner) {
                return Err(Abort::CatalogChanged.into());
            }
            // Lookups never read copies that are not the nearest.
            if lane.open.is_read(*owner) {
                lane.open.leaf_cache(*owner).clone_from(leaves);
            }
        }
        Ok(())
    }
}

impl OpenCatalog {
    /// The trees of an open table, of all its parts, and of their indexes.
    fn trees_of(&self, table: TableId) -> Vec<Owner> {
        let parts = self.info(table).parts.clone();
        let numbers = parts.as_ref().map_or(std::slice::from_ref(&table.0), |all| all.numbers());
        let of_part = |part: TableId| {
            let info = self.info(part);
            let rows = matches!(info.primary, Primary::Tree(_)).then_some(Owner::Table(part));
            let indexes = info.indexes.iter().filter_map(|&index| {
                let is_tree = matches!(self.index_info(index).storage, Secondary::Tree(_));
                is_tree.then_some(Owner::Index(index))
            });
            rows.into_iter().chain(indexes).collect::<Vec<_>>()
        };
        numbers.iter().copied().map(TableId).flat_map(of_part).collect()
    }

    /// Whether lookups read this tree: they skip copies that are not the nearest.
    fn is_read(&self, owner: Owner) -> bool {
        let (number, parts) = match owner {
            Owner::Table(table) => (table.0, &self.info(table).parts),
            Owner::Index(index) => (index.0, &self.index_info(index).parts),
        };
        parts.as_ref().is_none_or(|parts| parts.of_all_rows().contains(&number))
    }
}

impl<E: Env> LaneInner<E> {
    async fn read_leaves_of(&mut self, owner: Owner) -> Result<(), TxnError> {
        let (tree, env) = (self.open.tree(owner), self.env.clone());
        let mut from = Key::lowest(tree.layout.key_words);
        let mut batch = Batch::new();
        loop {
            batch.reset();
            let found = index::tree::find_leaf(
                &env,
                batch,
                &tree,
                self.open.leaf_cache(owner),
                from.words(),
            );
            let (read, leaf) = found.await?;
            batch = read;
            let Some(next) = leaf.view(&batch, &tree).high_key() else { return Ok(()) };
            if next <= from {
                let reason = "a leaf ends before it begins".to_owned();
                return Err(CatalogError::Damaged(reason).into());
            }
            from = next;
        }
    }
}
