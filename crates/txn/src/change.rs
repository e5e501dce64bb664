//! Changing the catalog while transactions run: tables and indexes come and go in steps, each of which
//! waits until every lane has taken note of it.
//!
//! Changes run side by side. Each step that alters a definition reads it, and is refused by the shard if
//! somebody else altered it in between; then it reads again. An index that others may meanwhile have
//! dropped, alone or with its table, is always looked for again by its number.

use crate::catalog::{
    Catalog, CatalogError, INDEXES_MAX, IndexId, TableId, TableSpec, check_design, check_index,
    index_label, table_label,
};
use crate::database::{Database, Oracle, Placed};
use crate::definition::{
    ENTRY_SLOTS, HashRoot, IndexDefinition, IndexState, IndexStorage, TableDefinition,
    TableStorage, TreeRoot, bucket_layout,
};
use crate::detach::detached;
use crate::step::ChangeStep;
use fabric::{Batch, Env, Span};
use index::hash::Locator;
use layout::oracle::{
    EPOCH, INDEXES, LANE_ACKNOWLEDGED, LANE_ACTIVE, LANE_WORDS, LANE_WORKING, SLOT_COUNT, TABLES,
};
use layout::{
    BucketLayout, IndexDesign, IndexKind, LeafLayout, NodeId, Placement, RowLayout, Schema, SlotId,
    Storage,
};
use memory::catalog::{ABSENT, Change};
use memory::{Label, Pool};
use std::sync::Arc;

/// Nanoseconds between two looks at the lanes.
const LOOK_INTERVAL_NS: u64 = 100_000;
/// Share of used slots that a hash index is planned for, in percent.
const ENTRY_LOAD_PERCENT: u64 = 60;

impl<E: Env> Database<E> {
    /// Runs a change to its end, even if nobody waits for it any more: what is left half done would stay.
    pub(crate) async fn to_its_end<T: 'static, F>(
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
        self.to_its_end(|database| async move {
            let made = database.make_tables(vec![spec]).await?;
            Ok(TableId(made[0].1))
        })
        .await
    }

    /// Makes tables that nobody knows of before all are stored; answers their names and numbers. If one cannot be made, those
    /// before it are taken back.
    pub(crate) async fn make_tables(
        &self,
        specs: Vec<TableSpec>,
    ) -> Result<Vec<(String, u32)>, CatalogError> {
        let mut made: Vec<(String, u32)> = Vec::new();
        for spec in specs {
            match self.store_table(spec).await {
                Ok(table) => made.push(table),
                Err(error) => {
                    if !made.is_empty() {
                        // What went wrong first says more; what could not be taken back is dropped by the table's name.
                        let _ = self.remove_tables(&made).await;
                    }
                    return Err(error);
                }
            }
        }
        let started = self.start_epoch(Vec::new()).await;
        self.keep_tables_max(&made).await?;
        match started {
            // Whoever begins from now on has the table; those who do not know of it need not.
            Ok(_) | Err(CatalogError::Unacknowledged) => Ok(made),
            Err(error) => Err(error),
        }
    }

    /// Makes a table's memory, and stores its definition; answers its name and number.
    async fn store_table(&self, spec: TableSpec) -> Result<(String, u32), CatalogError> {
        check_design(&spec, self.shared.servers.len())?;
        let catalog = self.refresh().await?;
        let name = spec.schema.name().to_owned();
        if catalog.table(&name).is_some() {
            return Err(CatalogError::Exists(format!("table {name}")));
        }
        if catalog.names().count() >= self.shared.config.tables {
            return Err(too_many_tables(self.shared.config.tables));
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
                self.unmake_table(&spec, number, first_index).await?;
                return Err(error);
            }
        };
        let (storage, indexes) = storages;
        self.env.reach(ChangeStep::StorageMade).await;
        let definition = TableDefinition {
            number,
            name: name.clone(),
            columns: spec.schema.columns().to_vec(),
            key: spec.schema.key().to_vec(),
            design: spec.design.clone(),
            storage,
            indexes,
        };
        if self.put(ABSENT, &definition).await? == Change::Conflict {
            // Somebody else made a table of this name meanwhile.
            self.unmake_table(&spec, number, first_index).await?;
            self.refresh().await?;
            return Err(CatalogError::Exists(format!("table {name}")));
        }
        Ok((name, number))
    }

    /// Takes back tables that were stored in the last epoch if there are too many with them: others may have
    /// stored theirs since the tables were counted. The catalog of that epoch has all that were stored
    /// before, so that the last one of too many knows of all others. Those who come to the limit together may
    /// all be refused.
    async fn keep_tables_max(&self, made: &[(String, u32)]) -> Result<(), CatalogError> {
        if self.shared.cached_catalog().names().count() <= self.shared.config.tables {
            return Ok(());
        }
        match self.remove_tables(made).await {
            // Somebody else may have dropped it.
            Ok(()) | Err(CatalogError::NoTable(_) | CatalogError::Unacknowledged) => {
                Err(too_many_tables(self.shared.config.tables))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives back the memory of a table that no definition names.
    async fn unmake_table(
        &self,
        spec: &TableSpec,
        number: u32,
        first_index: u32,
    ) -> Result<(), CatalogError> {
        let indexes = (0..spec.indexes.len() as u32).map(|n| index_label(first_index + n));
        for label in indexes.chain([table_label(number)]) {
            self.free_memory(label).await?;
        }
        Ok(())
    }

    async fn create_storages(
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

    async fn create_entries(
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

    /// Puts a definition into its shard, in place of the version that was read.
    async fn put(
        &self,
        version: u64,
        definition: &TableDefinition,
    ) -> Result<Change, CatalogError> {
        let (shard, bytes) = (self.shard_of(&definition.name), definition.encode());
        let name = &definition.name;
        let change = memory::catalog::put(&self.env, shard, name, version, &bytes).await?;
        if change == Change::Done {
            self.env.reach(ChangeStep::DefinitionStored).await;
        }
        Ok(change)
    }

    fn shard_of(&self, name: &str) -> NodeId {
        memory::catalog::shard_of(name, self.shared.servers.len() as u16)
    }

    /// Alters the definition of a table, as often as somebody else was faster. It fails without effect if
    /// `alter` does, or if the table is gone; another one of the same name is not meant.
    async fn alter(
        &self,
        table: &TableDefinition,
        alter: impl Fn(&mut TableDefinition) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        loop {
            let (version, mut definition) = self.definition(&table.name).await?;
            if definition.number != table.number {
                return Err(CatalogError::NoTable(table.name.clone()));
            }
            alter(&mut definition)?;
            if self.put(version, &definition).await? == Change::Done {
                return Ok(());
            }
        }
    }

    /// Starts an epoch without the owners of `released` and waits until every lane knows it; then their memory
    /// is free. If some lane does not come to know it in time, it is with the next change.
    async fn start_epoch(&self, released: Vec<Label>) -> Result<Arc<Catalog>, CatalogError> {
        let mut batch = Batch::new();
        let epoch = batch.fetch_and_add(self.shared.oracle.add_words(u64::from(EPOCH)), 1);
        // Other compute servers may have lanes that this one has not heard of. Those that are yet to come
        // begin in the new epoch.
        let slots = batch.read(self.shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
        let batch = self.env.execute(batch).await?;
        self.shared.note_slots(batch.word(slots.at) as u32);
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

    /// The definition of a table as the catalog now has it, with its version.
    async fn definition(&self, table: &str) -> Result<(u64, TableDefinition), CatalogError> {
        let definitions = self.shared.definitions(&self.env).await?;
        let found = definitions.into_iter().find(|(_, definition)| definition.name == table);
        found.ok_or_else(|| CatalogError::NoTable(table.to_owned()))
    }

    /// Drops a table with its indexes; of one in parts all of them, the first part before the others, so that nobody takes
    /// those that are left for the table. Of parts that are no table, since others are missing, all are dropped that are
    /// there. Transactions that began before may still use it; its memory is
    /// free when they have ended. With [`CatalogError::Unacknowledged`] the table is gone all the same, and its
    /// memory is free with a later change of the catalog.
    pub async fn drop_table(&self, name: &str) -> Result<(), CatalogError> {
        let name = name.to_owned();
        self.to_its_end(|database| async move {
            let all = database.parts_of(&name).await?;
            if all.is_empty() {
                return Err(CatalogError::NoTable(name));
            }
            database.remove_tables(&all).await
        })
        .await
    }

    /// Removes tables, each if it still has its number, and then starts one epoch without them.
    pub(crate) async fn remove_tables(&self, tables: &[(String, u32)]) -> Result<(), CatalogError> {
        let (mut labels, mut refused) = (Vec::new(), None);
        for (name, number) in tables {
            match self.remove_definition_of(name, *number).await {
                Ok(of) => labels.extend(of),
                // Somebody else was faster with this one. What else went wrong may be over for the next.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if labels.is_empty() {
            return refused.map_or(Ok(()), Err);
        }
        let started = self.start_epoch(labels).await.map(drop);
        match refused {
            None | Some(CatalogError::NoTable(_)) => started,
            Some(error) => Err(error),
        }
    }

    /// Takes a table out of the catalog; answers what its memory was handed out for.
    async fn remove_definition_of(
        &self,
        name: &str,
        number: u32,
    ) -> Result<Vec<Label>, CatalogError> {
        let definition = loop {
            let (version, definition) = self.definition(name).await?;
            if definition.number != number {
                return Err(CatalogError::NoTable(name.to_owned()));
            }
            let shard = self.shard_of(name);
            let removed = memory::catalog::remove(&self.env, shard, name, version).await?;
            if removed == Change::Done {
                break definition;
            }
        };
        self.env.reach(ChangeStep::DefinitionRemoved).await;
        // It is what the catalog had last, so these are all indexes, also those still to be filled.
        let indexes = definition.indexes.iter().map(|index| index_label(index.number));
        Ok(indexes.chain([table_label(definition.number)]).collect())
    }

    /// Makes an index over a table in use: first all transactions keep it up to date, then it is filled part by
    /// part, then it can be read.
    pub async fn create_index(
        &self,
        table: &str,
        design: IndexDesign,
    ) -> Result<IndexId, CatalogError> {
        let table = table.to_owned();
        self.to_its_end(|database| async move { database.make_index(&table, design).await }).await
    }

    async fn make_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        let (_, table) = self.definition(table).await?;
        check_room(&table, &design.name)?;
        refuse_parts(&table)?;
        let number = self.draw_number(INDEXES, 1).await?;
        let label = index_label(number);
        let placed = Placed { label, server: table.design.server };
        let storage = match self.create_entries(&table.schema()?, &design, placed).await {
            Ok(storage) => storage,
            Err(error) => {
                self.free_memory(label).await?;
                return Err(error);
            }
        };
        self.env.reach(ChangeStep::StorageMade).await;
        let index = IndexDefinition { number, design, storage, state: IndexState::Filling };
        let added = self.alter(&table, |definition| {
            check_room(definition, &index.design.name)?;
            definition.indexes.push(index.clone());
            Ok(())
        });
        match added.await {
            Ok(()) => {}
            // Whether the shard has it is not known.
            Err(error @ CatalogError::Unreachable(_)) => return Err(error),
            Err(error) => {
                self.free_memory(label).await?;
                return Err(error);
            }
        }
        if let Err(error) = self.complete_index(&table, &index).await {
            // If lanes do not take note of that in time, its memory goes back with the next change.
            let _ = self.withdraw_index(&table, &index).await;
            return Err(error);
        }
        match self.start_epoch(Vec::new()).await {
            // Whoever begins from now on may read the index; those who do not know that need not.
            Ok(_) | Err(CatalogError::Unacknowledged) => Ok(IndexId(number)),
            Err(error) => Err(error),
        }
    }

    /// Everybody keeps the index up to date; fills it; says that it can be read.
    async fn complete_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        self.start_epoch(Vec::new()).await?;
        self.fill_index(table, index).await?;
        self.env.reach(ChangeStep::IndexFilled).await;
        let readable = self.alter(table, |definition| {
            let own = index_numbered(definition, index)?;
            if own.state == IndexState::Going {
                return Err(no_index(index, table));
            }
            own.state = IndexState::Readable;
            Ok(())
        });
        readable.await
    }

    /// Takes an index out of the catalog that nobody could read yet, unless somebody else is dropping it.
    async fn withdraw_index(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
    ) -> Result<(), CatalogError> {
        let removed = self.remove_definition(table, index, IndexState::Filling).await;
        match removed {
            Ok(()) => self.start_epoch(vec![index_label(index.number)]).await.map(drop),
            Err(CatalogError::NoTable(_) | CatalogError::NoIndex(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes an index in this state out of its table's definition.
    async fn remove_definition(
        &self,
        table: &TableDefinition,
        index: &IndexDefinition,
        state: IndexState,
    ) -> Result<(), CatalogError> {
        let removed = self.alter(table, |definition| {
            if index_numbered(definition, index)?.state != state {
                return Err(no_index(index, table));
            }
            definition.indexes.retain(|other| other.number != index.number);
            Ok(())
        });
        removed.await
    }

    /// Drops an index: first nobody reads it any more, then nobody keeps it up to date, then its memory goes.
    /// With [`CatalogError::Unacknowledged`] it got stuck on the way, and can be dropped once more.
    pub async fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        let (table, index) = (table.to_owned(), index.to_owned());
        self.to_its_end(|database| async move { database.remove_index(&table, &index).await }).await
    }

    async fn remove_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        let (_, table) = self.definition(table).await?;
        refuse_parts(&table)?;
        let found = table.indexes.iter().find(|other| other.design.name == index);
        let found =
            found.ok_or_else(|| CatalogError::NoIndex(format!("{index} on {}", table.name)))?;
        let going = self.alter(&table, |definition| {
            index_numbered(definition, found)?.state = IndexState::Going;
            Ok(())
        });
        going.await?;
        self.start_epoch(Vec::new()).await?;
        self.remove_definition(&table, found, IndexState::Going).await?;
        self.start_epoch(vec![index_label(found.number)]).await.map(drop)
    }
}

fn too_many_tables(most: usize) -> CatalogError {
    CatalogError::Limit(format!("a database has at most {most} tables"))
}

/// Refuses an index that the table has already, or has no room for.
fn check_room(table: &TableDefinition, index: &str) -> Result<(), CatalogError> {
    if table.indexes.iter().any(|other| other.design.name == index) {
        return Err(CatalogError::Exists(format!("index {index}")));
    }
    if table.indexes.len() >= INDEXES_MAX {
        return Err(CatalogError::Limit(format!(
            "a table has at most {INDEXES_MAX} secondary indexes"
        )));
    }
    Ok(())
}

/// Indexes come and go part by part, and those of a table in parts have to be the same in all.
fn refuse_parts(table: &TableDefinition) -> Result<(), CatalogError> {
    let reason = "the indexes of a table in parts are made with it, and go with it";
    match table.design.part {
        None => Ok(()),
        Some(_) => Err(CatalogError::WrongKind(reason)),
    }
}

/// The index in a definition that was read again.
fn index_numbered<'a>(
    table: &'a mut TableDefinition,
    index: &IndexDefinition,
) -> Result<&'a mut IndexDefinition, CatalogError> {
    let missing = no_index(index, table);
    table.indexes.iter_mut().find(|other| other.number == index.number).ok_or(missing)
}

/// The index was dropped while it was changed.
pub(crate) fn no_index(index: &IndexDefinition, table: &TableDefinition) -> CatalogError {
    CatalogError::NoIndex(format!("{} on {}", index.design.name, table.name))
}
