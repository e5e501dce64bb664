//! The engine's operations, compiled once for each world.
//!
//! The engine is generic over [`Env`], and the compiler generates optimised generic code again in
//! every crate that uses it. Sessions therefore reach the engine through a table of functions,
//! which this crate fills for its two worlds: [`LocalEnv`], where verbs complete at once, and with
//! the feature `remote` [`DynEnv`](fabric::DynEnv) for all others. Users of this crate compile only
//! the call through the table, and accessors of rows. See
//! docs/decisions/0291-the-engine-is-compiled-once-per-world.md.
//!
//! To add an operation: a field of [`Operations`], a function below that calls the generic code,
//! and a method in `calls.rs` of [`Transaction`](crate::Transaction), [`Lane`] or [`Database`] that
//! calls the field.

mod answer;
mod calls;

pub use answer::Answer;

use crate::abort::{Abort, Outcome, TxnError};
use crate::catalog::check::StructureReport;
use crate::catalog::{Catalog, CatalogError, IndexId, TableId, TableMemory, TableSpec};
use crate::database::{Database, DatabaseConfig};
use crate::detach::run_lane_detached;
use crate::lane::{KnownLeaves, Lane, LaneError, LaneInner};
use crate::parked::Parked;
use crate::read::Columns;
use crate::read::access::RowId;
use crate::read::scan::Scan;
use crate::read::steps::{ScanSteps, VisitSteps};
use crate::read::value::Visitor;
use crate::read::visit::VisitPart;
use crate::snapshot::freezer::FreezeError;
use crate::snapshot::slot::{Departure, SlotSupply};
use fabric::{Env, FabricError, LocalEnv};
use layout::{IndexDesign, Key, LongValues, NodeId, OutOfLine, PartRule};
use std::sync::Arc;

/// A world for which this crate compiles the engine.
pub trait EngineEnv: Env {
    /// The engine's operations in this world.
    fn operations() -> &'static Operations<Self>;
}

impl EngineEnv for LocalEnv {
    fn operations() -> &'static Operations<Self> {
        static OPERATIONS: Operations<LocalEnv> = Operations::new();
        &OPERATIONS
    }
}

#[cfg(feature = "remote")]
impl EngineEnv for fabric::DynEnv {
    fn operations() -> &'static Operations<Self> {
        static OPERATIONS: Operations<fabric::DynEnv> = Operations::new();
        &OPERATIONS
    }
}

/// The owned part of a session's lane: `None` while a commit runs that a dropped future must not
/// stop.
type SessionLane<E> = Option<Box<LaneInner<E>>>;

/// The engine of one world, as functions that are compiled in this crate.
#[expect(clippy::type_complexity, reason = "an alias would hide the signature of an operation")]
pub struct Operations<E: Env> {
    pub(crate) begin: for<'a> fn(&'a mut LaneInner<E>) -> Answer<'a, Result<(), Abort>>,
    pub(crate) commit: for<'a> fn(&'a mut SessionLane<E>) -> Answer<'a, Outcome>,
    renew_snapshot: for<'a> fn(&'a mut LaneInner<E>) -> Answer<'a, Result<(), Abort>>,
    exists_now: for<'a> fn(&'a mut LaneInner<E>, RowId) -> Answer<'a, Result<bool, TxnError>>,
    has_changed: for<'a> fn(&'a mut LaneInner<E>, RowId) -> Answer<'a, Result<bool, TxnError>>,
    pub(crate) has_gap_changed:
        for<'a> fn(&'a mut LaneInner<E>, RowId) -> Answer<'a, Result<bool, TxnError>>,
    pub(crate) rest: for<'a> fn(&'a mut LaneInner<E>) -> Answer<'a, Result<(), Abort>>,
    pub(crate) park: for<'a> fn(&'a mut LaneInner<E>) -> Answer<'a, Result<Parked<E>, Abort>>,
    pub(crate) resume: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a mut Option<Parked<E>>,
    ) -> Answer<'a, Result<(), Abort>>,
    pub(crate) take_back: fn(Box<LaneInner<E>>),
    pub(crate) collect_garbage: for<'a> fn(&'a mut SessionLane<E>) -> Answer<'a, Result<(), Abort>>,
    pub(crate) prefetch: fn(&LaneInner<E>, &[(TableId, Key)]),
    pub(crate) prefetch_lookup: fn(&LaneInner<E>, IndexId, &Key),
    read: for<'a> fn(
        &'a mut LaneInner<E>,
        TableId,
        &'a Key,
    ) -> Answer<'a, Result<Option<RowId>, TxnError>>,
    read_columns: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a [(TableId, Key)],
        &'a [Columns],
        &'a mut Vec<Option<RowId>>,
    ) -> Answer<'a, Result<(), TxnError>>,
    insert:
        for<'a> fn(&'a mut LaneInner<E>, TableId, &'a Key) -> Answer<'a, Result<RowId, TxnError>>,
    insert_many: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a [(TableId, Key)],
        &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>>,
    scan: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a Scan,
        &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>>,
    scan_many: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a [Scan],
        &'a mut Vec<Vec<RowId>>,
    ) -> Answer<'a, Result<(), TxnError>>,
    scan_step: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a mut ScanSteps,
        (usize, usize),
        &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<bool, TxnError>>,
    lookup: for<'a> fn(
        &'a mut LaneInner<E>,
        IndexId,
        &'a Key,
        &'a mut Vec<RowId>,
    ) -> Answer<'a, Result<(), TxnError>>,
    for_each:
        for<'a> fn(&'a mut LaneInner<E>, TableId, Visitor<'a>) -> Answer<'a, Result<(), TxnError>>,
    for_each_in_part: for<'a> fn(
        &'a mut LaneInner<E>,
        TableId,
        Option<VisitPart>,
        Visitor<'a>,
    ) -> Answer<'a, Result<Option<VisitPart>, TxnError>>,
    visit_step: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a mut VisitSteps,
        Visitor<'a>,
    ) -> Answer<'a, Result<bool, TxnError>>,
    read_values: for<'a> fn(
        &'a mut LaneInner<E>,
        &'a [Option<OutOfLine>],
        &'a mut LongValues,
    ) -> Answer<'a, Result<(), TxnError>>,
    read_leaves: for<'a> fn(&'a mut Lane<E>, TableId) -> Answer<'a, Result<KnownLeaves, TxnError>>,
    take_leaves:
        for<'a> fn(&'a mut Lane<E>, TableId, &'a KnownLeaves) -> Answer<'a, Result<(), TxnError>>,
    pub(crate) create:
        fn(E, Vec<NodeId>, DatabaseConfig) -> Answer<'static, Result<Database<E>, CatalogError>>,
    lane: for<'a> fn(&'a Database<E>) -> Answer<'a, Result<Lane<E>, LaneError>>,
    refresh: for<'a> fn(&'a Database<E>) -> Answer<'a, Result<Arc<Catalog>, CatalogError>>,
    memory_usage: for<'a> fn(&'a Database<E>) -> Answer<'a, Result<Vec<TableMemory>, CatalogError>>,
    populate: for<'a> fn(&'a Database<E>, u64) -> Answer<'a, Result<(), CatalogError>>,
    vector: for<'a> fn(&'a Database<E>) -> Answer<'a, Result<Vec<u64>, CatalogError>>,
    check_tables: for<'a> fn(
        &'a Database<E>,
        &'a dyn Fn(&str) -> bool,
    ) -> Answer<'a, Result<StructureReport, CatalogError>>,
    create_table:
        for<'a> fn(&'a Database<E>, TableSpec) -> Answer<'a, Result<TableId, CatalogError>>,
    create_in_parts: for<'a> fn(
        &'a Database<E>,
        TableSpec,
        &'a [u16],
        PartRule,
    ) -> Answer<'a, Result<TableId, CatalogError>>,
    drop_table: for<'a> fn(&'a Database<E>, &'a str) -> Answer<'a, Result<(), CatalogError>>,
    drop_tables: for<'a> fn(&'a Database<E>, &'a [&'a str]) -> Answer<'a, Result<(), CatalogError>>,
    create_index: for<'a> fn(
        &'a Database<E>,
        &'a str,
        IndexDesign,
    ) -> Answer<'a, Result<IndexId, CatalogError>>,
    drop_index:
        for<'a> fn(&'a Database<E>, &'a str, &'a str) -> Answer<'a, Result<(), CatalogError>>,
    collect_vectors:
        for<'a> fn(&'a Database<E>, &'a dyn Fn() -> bool) -> Answer<'a, Result<(), FreezeError>>,
    fetch_vectors:
        for<'a> fn(&'a Database<E>, &'a dyn Fn() -> bool) -> Answer<'a, Result<(), FabricError>>,
    slots: for<'a> fn(&'a Database<E>) -> Answer<'a, Result<SlotSupply, FabricError>>,
    leave: for<'a> fn(&'a Database<E>, u64) -> Answer<'a, Result<Departure, FabricError>>,
}

impl<E: EngineEnv> Operations<E> {
    /// Names the generic engine in this world, so that this crate compiles it.
    const fn new() -> Self {
        Self {
            begin: |lane| Answer::of::<E>(lane.begin()),
            commit: |owned| Answer::of::<E>(commit(owned)),
            renew_snapshot: |lane| Answer::of::<E>(lane.renew_snapshot()),
            exists_now: |lane, row| Answer::of::<E>(lane.exists_now(row)),
            has_changed: |lane, row| Answer::of::<E>(lane.has_changed(row)),
            has_gap_changed: |lane, row| Answer::of::<E>(lane.has_gap_changed(row)),
            rest: |lane| Answer::of::<E>(lane.rest()),
            park: |lane| Answer::of::<E>(lane.park()),
            resume: |lane, parked| Answer::of::<E>(lane.resume(parked)),
            take_back: |lane| lane.shared.clone().take_back(lane),
            collect_garbage: |owned| Answer::of::<E>(collect_garbage(owned)),
            prefetch: LaneInner::prefetch,
            prefetch_lookup: |lane, index, key| lane.prefetch_lookup(index, key),
            read: |lane, table, key| Answer::of::<E>(lane.read(table, key)),
            read_columns: |lane, reads, columns, found| {
                Answer::of::<E>(lane.read_columns(reads, columns, found))
            },
            insert: |lane, table, key| Answer::of::<E>(lane.insert(table, key)),
            insert_many: |lane, inserts, rows| Answer::of::<E>(lane.insert_many(inserts, rows)),
            scan: |lane, scan, rows| Answer::of::<E>(lane.scan(scan, rows)),
            scan_many: |lane, scans, rows| Answer::of::<E>(lane.scan_many(scans, rows)),
            scan_step: |lane, steps, bounds, rows| {
                Answer::of::<E>(lane.scan_step(steps, bounds, rows))
            },
            lookup: |lane, index, key, rows| Answer::of::<E>(lane.lookup(index, key, rows)),
            for_each: |lane, table, visitor| Answer::of::<E>(lane.for_each(table, visitor)),
            for_each_in_part: |lane, table, part, visitor| {
                Answer::of::<E>(lane.for_each_in_part(table, part, visitor))
            },
            visit_step: |lane, steps, visitor| Answer::of::<E>(lane.visit_step(steps, visitor)),
            read_values: |lane, wanted, values| Answer::of::<E>(lane.read_values(wanted, values)),
            read_leaves: |lane, table| Answer::of::<E>(lane.read_leaves_generic(table)),
            take_leaves: |lane, table, known| {
                Answer::of::<E>(lane.take_leaves_generic(table, known))
            },
            create: |env, servers, config| Answer::of::<E>(create(env, servers, config)),
            lane: |database| Answer::of::<E>(database.lane_generic()),
            refresh: |database| Answer::of::<E>(database.refresh_generic()),
            memory_usage: |database| Answer::of::<E>(database.memory_usage_generic()),
            populate: |database, bytes| Answer::of::<E>(database.populate_generic(bytes)),
            vector: |database| Answer::of::<E>(database.vector_generic()),
            check_tables: |database, wanted| Answer::of::<E>(database.check_tables_generic(wanted)),
            create_table: |database, spec| Answer::of::<E>(database.create_table_generic(spec)),
            create_in_parts: |database, spec, servers, rule| {
                Answer::of::<E>(database.create_in_parts_generic(spec, servers, rule))
            },
            drop_table: |database, name| Answer::of::<E>(database.drop_table_generic(name)),
            drop_tables: |database, names| Answer::of::<E>(database.drop_tables_generic(names)),
            create_index: |database, table, design| {
                Answer::of::<E>(database.create_index_generic(table, design))
            },
            drop_index: |database, table, index| {
                Answer::of::<E>(database.drop_index_generic(table, index))
            },
            collect_vectors: |database, is_wanted| {
                Answer::of::<E>(database.collect_vectors_generic(is_wanted))
            },
            fetch_vectors: |database, is_wanted| {
                Answer::of::<E>(database.fetch_vectors_generic(is_wanted))
            },
            slots: |database| Answer::of::<E>(database.slots_generic()),
            leave: |database, wait_ns| Answer::of::<E>(database.leave_generic(wait_ns)),
        }
    }
}

async fn commit<E: Env>(owned: &mut SessionLane<E>) -> Outcome {
    if !E::IMMEDIATE {
        return crate::commit::commit_detached(owned).await;
    }
    // No verb waits here, so the caller cannot drop the commit half way.
    let lane = owned.as_mut().expect("a running transaction has its lane");
    match lane.commit_at_once() {
        Some(outcome) => outcome,
        None => lane.commit().await,
    }
}

async fn collect_garbage<E: Env>(owned: &mut SessionLane<E>) -> Result<(), Abort> {
    if E::IMMEDIATE {
        return owned.as_mut().expect("nothing here ever waits").collect_all().await;
    }
    let collect = async |inner: &mut LaneInner<E>| inner.collect_all().await;
    run_lane_detached(owned, collect).await.unwrap_or(Err(Abort::Unreachable))
}

async fn create<E: EngineEnv>(
    env: E,
    servers: Vec<NodeId>,
    config: DatabaseConfig,
) -> Result<Database<E>, CatalogError> {
    Database::create_generic(E::operations(), env, servers, config).await
}
