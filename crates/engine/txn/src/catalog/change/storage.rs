//! Allocates the memory of new tables and indexes.

use crate::catalog::definition::{
    ENTRY_SLOTS, HashRoot, IndexDefinition, IndexState, IndexStorage, TableStorage, TreeRoot,
    bucket_layout,
};
use crate::catalog::{CatalogError, TableSpec, check_index, index_label, table_label};
use crate::database::{Database, Placed};
use fabric::Env;
use index::hash::Locator;
use layout::{
    BucketLayout, IndexDesign, IndexKind, LeafLayout, Placement, RowLayout, Schema, Storage,
};
use memory::Pool;

/// Planned share of used slots in a hash index, in percent.
const ENTRY_LOAD_PERCENT: u64 = 60;

impl<E: Env> Database<E> {
    pub(super) async fn create_storages(
        &self,
        spec: &TableSpec,
        number: u32,
        first_index: u32,
    ) -> Result<(TableStorage, Vec<IndexDefinition>), CatalogError> {
        let row = spec.schema.row_layout(!self.env.is_coherent());
        let server = spec.design.server;
        let placed = Placed { label: table_label(number), server };
        let storage = self.create_primary(spec, row, placed).await?;
        let mut indexes = Vec::new();
        for (number, design) in (first_index..).zip(&spec.indexes) {
            let placed = Placed { label: index_label(number), server };
            let storage = self.create_entries(&spec.schema, design, placed).await?;
            let design = design.clone();
            indexes.push(IndexDefinition { number, design, storage, state: IndexState::Readable });
        }
        Ok((storage, indexes))
    }

    async fn create_primary(
        &self,
        spec: &TableSpec,
        row: RowLayout,
        placed: Placed,
    ) -> Result<TableStorage, CatalogError> {
        let design = &spec.design;
        if design.storage == Storage::Tree {
            let root = self.create_tree(row.key_words, design.node_bytes, placed).await?;
            return Ok(TableStorage::Tree(root));
        }
        let (layout, rows) = bucket_layout(design, row);
        let slots = u64::from(design.neighbourhood);
        let buckets = match &design.placement {
            Placement::Hashed { load_percent } => {
                design.size_hint.saturating_mul(100).div_ceil(slots * u64::from(*load_percent))
            }
            Placement::Dense { columns } => {
                let rows = columns
                    .iter()
                    .fold(1_u64, |product, &(_, count)| product.saturating_mul(count));
                rows.div_ceil(slots)
            }
        };
        let locator = Locator::new(&spec.schema, &design.placement, design.neighbourhood);
        let root = self.create_hash(layout, rows, locator, buckets.max(1), placed).await?;
        Ok(TableStorage::Hash(root))
    }

    async fn create_hash(
        &self,
        layout: BucketLayout,
        rows: bool,
        locator: Locator,
        buckets: u64,
        placed: Placed,
    ) -> Result<HashRoot, CatalogError> {
        let (label, nodes) = (placed.label, self.shared.nodes(placed));
        let table =
            index::hash::create(&self.env, &nodes, label, layout, rows, locator, buckets).await?;
        let index::hash::HashTable { root, initial_buckets, segment_shift, .. } = table;
        Ok(HashRoot { root, initial_buckets, segment_shift })
    }

    async fn create_tree(
        &self,
        key_words: u32,
        node_bytes: u32,
        placed: Placed,
    ) -> Result<TreeRoot, CatalogError> {
        let (label, node) = (placed.label, self.shared.nodes(placed)[0]);
        let layout = LeafLayout::within(node_bytes, key_words, 1, !self.env.is_coherent());
        let mut pool = Pool::new(label, vec![node]);
        let tree = index::tree::create_tree(&self.env, &mut pool, node, layout).await?;
        Ok(TreeRoot { root: tree.root, node, node_bytes })
    }

    pub(super) async fn create_entries(
        &self,
        schema: &Schema,
        design: &IndexDesign,
        placed: Placed,
    ) -> Result<IndexStorage, CatalogError> {
        check_index(schema, design)?;
        let columns = design.columns.iter();
        let column_bytes = columns.map(|&column| schema.key_part_bytes(column)).sum();
        let key_words = schema.index_key_words(&design.columns);
        match design.kind {
            IndexKind::Tree => {
                let root = self.create_tree(key_words, design.node_bytes, placed).await?;
                Ok(IndexStorage::Tree(root))
            }
            IndexKind::Hash => {
                let layout = BucketLayout::outside(ENTRY_SLOTS, key_words);
                let slots = u64::from(ENTRY_SLOTS) * ENTRY_LOAD_PERCENT;
                let buckets = design.size_hint.saturating_mul(100).div_ceil(slots).max(1);
                let locator = Locator::Prefix { bytes: column_bytes };
                let root = self.create_hash(layout, false, locator, buckets, placed).await?;
                Ok(IndexStorage::Hash(root))
            }
        }
    }
}
