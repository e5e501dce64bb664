//! Changing the catalog while transactions run: tables and indexes come and go in steps, each of which
//! waits until every lane has taken note of it [design §4].

use crate::catalog::{
    Catalog, CatalogError, INDEXES_MAX, IndexId, TABLES_MAX, TableId, TableSpec, check_design,
    check_index, index_label, table_label,
};
use crate::database::{Database, Oracle};
use crate::definition::{
    ENTRY_SLOTS, HashRoot, IndexDefinition, IndexStorage, TableDefinition, TableStorage, TreeRoot,
    bucket_layout,
};
use crate::detach::detached;
use crate::step::ChangeStep;
use crate::transaction::Isolation;
use crate::{Abort, Outcome};
use fabric::{Batch, Env, Span};
use index::hash::Locator;
use layout::oracle::{
    EPOCH, INDEXES, LANE_ACKNOWLEDGED, LANE_ACTIVE, LANE_WORDS, LANE_WORKING, TABLES,
};
use layout::{
    BucketLayout, IndexDesign, IndexKind, LeafLayout, Placement, RowLayout, Schema, SlotId, Storage,
};
use memory::{Label, Pool};
use std::sync::Arc;

/// Nanoseconds between two looks at the lanes.
const LOOK_INTERVAL_NS: u64 = 100_000;
/// Rows that one transaction of an index fill writes entries for.
const FILL_ROWS: usize = 256;
/// Tries of such a transaction.
const FILL_TRIES_MAX: u32 = 1000;
/// Share of used slots that a hash index is planned for, in percent.
const ENTRY_LOAD_PERCENT: u64 = 60;

impl<E: Env> Database<E> {
    /// Runs a change to its end, even if nobody waits for it any more: what is left half done would stay.
    async fn to_its_end<T: 'static, F>(
        &self,
        change: impl FnOnce(Self) -> F,
    ) -> Result<T, CatalogError>
    where
        F: Future<Output = Result<T, CatalogError>> + 'static,
    {
        let change = change(self.clone());
        if E::IMMEDIATE { change.await } else { detached(&self.env, change, drop).await }
    }

    /// Makes a table with its indexes. It is there for every transaction that begins afterwards. Like every
    /// change it goes on to its end once it has begun.
    pub async fn create_table(&self, spec: TableSpec) -> Result<TableId, CatalogError> {
        self.to_its_end(|database| async move { database.make_table(spec).await }).await
    }

    async fn make_table(&self, spec: TableSpec) -> Result<TableId, CatalogError> {
        check_design(&spec)?;
        let catalog = self.refresh().await?;
        let name = spec.schema.name().to_owned();
        if catalog.table(&name).is_some() {
            return Err(CatalogError::Exists(format!("table {name}")));
        }
        if catalog.names().count() >= TABLES_MAX {
            return Err(CatalogError::Limit(format!("a database has at most {TABLES_MAX} tables")));
        }
        let number = self.draw_number(TABLES, 1).await?;
        for (position, index) in spec.indexes.iter().enumerate() {
            if spec.indexes[..position].iter().any(|other| other.name == index.name) {
                return Err(CatalogError::Exists(format!("index {}", index.name)));
            }
        }
        let first_index = self.draw_number(INDEXES, spec.indexes.len() as u64).await?;
        let storages = match self.create_storages(&spec, number, first_index).await {
            Ok(storages) => storages,
            Err(error) => {
                // Nobody knows of the table: what was made of it goes at once.
                let indexes = (0..spec.indexes.len() as u32).map(|n| index_label(first_index + n));
                for label in indexes.chain([table_label(number)]) {
                    self.free_memory(label).await?;
                }
                return Err(error);
            }
        };
        let (storage, indexes) = storages;
        self.env.reach(ChangeStep::StorageMade).await;
        let definition = TableDefinition {
            number,
            name,
            columns: spec.schema.columns().to_vec(),
            key: spec.schema.key().to_vec(),
            design: spec.design,
            storage,
            indexes,
        };
        self.store(&definition).await?;
        Ok(TableId(number))
    }

    async fn create_storages(
        &self,
        spec: &TableSpec,
        number: u32,
        first_index: u32,
    ) -> Result<(TableStorage, Vec<IndexDefinition>), CatalogError> {
        let row = spec.schema.row_layout(!E::COHERENT);
        let storage = self.create_primary(spec, row, table_label(number)).await?;
        let mut indexes = Vec::new();
        for (number, design) in (first_index..).zip(&spec.indexes) {
            let storage = self.create_entries(&spec.schema, design, index_label(number)).await?;
            let design = design.clone();
            indexes.push(IndexDefinition { number, design, storage, is_readable: true });
        }
        Ok((storage, indexes))
    }

    /// Numbers that no table or index has had before: lanes may still know of those that were dropped.
    async fn draw_number(&self, word: u32, count: u64) -> Result<u32, CatalogError> {
        let mut batch = Batch::new();
        let drawn = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(word)), count);
        let batch = self.env.execute(batch).await?;
        u32::try_from(batch.found(drawn))
            .map_err(|_| CatalogError::Limit("numbers are used up".to_owned()))
    }

    async fn create_primary(
        &self,
        spec: &TableSpec,
        row: RowLayout,
        label: Label,
    ) -> Result<TableStorage, CatalogError> {
        let design = &spec.design;
        if design.storage == Storage::Tree {
            let root = self.create_tree(row.key_words, design.node_bytes, label).await?;
            return Ok(TableStorage::Tree(root));
        }
        let (layout, rows) = bucket_layout(design, row);
        let slots = u64::from(design.neighbourhood);
        let buckets = match &design.placement {
            Placement::Hashed { load_percent } => {
                (design.size_hint * 100).div_ceil(slots * u64::from(*load_percent))
            }
            Placement::Dense { columns } => {
                let rows = columns
                    .iter()
                    .fold(1_u64, |product, &(_, count)| product.saturating_mul(count));
                rows.div_ceil(slots)
            }
        };
        let locator = Locator::new(&spec.schema, &design.placement, design.neighbourhood);
        let root = self.create_hash(layout, rows, locator, buckets.max(1), label).await?;
        Ok(TableStorage::Hash(root))
    }

    async fn create_hash(
        &self,
        layout: BucketLayout,
        rows: bool,
        locator: Locator,
        buckets: u64,
        label: Label,
    ) -> Result<HashRoot, CatalogError> {
        let nodes = self.shared.nodes(label);
        let table =
            index::hash::create(&self.env, &nodes, label, layout, rows, locator, buckets).await?;
        let index::hash::HashTable { root, initial_buckets, segment_shift, .. } = table;
        Ok(HashRoot { root, initial_buckets, segment_shift })
    }

    async fn create_tree(
        &self,
        key_words: u32,
        node_bytes: u32,
        label: Label,
    ) -> Result<TreeRoot, CatalogError> {
        let nodes = self.shared.nodes(label);
        let node = nodes[0];
        let layout = LeafLayout::within(node_bytes, key_words, 1, !E::COHERENT);
        let mut pool = Pool::new(label, nodes);
        let tree = index::tree::create_tree(&self.env, &mut pool, node, layout).await?;
        Ok(TreeRoot { root: tree.root, node, node_bytes })
    }

    async fn create_entries(
        &self,
        schema: &Schema,
        design: &IndexDesign,
        label: Label,
    ) -> Result<IndexStorage, CatalogError> {
        check_index(schema, design)?;
        let bytes =
            |columns: &[usize]| columns.iter().map(|&c| schema.key_part_bytes(c)).sum::<u32>();
        let column_bytes = bytes(&design.columns);
        let key_words = (column_bytes + bytes(schema.key())).div_ceil(8);
        match design.kind {
            IndexKind::Tree => {
                let root = self.create_tree(key_words, design.node_bytes, label).await?;
                Ok(IndexStorage::Tree(root))
            }
            IndexKind::Hash => {
                let layout = BucketLayout::outside(ENTRY_SLOTS, key_words);
                let slots = u64::from(ENTRY_SLOTS) * ENTRY_LOAD_PERCENT;
                let buckets = (design.size_hint * 100).div_ceil(slots).max(1);
                let locator = Locator::Prefix { bytes: column_bytes };
                let root = self.create_hash(layout, false, locator, buckets, label).await?;
                Ok(IndexStorage::Hash(root))
            }
        }
    }

    /// Puts a definition into its shard and starts a new epoch; waits until every lane knows it.
    async fn store(&self, definition: &TableDefinition) -> Result<Arc<Catalog>, CatalogError> {
        self.store_and_release(definition, Vec::new()).await
    }

    /// As [`Self::store`]; memory of these labels does not belong to anything then.
    async fn store_and_release(
        &self,
        definition: &TableDefinition,
        labels: Vec<Label>,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let shard = memory::catalog::shard_of(&definition.name, self.shared.servers.len() as u16);
        memory::catalog::put(&self.env, shard, &definition.name, &definition.encode()).await?;
        self.env.reach(ChangeStep::DefinitionStored).await;
        self.start_epoch(labels).await
    }

    /// Starts an epoch without the owners of `released` and waits until every lane knows it; then their memory
    /// is free. If some lane does not come to know it in time, it is with the next change.
    async fn start_epoch(&self, released: Vec<Label>) -> Result<Arc<Catalog>, CatalogError> {
        let mut batch = Batch::new();
        let epoch = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(EPOCH)), 1);
        let batch = self.env.execute(batch).await?;
        self.env.reach(ChangeStep::EpochStarted).await;
        let epoch = batch.found(epoch) + 1;
        if !released.is_empty() {
            self.release_at(epoch, released);
        }
        let catalog = self.shared.catalog_at_least(&self.env, epoch).await?;
        if self.shared.config.oracle == Oracle::Frozen {
            let lane = self.lane().await;
            let mut lane = lane.map_err(|error| CatalogError::Limit(error.to_string()))?;
            let frozen = lane.inner().freeze_epoch(epoch).await;
            frozen.map_err(|abort| CatalogError::Unreachable(abort.to_string()))?;
        }
        self.wait_for_lanes(epoch).await?;
        self.env.reach(ChangeStep::EpochKnown).await;
        self.free_released(epoch).await?;
        Ok(catalog)
    }

    /// Waits until no lane runs a transaction that began before `epoch`: every lane is idle, has
    /// acknowledged the epoch, or has run for longer than a transaction may.
    async fn wait_for_lanes(&self, epoch: u64) -> Result<(), CatalogError> {
        let slots = self.shared.slots_in_use();
        let first = self.shared.oracle_layout.lane(self.shared.oracle, SlotId(0));
        let start_ns = self.env.now_ns();
        loop {
            let mut batch = Batch::new();
            let lanes = batch.read(first, slots.max(1) * LANE_WORDS);
            // A lane says that it works on before it says that it is at rest.
            batch.fence();
            let works = batch.read(first, slots.max(1) * LANE_WORDS);
            let batch = self.env.execute(batch).await?;
            let knows = |slot: u32| {
                let word = |words: Span, word: u32| batch.word(words.at + slot * LANE_WORDS + word);
                let is_at_rest = word(lanes, LANE_ACTIVE) == 0 && word(works, LANE_WORKING) == 0;
                is_at_rest || word(lanes, LANE_ACKNOWLEDGED) >= epoch
            };
            if (0..slots).all(knows) {
                return Ok(());
            }
            if self.env.now_ns() - start_ns > self.shared.config.transaction_time_max_ns {
                return Err(CatalogError::Unacknowledged);
            }
            self.env.sleep_ns(LOOK_INTERVAL_NS).await;
        }
    }

    /// The definition of a table as the catalog now has it.
    async fn definition(&self, table: &str) -> Result<TableDefinition, CatalogError> {
        let definitions = self.shared.definitions(&self.env).await?;
        let found = definitions.into_iter().find(|definition| definition.name == table);
        found.ok_or_else(|| CatalogError::NoTable(table.to_owned()))
    }

    /// Drops a table with its indexes. Transactions that began before may still use it; its memory is
    /// free when they have ended.
    pub async fn drop_table(&self, name: &str) -> Result<(), CatalogError> {
        let name = name.to_owned();
        self.to_its_end(|database| async move { database.remove_table(&name).await }).await
    }

    async fn remove_table(&self, name: &str) -> Result<(), CatalogError> {
        let definition = self.definition(name).await?;
        let shard = memory::catalog::shard_of(name, self.shared.servers.len() as u16);
        memory::catalog::remove(&self.env, shard, name).await?;
        self.env.reach(ChangeStep::DefinitionRemoved).await;
        let indexes = definition.indexes.iter().map(|index| index_label(index.number));
        let labels = indexes.chain([table_label(definition.number)]).collect();
        self.start_epoch(labels).await.map(drop)
    }

    /// Makes an index over a table in use: first transactions keep it up to date, then it is filled from a
    /// snapshot taken after all of them do, then it can be read.
    pub async fn create_index(
        &self,
        table: &str,
        design: IndexDesign,
    ) -> Result<IndexId, CatalogError> {
        let table = table.to_owned();
        self.to_its_end(|database| async move { database.make_index(&table, design).await }).await
    }

    async fn make_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        let mut definition = self.definition(table).await?;
        if definition.indexes.iter().any(|index| index.design.name == design.name) {
            return Err(CatalogError::Exists(format!("index {}", design.name)));
        }
        if definition.indexes.len() == INDEXES_MAX {
            return Err(CatalogError::Limit(format!(
                "a table has at most {INDEXES_MAX} secondary indexes"
            )));
        }
        let number = self.draw_number(INDEXES, 1).await?;
        let label = index_label(number);
        let storage = match self.create_entries(&definition.schema()?, &design, label).await {
            Ok(storage) => storage,
            Err(error) => {
                self.free_memory(label).await?;
                return Err(error);
            }
        };
        self.env.reach(ChangeStep::StorageMade).await;
        let name = design.name.clone();
        definition.indexes.push(IndexDefinition { number, design, storage, is_readable: false });
        self.store(&definition).await?;
        if let Err(error) = self.fill_index(TableId(definition.number), number, table, &name).await
        {
            definition.indexes.pop();
            self.store_and_release(&definition, vec![label]).await?;
            return Err(error);
        }
        self.env.reach(ChangeStep::IndexFilled).await;
        let last = definition.indexes.last_mut().expect("it was pushed above");
        last.is_readable = true;
        self.store(&definition).await?;
        Ok(IndexId(number))
    }

    /// Drops an index: first nobody reads it any more, then nobody keeps it up to date, then its memory goes.
    pub async fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        let (table, index) = (table.to_owned(), index.to_owned());
        self.to_its_end(|database| async move { database.remove_index(&table, &index).await }).await
    }

    async fn remove_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        let mut definition = self.definition(table).await?;
        let position = definition.indexes.iter().position(|other| other.design.name == index);
        let position =
            position.ok_or_else(|| CatalogError::NoIndex(format!("{index} on {table}")))?;
        definition.indexes[position].is_readable = false;
        self.store(&definition).await?;
        let removed = definition.indexes.remove(position);
        let labels = vec![index_label(removed.number)];
        self.store_and_release(&definition, labels).await.map(drop)
    }

    /// Adds an entry for every row of a snapshot, a few hundred rows per transaction.
    async fn fill_index(
        &self,
        table: TableId,
        index: u32,
        name: &str,
        index_name: &str,
    ) -> Result<(), CatalogError> {
        let mut lane = self.lane().await.map_err(|error| CatalogError::Limit(error.to_string()))?;
        let mut keys = Vec::new();
        for attempt in 0..FILL_TRIES_MAX {
            keys.clear();
            let txn = lane.begin(Isolation::Snapshot).await;
            let Ok(mut txn) = txn else { continue };
            let mut note =
                |row: layout::RecordRef<'_>| keys.push(layout::Key::from_words(row.key()));
            match txn.for_each(table, &mut note).await {
                Ok(()) => break,
                Err(error) if attempt + 1 == FILL_TRIES_MAX => {
                    return Err(CatalogError::Unreachable(error.to_string()));
                }
                Err(_) => {}
            }
        }
        for chunk in keys.chunks(FILL_ROWS) {
            self.fill_chunk(&mut lane, table, index, chunk, name, index_name).await?;
        }
        Ok(())
    }

    /// Rows that changed since the snapshot have their entry from whoever changed them; the others get it
    /// here, in a transaction that writes entries only.
    async fn fill_chunk(
        &self,
        lane: &mut crate::Lane<E>,
        table: TableId,
        index: u32,
        keys: &[layout::Key],
        name: &str,
        index_name: &str,
    ) -> Result<(), CatalogError> {
        for _ in 0..FILL_TRIES_MAX {
            let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { continue };
            let reads: Vec<_> = keys.iter().map(|&key| (table, key)).collect();
            let mut rows = Vec::new();
            if txn.read_many(&reads, &mut rows).await.is_err() {
                continue;
            }
            let filled = txn.add_index_entries(index, rows.iter().flatten()).await;
            match filled {
                Ok(Outcome::Committed) => return Ok(()),
                Ok(Outcome::Aborted(Abort::UniqueViolation)) => {
                    let (table, index) = (name.to_owned(), index_name.to_owned());
                    return Err(CatalogError::Duplicate { table, index });
                }
                Ok(Outcome::Aborted(Abort::OutOfMemory)) => {
                    return Err(CatalogError::OutOfMemory("memory servers are full".to_owned()));
                }
                _ => self.env.yield_now().await,
            }
        }
        Err(CatalogError::Unreachable(format!(
            "index {index_name} could not be filled under this load"
        )))
    }
}
