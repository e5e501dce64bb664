//! The state that all handles and lanes of a compute server share, with its pool of idle lanes.

use super::{DatabaseConfig, Root};
use crate::catalog::change::SilentLanes;
use crate::catalog::definition::TableDefinition;
use crate::catalog::keeper::CatalogKeeper;
use crate::catalog::release::Released;
use crate::catalog::{Catalog, CatalogError};
use crate::collect::SharedHorizon;
use crate::lane::LaneInner;
use crate::operations::Operations;
use crate::promotion::LockHolders;
use crate::snapshot::fetch::Fetched;
use crate::snapshot::freezer::Freezers;
use crate::snapshot::freshness::Freshness;
use crate::snapshot::pins::Keeper;
use crate::snapshot::shared_slot::SharedSlot;
use crate::write::reserve::ReservedBuffers;
use fabric::Env;
use layout::{GlobalPtr, NodeId, OracleLayout, SlotId};
use memory::{Label, SharedPieces};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The owner of slots whose compute server has no identity: nobody recovers them.
pub(crate) const ANONYMOUS: u64 = 1;

/// Closes the pool of idle lanes when the last handle is dropped. Idle lanes refer to the shared
/// state, which owns them: without this, the cycle would keep the whole world alive.
pub(super) struct LanePoolGuard<E: Env>(pub(super) Arc<Shared<E>>);

impl<E: Env> Drop for LanePoolGuard<E> {
    fn drop(&mut self) {
        let idle = {
            let mut lane_pool = self.0.lane_pool();
            lane_pool.is_closed = true;
            (std::mem::take(&mut lane_pool.idle), std::mem::take(&mut lane_pool.undecided))
        };
        drop(idle);
    }
}

/// A table or index, and the memory server that has all of it, if only one does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub label: Label,
    pub server: Option<u16>,
}

/// The state that all handles and lanes of a compute server share. In the default configuration the
/// data path uses only `slot_count` and `published`.
pub(crate) struct Shared<E: Env> {
    pub operations: &'static Operations<E>,
    pub oracle: GlobalPtr,
    pub oracle_layout: OracleLayout,
    /// Copies of frozen vectors.
    pub copies: Vec<GlobalPtr>,
    /// The identity of this compute server.
    member: AtomicU64,
    pub servers: Vec<NodeId>,
    pub config: DatabaseConfig,
    slot_count: AtomicU32,
    has_collector: AtomicBool,
    /// The vectors that a fetcher has fetched for all lanes.
    pub fetched: Fetched,
    /// The memory server whose copies of tables lanes read, by position.
    pub(super) nearest: AtomicU16,
    /// The lanes for which catalog changes have waited.
    pub silent_lanes: SilentLanes,
    /// The age of the newest frozen vector, if no collector freezes.
    pub freshness: Freshness,
    /// This compute server as a holder of the lock for freezing vectors.
    pub freezers: Freezers,
    published: Vec<AtomicU64>,
    pub(super) catalog: Mutex<Arc<Catalog>>,
    /// Memory of dropped tables and indexes that lanes may still use.
    pub released: Mutex<Vec<Released>>,
    /// Free pieces that any lane may take.
    pub pieces: Arc<SharedPieces>,
    /// Version buffers for updates and deletes when memory is full.
    pub reserved: ReservedBuffers,
    shared_slot: Mutex<Option<Arc<SharedSlot>>>,
    /// Set while one of the first lanes takes the shared slots.
    pub is_taking_slot: AtomicBool,
    /// The keeper of the pins of parked transactions, if lanes have slots of their own.
    pub keeper_of_pins: Keeper,
    /// The horizon of lanes that share a slot.
    pub horizon: SharedHorizon,
    /// The lanes of the redo log, if this database has one.
    pub redo: OnceLock<redo_log::Lanes>,
    /// The keeper of its catalog.
    pub keeper: OnceLock<Arc<dyn CatalogKeeper>>,
    lane_pool: Mutex<LanePool<E>>,
    /// Number of numbers with unknown outcome that are being decided.
    pub deciding: AtomicU32,
    /// Works that may hold locks, if regions have replicas.
    lock_holders: OnceLock<Arc<LockHolders>>,
}

/// The pool of idle lanes.
pub(super) struct LanePool<E: Env> {
    idle: Vec<Box<LaneInner<E>>>,
    /// Lanes that return to the pool when their last numbers are decided.
    undecided: Vec<Box<LaneInner<E>>>,
    pub(super) made: u32,
    /// Number of lanes whose announcement is being withdrawn.
    returning: u32,
    /// The last handle is dropped, so the pool gives out no more lanes.
    is_closed: bool,
}

impl<E: Env> Default for LanePool<E> {
    fn default() -> Self {
        Self { idle: Vec::new(), undecided: Vec::new(), made: 0, returning: 0, is_closed: false }
    }
}

impl<E: Env> Shared<E> {
    /// The shared state of a new compute server, which knows neither the catalog nor other lanes
    /// yet.
    pub(super) fn new(operations: &'static Operations<E>, root: Root) -> Self {
        let Root { oracle, slots, copies, servers, config } = root;
        let oracle_layout = OracleLayout { slots };
        Self {
            operations,
            oracle,
            oracle_layout,
            copies,
            member: AtomicU64::new(ANONYMOUS),
            servers,
            config,
            slot_count: AtomicU32::new(0),
            has_collector: AtomicBool::new(false),
            fetched: Fetched::default(),
            nearest: AtomicU16::new(0),
            silent_lanes: SilentLanes::default(),
            freshness: Freshness::default(),
            freezers: Freezers::default(),
            published: (0..oracle_layout.slots).map(|_| AtomicU64::new(0)).collect(),
            catalog: Mutex::default(),
            released: Mutex::default(),
            pieces: Arc::default(),
            reserved: ReservedBuffers::default(),
            shared_slot: Mutex::default(),
            is_taking_slot: AtomicBool::new(false),
            keeper_of_pins: Keeper::default(),
            horizon: SharedHorizon::default(),
            redo: OnceLock::new(),
            keeper: OnceLock::new(),
            lane_pool: Mutex::default(),
            deciding: AtomicU32::new(0),
            lock_holders: OnceLock::new(),
        }
    }

    /// The identity with which this compute server owns slots.
    pub fn member(&self) -> u64 {
        self.member.load(Relaxed)
    }

    /// Works that may hold locks.
    #[inline]
    pub fn lock_holders(&self) -> &Arc<LockHolders> {
        self.lock_holders.get_or_init(Arc::default)
    }

    pub(super) fn count_in(&self, holders: Arc<LockHolders>) {
        assert!(self.lock_holders.set(holders).is_ok(), "works have begun");
    }

    /// Whether lanes keep journals: those of a compute server that nobody recovers do not.
    pub fn keeps_journals(&self) -> bool {
        self.config.journals && self.member() != ANONYMOUS
    }

    pub(super) fn set_member(&self, identity: u64) {
        self.freezers.set_member(identity);
        self.member.store(identity, Relaxed);
    }

    /// Maximal number of slots of the vector.
    #[inline]
    pub fn slots(&self) -> u32 {
        self.oracle_layout.slots
    }

    /// Number of slots in use, as far as this compute server knows.
    #[inline]
    pub fn slots_in_use(&self) -> u32 {
        self.slot_count.load(Relaxed)
    }

    /// Whether a collector freezes vectors all the time.
    pub fn has_collector(&self) -> bool {
        self.has_collector.load(Relaxed)
    }

    /// Records that a collector does.
    pub fn rely_on_collector(&self) {
        self.has_collector.store(true, Relaxed);
    }

    /// Records that the vector has at least `count` slots in use.
    pub fn note_slots(&self, count: u32) {
        self.slot_count.fetch_max(count.min(self.slots()), Relaxed);
    }

    /// The last number that this compute server has published for `slot`.
    pub fn published(&self, slot: SlotId) -> u64 {
        self.published[usize::from(slot.0)].load(Relaxed)
    }

    #[inline]
    pub fn note_published(&self, slot: SlotId, counter: u64) {
        self.published[usize::from(slot.0)].store(counter, Relaxed);
    }

    /// The memory servers of a table or index: the only one, or all, starting with a different one
    /// for each table or index.
    pub fn nodes(&self, owner: Placed) -> Vec<NodeId> {
        let Placed { label, server } = owner;
        if let Some(server) = server {
            return vec![self.servers[usize::from(server)]];
        }
        let mut nodes = self.servers.clone();
        nodes.rotate_left((label.0 % self.servers.len() as u64) as usize);
        nodes
    }

    /// The catalog read last.
    pub fn cached_catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().expect("no holder panics").clone()
    }

    /// The catalog of `epoch` or a later one.
    pub async fn catalog_at_least(
        &self,
        env: &E,
        epoch: u64,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let cached = self.cached_catalog();
        if cached.epoch >= epoch {
            return Ok(cached);
        }
        let definitions = self.definitions(env).await?;
        let definitions = definitions.iter().map(|(_, definition)| definition);
        let (checksummed, nearest) = (!env.is_coherent(), self.nearest.load(Relaxed));
        let catalog = Arc::new(Catalog::build(epoch, definitions, checksummed, nearest)?);
        let mut current = self.catalog.lock().expect("no holder panics");
        if current.epoch < epoch {
            let has = |label| {
                catalog.tables.iter().flatten().any(|info| info.label == label)
                    || catalog.indexes.iter().flatten().any(|info| info.label == label)
            };
            self.pieces.retain(has);
            self.reserved.retain(has);
            *current = catalog;
        }
        Ok(current.clone())
    }

    /// All definitions of all shards, each with its version.
    pub async fn definitions(&self, env: &E) -> Result<Vec<(u64, TableDefinition)>, CatalogError> {
        let mut definitions = Vec::new();
        for &server in &self.servers {
            for kept in memory::catalog::list(env, server).await? {
                definitions.push((kept.version, TableDefinition::decode(&kept.definition)?));
            }
        }
        Ok(definitions)
    }

    /// Returns a lane to the pool. If it is announced, a task of its own first withdraws the
    /// announcement: collection and catalog changes would wait for an idle lane.
    pub fn take_back(self: &Arc<Self>, mut inner: Box<LaneInner<E>>) {
        if inner.identity.drawn.is_some() {
            // A thread panicked in the middle of a commit.
            inner.identity.poison();
        }
        if inner.identity.is_poisoned && !inner.identity.revive() {
            return self.wait_for_decision(inner);
        }
        inner.txn.batch.reset();
        inner.end_resumed();
        if inner.identity.is_announced {
            self.withdraw_and_return(inner);
        } else {
            self.return_to_pool(inner);
        }
    }

    #[cold]
    fn withdraw_and_return(self: &Arc<Self>, inner: Box<LaneInner<E>>) {
        self.lane_pool().returning += 1;
        let env = inner.env.clone();
        let mut returning = Returning { shared: self.clone(), inner: Some(inner) };
        env.spawn(async move {
            let inner = returning.inner.as_mut().expect("it is on its way until it is dropped");
            // If the memory server is unreachable, collection stops waiting for the lane after E.
            let _ = inner.rest().await;
        });
    }

    /// Keeps a lane until its numbers are decided.
    #[cold]
    fn wait_for_decision(&self, inner: Box<LaneInner<E>>) {
        let mut lane_pool = self.lane_pool();
        if inner.identity.is_being_decided() && !lane_pool.is_closed {
            lane_pool.undecided.push(inner);
        }
    }

    fn return_to_pool(&self, inner: Box<LaneInner<E>>) {
        let mut lane_pool = self.lane_pool();
        if !lane_pool.is_closed {
            lane_pool.idle.push(inner);
        }
    }

    /// The slots that all lanes share, if they do.
    pub fn shared_slot(&self) -> MutexGuard<'_, Option<Arc<SharedSlot>>> {
        self.shared_slot.lock().expect("no holder panics")
    }

    pub(super) fn lane_pool(&self) -> MutexGuard<'_, LanePool<E>> {
        self.lane_pool.lock().expect("no holder panics")
    }

    /// Removes an idle lane from the pool for good.
    pub fn claim_idle(&self) -> Option<Box<LaneInner<E>>> {
        let mut lane_pool = self.lane_pool();
        lane_pool.take_decided();
        let inner = lane_pool.idle.pop()?;
        lane_pool.made -= 1;
        Some(inner)
    }

    /// Takes all idle lanes. The caller returns them.
    pub fn take_idle(&self) -> Vec<Box<LaneInner<E>>> {
        let mut lane_pool = self.lane_pool();
        lane_pool.take_decided();
        std::mem::take(&mut lane_pool.idle)
    }

    /// Whether a lane is withdrawing its announcement on its way to the pool.
    pub fn is_any_returning(&self) -> bool {
        self.lane_pool().returning > 0
    }

    /// Claims a lane: an idle one, the right to create one, or the advice to wait.
    pub(super) fn claim_lane(&self) -> Claim<E> {
        let mut lane_pool = self.lane_pool();
        lane_pool.take_decided();
        if let Some(inner) = lane_pool.idle.pop() {
            return Claim::Idle(inner);
        }
        if lane_pool.made < self.config.lanes {
            lane_pool.made += 1;
            return Claim::New;
        }
        if lane_pool.returning > 0 { Claim::Wait } else { Claim::Exhausted }
    }
}

impl<E: Env> LanePool<E> {
    /// Makes lanes idle whose last numbers were decided, and drops those that stay undecided.
    fn take_decided(&mut self) {
        if self.undecided.is_empty() {
            return;
        }
        for mut inner in std::mem::take(&mut self.undecided) {
            if inner.identity.revive() {
                inner.txn.batch.reset();
                inner.end_resumed();
                self.idle.push(inner);
            } else if inner.identity.is_being_decided() {
                self.undecided.push(inner);
            }
        }
    }
}

/// The result of claiming a lane.
pub(super) enum Claim<E: Env> {
    Idle(Box<LaneInner<E>>),
    /// The caller may create a lane, which is already counted.
    New,
    /// A lane is on its way to the pool.
    Wait,
    Exhausted,
}

/// A lane on its way to the pool. It arrives even if the task that withdraws its announcement is
/// killed.
struct Returning<E: Env> {
    shared: Arc<Shared<E>>,
    inner: Option<Box<LaneInner<E>>>,
}

impl<E: Env> Drop for Returning<E> {
    fn drop(&mut self) {
        self.shared.lane_pool().returning -= 1;
        if let Some(inner) = self.inner.take() {
            self.shared.return_to_pool(inner);
        }
    }
}
