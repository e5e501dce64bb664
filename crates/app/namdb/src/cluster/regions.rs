//! Where the regions of a database with replicas are, for a process that runs transactions.
//!
//! When a memory server dies, each process first learns that its regions are closed, then drains:
//! whatever may hold a lock there ends. It tells so in the registry, and a memory server promotes
//! replicas when all processes have.
//!
//! Decision: docs/decisions/0317-processes-confirm-in-the-registry-that-they-have-drained.md

use crate::host::{sleep_ms, spawn};
use fabric::SharedAddressMap;
use membership::{ClusterMap, DatabaseRoot, Registry};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use txn::{Drain, LockHolders};

/// Between two looks at what is in progress.
const LOOK_MS: u64 = 1;
/// Between two looks whether replicas were promoted, which a follower would see later.
const PROMOTED_LOOK_MS: u64 = 10;
const PROMOTED_LOOK_MS_MAX: u64 = 200;
/// Pause after an attempt to reach the registry.
const RETRY_MS: u64 = 50;

/// The regions of a database as the cluster's map has them. Clones are the same.
#[derive(Clone)]
pub struct Regions {
    root: DatabaseRoot,
    addresses: SharedAddressMap,
    holders: Arc<LockHolders>,
    /// `None` for a process that is no member: nobody waits for it.
    wanted: Option<Arc<Wanted>>,
}

/// The newest epoch with closed regions.
#[derive(Default)]
struct Wanted {
    epoch: Mutex<u64>,
    changed: Condvar,
    is_over: AtomicBool,
    drained: AtomicU64,
}

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.epoch.lock().expect("no holder panics")
    }
}

impl Regions {
    /// The regions of a database for a visitor.
    pub fn new(root: &DatabaseRoot, map: &ClusterMap) -> Self {
        let addresses = SharedAddressMap::new(map.address_map(root));
        Self { root: root.clone(), addresses, holders: Arc::default(), wanted: None }
    }

    /// Lets the member with this identity drain and tell so, on a thread of its own.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn of_member(self, registry: &Registry, identity: u64) -> std::io::Result<Self> {
        if self.root.replicas == 1 {
            return Ok(self);
        }
        let wanted = Arc::<Wanted>::default();
        let regions = Self { wanted: Some(wanted.clone()), ..self };
        let (registry, own) = (registry.clone(), regions.clone());
        let drainer = Drainer { regions: own, wanted, registry, identity };
        spawn("drain", move || drainer.run())?;
        Ok(regions)
    }

    /// Takes over a map of the cluster.
    pub fn note(&self, map: &ClusterMap) {
        if self.root.replicas == 1 {
            return;
        }
        let addresses = map.address_map(&self.root);
        let is_closed = addresses.closed().next().is_some();
        // Two threads read the record, each at its own time.
        let is_current = self.addresses.change(|known| known.take_over(addresses));
        if is_current
            && is_closed
            && let Some(wanted) = &self.wanted
        {
            let mut epoch = wanted.lock();
            *epoch = map.epoch.max(*epoch);
            wanted.changed.notify_all();
        }
    }

    /// The map for the process's connections.
    pub fn addresses(&self) -> &SharedAddressMap {
        &self.addresses
    }

    /// The works of all databases of this process that may hold locks.
    pub fn holders(&self) -> &Arc<LockHolders> {
        &self.holders
    }

    /// Ends the thread that drains.
    pub fn end(&self) {
        if let Some(wanted) = &self.wanted {
            let _epoch = wanted.lock();
            wanted.is_over.store(true, Relaxed);
            wanted.changed.notify_all();
        }
    }
}

/// Drains, and tells so.
struct Drainer {
    regions: Regions,
    wanted: Arc<Wanted>,
    registry: Registry,
    identity: u64,
}

impl Drainer {
    fn run(&self) {
        while let Some(epoch) = self.next() {
            let mut drain = Drain::new(self.regions.holders.clone());
            while !drain.is_over() && !self.is_over() {
                sleep_ms(LOOK_MS);
            }
            if drain.has_failed() {
                tracing::error!(
                    "the outcome of a commit stays undecided after a memory server has died"
                );
                return self.give_up();
            }
            self.tell(epoch);
            self.await_promoted(epoch);
        }
    }

    /// Waits until no region is closed, or another memory server has died.
    fn await_promoted(&self, epoch: u64) {
        let mut look_ms = PROMOTED_LOOK_MS;
        while !self.is_over() && *self.wanted.lock() <= epoch {
            if let Ok(map) = self.registry.map() {
                self.regions.note(&map);
                if map.address_map(&self.regions.root).closed().next().is_none() {
                    return;
                }
            }
            sleep_ms(look_ms);
            look_ms = (look_ms + look_ms.div_ceil(8)).min(PROMOTED_LOOK_MS_MAX);
        }
    }

    /// Ends the membership: others recover what this process cannot decide.
    fn give_up(&self) {
        while !self.is_over() {
            match self.registry.evict_undrained(self.identity, 0, self.identity) {
                Ok(_) => return,
                Err(error) => tracing::debug!("the registry does not know yet: {error}"),
            }
            sleep_ms(RETRY_MS);
        }
    }

    fn is_over(&self) -> bool {
        self.wanted.is_over.load(Relaxed)
    }

    /// Waits for an epoch to drain for; `None` at the end.
    fn next(&self) -> Option<u64> {
        let is_idle =
            |epoch: &mut u64| !self.is_over() && *epoch <= self.wanted.drained.load(Relaxed);
        let waited = self.wanted.changed.wait_while(self.wanted.lock(), is_idle);
        let epoch = *waited.expect("no holder panics");
        (!self.is_over()).then_some(epoch)
    }

    fn tell(&self, epoch: u64) {
        while !self.is_over() {
            match self.registry.set_drained(self.identity, epoch) {
                Ok(()) => return self.wanted.drained.store(epoch, Relaxed),
                Err(error) => tracing::debug!("the registry does not know yet: {error}"),
            }
            sleep_ms(RETRY_MS);
        }
    }
}
