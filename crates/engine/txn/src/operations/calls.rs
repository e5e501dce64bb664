//! Methods that call the engine through its table of operations.

use super::Answer;
use crate::abort::{Abort, TxnError};
use crate::catalog::check::StructureReport;
use crate::catalog::{Catalog, CatalogError, IndexId, TableId, TableMemory, TableSpec};
use crate::database::Database;
use crate::lane::{KnownLeaves, Lane, LaneError};
use crate::read::Columns;
use crate::read::access::RowId;
use crate::read::scan::Scan;
use crate::read::steps::{ScanSteps, VisitSteps};
use crate::read::value::Visitor;
use crate::read::visit::VisitPart;
use crate::snapshot::freezer::FreezeError;
use crate::snapshot::slot::{Departure, SlotSupply};
use crate::transaction::Transaction;
use fabric::{Env, FabricError};
use layout::{IndexDesign, Key, LongValues, PartRule, RecordRef};
use std::sync::Arc;

impl<E: Env> Transaction<'_, E> {
    /// Reads one row: one round trip if rows are inlined in their buckets and the version is
    /// current.
    #[inline]
    pub fn read<'a>(
        &'a mut self,
        table: TableId,
        key: &'a Key,
    ) -> Answer<'a, Result<Option<RowId>, TxnError>> {
        let lane = self.lane();
        (lane.operations.read)(lane, table, key)
    }

    /// Reads independent rows together; `found` gets one entry per read.
    #[inline]
    pub fn read_many<'a>(
        &'a mut self,
        reads: &'a [(TableId, Key)],
        found: &'a mut Vec<Option<RowId>>,
    ) -> Answer<'a, Result<(), TxnError>> {
        self.read_columns(reads, &[], found)
    }

    /// Like [`Transaction::read_many`], but for a table with an entry in `columns`, only these
    /// columns may be read: the others may not have been fetched, and reading them panics. Such a
    /// row cannot be changed until the transaction reads its key again without this restriction;
    /// the [`RowId`] stays the same.
    #[inline]
    pub fn read_columns<'a>(
        &'a mut self,
        reads: &'a [(TableId, Key)],
        columns: &'a [Columns],
        found: &'a mut Vec<Option<RowId>>,
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.read_columns)(lane, reads, columns, found)
    }

    /// Takes a newer snapshot. The transaction keeps what it has written; all other rows are read
    /// again, and the ids of rows that it has not written are no longer valid. A conflict of a row
    /// that others have changed since the transaction wrote it shows at the commit, as ever.
    ///
    /// # Panics
    ///
    /// If the transaction is serializable: its reads are those of one moment.
    #[inline]
    pub fn renew_snapshot(&mut self) -> Answer<'_, Result<(), Abort>> {
        let lane = self.lane();
        assert!(!lane.txn.serializable, "a serializable transaction has one snapshot");
        (lane.operations.renew_snapshot)(lane)
    }

    /// Whether a row that was read still exists, perhaps in a newer version than that of the
    /// snapshot. A row that another transaction is changing counts as one that exists.
    ///
    /// # Errors
    ///
    /// If the memory server does not answer.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    pub fn exists_now(&mut self, row: RowId) -> Answer<'_, Result<bool, TxnError>> {
        let lane = self.lane();
        (lane.operations.exists_now)(lane, row)
    }

    /// Whether others have changed a row since it was read, or are changing it, so that a commit
    /// which writes it would fail.
    ///
    /// # Errors
    ///
    /// If the memory server does not answer.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    pub fn has_changed(&mut self, row: RowId) -> Answer<'_, Result<bool, TxnError>> {
        let lane = self.lane();
        (lane.operations.has_changed)(lane, row)
    }

    /// Inserts a row with this key; fill its columns with [`Transaction::update`]. Until then
    /// numbers are zero and texts empty.
    #[inline]
    pub fn insert<'a>(
        &'a mut self,
        table: TableId,
        key: &'a Key,
    ) -> Answer<'a, Result<RowId, TxnError>> {
        let lane = self.lane();
        (lane.operations.insert)(lane, table, key)
    }

    /// Inserts independent rows together: one round trip checks that their keys are free. If one is
    /// refused, `rows` ends with that row, and those before it are inserted.
    #[inline]
    pub fn insert_many<'a>(
        &'a mut self,
        inserts: &'a [(TableId, Key)],
        rows: &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.insert_many)(lane, inserts, rows)
    }

    /// Reads the rows of a range, in key order: one round trip for the leaves that the lane has in
    /// its cache, and one for the rows. Bounds are whole keys of the source, see [`Scan::low`].
    #[inline]
    pub fn scan<'a>(
        &'a mut self,
        scan: &'a Scan,
        rows: &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.scan)(lane, scan, rows)
    }

    /// Reads independent ranges together; they share round trips. `rows` gets the rows of each.
    #[inline]
    pub fn scan_many<'a>(
        &'a mut self,
        scans: &'a [Scan],
        rows: &'a mut Vec<Vec<RowId>>,
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.scan_many)(lane, scans, rows)
    }

    /// Goes on with a scan until it has found at least `pause` rows, ended or found `limit` rows;
    /// `rows` gets those of this step. Returns whether more may follow. Together the steps take as
    /// many round trips as [`Self::scan`] if `pause` is some hundreds, and read few rows in excess
    /// if it is less.
    #[inline]
    pub fn scan_step<'a>(
        &'a mut self,
        steps: &'a mut ScanSteps,
        (pause, limit): (usize, usize),
        rows: &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<bool, TxnError>> {
        let lane = self.lane();
        (lane.operations.scan_step)(lane, steps, (pause, limit), rows)
    }

    /// Reads all rows whose indexed columns have the values in `key`, which has all of them; see
    /// [`layout::Schema::encode_columns`]. To look up only leading columns in a tree index, use
    /// [`Self::scan`].
    #[inline]
    pub fn lookup<'a>(
        &'a mut self,
        index: IndexId,
        key: &'a Key,
        rows: &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.lookup)(lane, index, key, rows)
    }

    /// Visits every row of a table that the snapshot covers, without keeping the rows. The visit
    /// ignores changes of this transaction.
    pub fn for_each<'a>(
        &'a mut self,
        table: TableId,
        visit: &'a mut dyn FnMut(RecordRef<'_>),
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.for_each)(lane, table, Visitor::Plain(visit))
    }

    /// Like [`Transaction::for_each`]; the rows come with their long values.
    pub fn for_each_long<'a>(
        &'a mut self,
        table: TableId,
        visit: &'a mut dyn FnMut(RecordRef<'_>),
    ) -> Answer<'a, Result<(), TxnError>> {
        let lane = self.lane();
        (lane.operations.for_each)(lane, table, Visitor::Long { visit, rows: Vec::new() })
    }

    /// Goes on with a visit of a whole table: visits the rows of a leaf, or of some buckets.
    /// Returns whether more may follow. Otherwise as [`Self::for_each`].
    pub fn visit_step<'a>(
        &'a mut self,
        steps: &'a mut VisitSteps,
        visit: &'a mut dyn FnMut(RecordRef<'_>),
    ) -> Answer<'a, Result<bool, TxnError>> {
        let lane = self.lane();
        (lane.operations.visit_step)(lane, steps, Visitor::Plain(visit))
    }

    /// As [`Self::visit_step`]; the rows come with their long values.
    pub fn visit_step_long<'a>(
        &'a mut self,
        steps: &'a mut VisitSteps,
        visit: &'a mut dyn FnMut(RecordRef<'_>),
    ) -> Answer<'a, Result<bool, TxnError>> {
        let lane = self.lane();
        let visitor = Visitor::Long { visit, rows: Vec::new() };
        (lane.operations.visit_step)(lane, steps, visitor)
    }

    /// Visits the rows of one part of a table, with their long values: of the first part, or of the
    /// part that an earlier visit, perhaps of another transaction, has returned. Returns the next
    /// part. Of tables that are divided it visits the rows of `table` alone.
    ///
    /// A row that exists from the first visit to the last is visited at least once; one that
    /// changes meanwhile may be visited twice.
    pub fn for_each_long_in_part<'a>(
        &'a mut self,
        table: TableId,
        part: Option<VisitPart>,
        visit: &'a mut dyn FnMut(RecordRef<'_>),
    ) -> Answer<'a, Result<Option<VisitPart>, TxnError>> {
        let lane = self.lane();
        let visitor = Visitor::Long { visit, rows: Vec::new() };
        (lane.operations.for_each_in_part)(lane, table, part, visitor)
    }

    /// Reads the value of an out-of-line column into `value`; returns false if it is null. Takes
    /// one round trip, or no round trip for a value that is in the row, or that this transaction
    /// has set.
    pub async fn read_long(
        &mut self,
        row: RowId,
        column: usize,
        value: &mut Vec<u8>,
    ) -> Result<bool, TxnError> {
        let mut values = LongValues::default();
        self.read_long_many(&[(row, column)], &mut values).await?;
        value.clear();
        value.extend_from_slice(values.get(0).unwrap_or_default());
        Ok(values.get(0).is_some())
    }

    /// Reads values of out-of-line columns together: one round trip for each 4 MiB. `values` gets
    /// one entry for each element of `wanted`.
    ///
    /// # Panics
    ///
    /// If a column is not stored out of line.
    pub async fn read_long_many(
        &mut self,
        wanted: &[(RowId, usize)],
        values: &mut LongValues,
    ) -> Result<(), TxnError> {
        if let Some(abort) = self.lane().txn.doomed_by {
            return Err(abort.into());
        }
        let reference = |&(row, column): &(RowId, usize)| {
            let row = self.row(row);
            let reference = row.out_of_line(column).expect("the column is kept out of line");
            (!row.is_null(column)).then_some(reference)
        };
        let references: Vec<_> = wanted.iter().map(reference).collect();
        let lane = self.lane();
        (lane.operations.read_values)(lane, &references, values).await?;
        for (number, &(row, column)) in wanted.iter().enumerate() {
            if let Some(value) = self.row(row).in_row(column) {
                values.replace(number, value);
            }
        }
        Ok(())
    }

    /// Reads all long values of a row, for [`RecordRef::with_long`].
    pub async fn read_long_row(
        &mut self,
        row: RowId,
        values: &mut LongValues,
    ) -> Result<(), TxnError> {
        if let Some(abort) = self.lane().txn.doomed_by {
            return Err(abort.into());
        }
        let columns = self.row(row).schema().long_columns();
        let wanted: Vec<_> = columns.iter().map(|&column| (row, column)).collect();
        self.read_long_many(&wanted, values).await
    }
}

impl<E: Env> Lane<E> {
    /// Reads all leaves of a table and of its indexes, so that lookups find leaves without a call
    /// to a memory server. Returns the locations of the leaves. The lane caches as many as fit.
    ///
    /// # Errors
    ///
    /// If the table does not exist, or a memory server does not answer.
    pub async fn read_leaves(&mut self, table: TableId) -> Result<KnownLeaves, TxnError> {
        let Some(operations) = self.operations() else { return Err(Abort::Unreachable.into()) };
        (operations.read_leaves)(self, table).await
    }

    /// Copies the leaf locations that another lane has read.
    ///
    /// # Errors
    ///
    /// If the table was dropped, or a memory server does not answer.
    pub async fn take_leaves(
        &mut self,
        table: TableId,
        known: &KnownLeaves,
    ) -> Result<(), TxnError> {
        let Some(operations) = self.operations() else { return Err(Abort::Unreachable.into()) };
        (operations.take_leaves)(self, table, known).await
    }
}

impl<E: Env> Database<E> {
    /// A lane: an idle one from the pool, or a new one with a timestamp slot.
    pub fn lane(&self) -> Answer<'_, Result<Lane<E>, LaneError>> {
        (self.shared.operations.lane)(self)
    }

    /// Collects the garbage of the idle lanes of this compute server, as far as no transaction
    /// needs it. Returns the number of pieces that still wait for one.
    pub async fn collect_garbage(&self) -> Result<usize, Abort> {
        let (mut waiting, mut result) = (0, Ok(()));
        // Those that are dropped go back to the pool.
        let lanes: Vec<Lane<E>> = self.shared.take_idle().into_iter().map(Lane::new).collect();
        for mut lane in lanes {
            result = lane.collect_garbage().await.and(result);
            waiting += lane.inner.as_ref().map_or(0, |inner| inner.garbage.len());
        }
        result.map(|()| waiting)
    }

    /// Updates the cached catalog.
    pub fn refresh(&self) -> Answer<'_, Result<Arc<Catalog>, CatalogError>> {
        (self.shared.operations.refresh)(self)
    }

    /// Allocated memory per table, or per part of a table in parts, and for the system itself.
    pub fn memory_usage(&self) -> Answer<'_, Result<Vec<TableMemory>, CatalogError>> {
        (self.shared.operations.memory_usage)(self)
    }

    /// Makes every memory server touch the next `bytes` bytes that it will allocate. The first
    /// touch of a page can be expensive; this way no transaction pays for it.
    pub fn populate(&self, bytes: u64) -> Answer<'_, Result<(), CatalogError>> {
        (self.shared.operations.populate)(self, bytes)
    }

    /// The counters of the vector, for tests and reports.
    pub fn vector(&self) -> Answer<'_, Result<Vec<u64>, CatalogError>> {
        (self.shared.operations.vector)(self)
    }

    /// Checks the structure of every table and index. Meant for a database at rest.
    pub fn check(&self) -> Answer<'_, Result<StructureReport, CatalogError>> {
        self.check_tables(&|_| true)
    }

    /// Checks the structure of the tables whose names are `wanted`, with their parts and indexes.
    /// Meant for tables at rest: clients may be using other tables, or may have died and left locks
    /// there.
    pub fn check_tables<'a>(
        &'a self,
        wanted: &'a dyn Fn(&str) -> bool,
    ) -> Answer<'a, Result<StructureReport, CatalogError>> {
        (self.shared.operations.check_tables)(self, wanted)
    }

    /// Creates a table with its indexes. Every transaction that begins afterwards sees it. Like
    /// every catalog change, it runs to its end once it has begun.
    pub fn create_table(&self, spec: TableSpec) -> Answer<'_, Result<TableId, CatalogError>> {
        (self.shared.operations.create_table)(self, spec)
    }

    /// Creates a table with a part on each of these memory servers, which are positions; `rule`
    /// selects the part of a key. The parts have the names `table`, `table.1`, `table.2` and so on;
    /// each of these names denotes the whole table, which exists once all parts do. With
    /// [`PartRule::Copied`] each part has all rows: readers use the copy on [the
    /// nearest](Database::nearest_to) of these servers, and writers change all copies.
    ///
    /// # Errors
    ///
    /// As [`Database::create_table`]. The parts created until then are dropped, if memory servers
    /// answer. The division is refused if it is by ranges and the key does not begin with an
    /// integer, or if it is by hash and the placement is dense. [`CatalogError::NoTable`] if
    /// another client has dropped the created parts meanwhile.
    pub fn create_in_parts<'a>(
        &'a self,
        spec: TableSpec,
        servers: &'a [u16],
        rule: PartRule,
    ) -> Answer<'a, Result<TableId, CatalogError>> {
        (self.shared.operations.create_in_parts)(self, spec, servers, rule)
    }

    /// Drops a table with its indexes. For a table in parts, it drops all parts, the first one
    /// before the others, so that no client takes the remaining ones for the table. If other parts
    /// are missing, so that the parts are not a table, it drops those that exist. Transactions that
    /// began before may still use the table; its memory is freed when they have ended. With
    /// [`CatalogError::Unacknowledged`] the table is dropped all the same, and a later catalog
    /// change frees its memory.
    pub fn drop_table<'a>(&'a self, name: &'a str) -> Answer<'a, Result<(), CatalogError>> {
        (self.shared.operations.drop_table)(self, name)
    }

    /// Drops those of these tables that exist, each as [`Database::drop_table`] does. It waits once
    /// for the transactions that began before, not once per table.
    pub fn drop_tables<'a>(&'a self, names: &'a [&'a str]) -> Answer<'a, Result<(), CatalogError>> {
        (self.shared.operations.drop_tables)(self, names)
    }

    /// Creates an index over a table in use: first all transactions maintain it, then it is filled
    /// part by part, then transactions may read it. Filling gives rows new versions, so a database
    /// with a redo log uses the handle that logs, and keeps the definition itself.
    pub fn create_index<'a>(
        &'a self,
        table: &'a str,
        design: IndexDesign,
    ) -> Answer<'a, Result<IndexId, CatalogError>> {
        (self.shared.operations.create_index)(self, table, design)
    }

    /// Drops an index: first no transaction reads it any more, then no transaction maintains it,
    /// then its memory is freed. With [`CatalogError::Unacknowledged`] the drop stopped half way;
    /// repeat it.
    pub fn drop_index<'a>(
        &'a self,
        table: &'a str,
        index: &'a str,
    ) -> Answer<'a, Result<(), CatalogError>> {
        (self.shared.operations.drop_index)(self, table, index)
    }

    /// The number of slots of the vector that are free for new lanes, over all compute servers.
    pub fn slots(&self) -> Answer<'_, Result<SlotSupply, FabricError>> {
        (self.shared.operations.slots)(self)
    }

    /// Prepares the end of a compute server: its idle lanes collect their garbage, for at most
    /// `wait_ns`, and return their slots of the vector. Lanes in use keep their slots. After an
    /// error the remaining slots stay taken, as if the compute server had died.
    pub fn leave(&self, wait_ns: u64) -> Answer<'_, Result<Departure, FabricError>> {
        (self.shared.operations.leave)(self, wait_ns)
    }

    /// Runs the collector of a database whose compute servers all rely on one: freezes one vector
    /// after another while `is_wanted` returns true. There is one collector; it is fastest beside
    /// the oracle's memory. It also writes the copies of vectors
    /// ([`DatabaseConfig::vector_copies`](crate::DatabaseConfig)).
    ///
    /// # Errors
    ///
    /// If the oracle's memory server is unreachable, or with copies any memory server; or if
    /// another collector runs, or a holder of the lock for freezing has died
    /// ([`Self::take_over_freezing`]).
    pub async fn collect_vectors(&self, is_wanted: impl Fn() -> bool) -> Result<(), FreezeError> {
        (self.shared.operations.collect_vectors)(self, &is_wanted).await
    }

    /// Fetches one frozen vector after another for the lanes of this compute server while
    /// `is_wanted` returns true. Requires that the lanes share a slot
    /// ([`DatabaseConfig::shares_slot`](crate::DatabaseConfig)) and that a collector freezes
    /// ([`Self::collect_vectors`]). [`Self::leave`] ends it.
    ///
    /// It ends by itself if no collector freezes any more; lanes then take their snapshots
    /// themselves.
    ///
    /// # Errors
    ///
    /// If the oracle's memory server is unreachable.
    ///
    /// # Panics
    ///
    /// If lanes do not share a slot, vectors are not frozen, or another fetcher runs.
    pub async fn fetch_vectors(&self, is_wanted: impl Fn() -> bool) -> Result<(), FabricError> {
        (self.shared.operations.fetch_vectors)(self, &is_wanted).await
    }
}
