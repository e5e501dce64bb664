//! Where the regions of a database with replicas are, for a process that runs transactions.
//!
//! When a memory server dies, each process first learns that its regions are closed, then drains:
//! whatever may hold a lock there ends. It tells so in the registry, and a memory server promotes
//! replicas when all processes have. In the same way processes end their changes of the catalog
//! before a memory server that has returned is filled, and drain when the database stands still for
//! that.
//!
//! Decision: docs/decisions/0317-processes-confirm-in-the-registry-that-they-have-drained.md

use crate::host::{sleep_ms, spawn};
use fabric::{AddressMap, SharedAddressMap};
use membership::{ClusterMap, DatabaseRoot, Registry};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use txn::{Drain, LockHolders};

/// Between two looks at what is in progress.
const LOOK_MS: u64 = 1;
/// Between two looks whether the next step has begun, which a follower would see later.
const NEXT_LOOK_MS: u64 = 10;
const NEXT_LOOK_MS_MAX: u64 = 200;
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

/// The newest epoch with closed regions, or with a server that is about to be filled.
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
        // Nothing goes on in a database that is lost, so what its last servers write to disk is all
        // that was acknowledged.
        if map.ensure_whole(&self.root).is_err() {
            return;
        }
        let addresses = map.address_map(&self.root);
        let is_awaited = must_drain(&addresses);
        // Two threads read the record, each at its own time.
        let is_current = self.addresses.change(|known| known.take_over(addresses));
        if is_current {
            self.addresses.tell_servers(map.holder_addresses(&self.root));
        }
        if is_current
            && is_awaited
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

/// Whether processes tell when they have drained, or ended their changes of the catalog.
fn must_drain(map: &AddressMap) -> bool {
    map.closed().next().is_some() || map.defers_changes()
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
            if self.ends_changes() {
                if self.await_changes(epoch) {
                    self.tell(epoch);
                    self.await_next(epoch);
                }
                continue;
            }
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
            self.await_next(epoch);
        }
    }

    /// Whether only changes of the catalog must end.
    fn ends_changes(&self) -> bool {
        let map = self.regions.addresses.copy();
        map.defers_changes() && !map.is_paused() && map.closed().next().is_none()
    }

    /// Waits until no change of the catalog is in progress; `false` if there is a newer epoch.
    fn await_changes(&self, epoch: u64) -> bool {
        while !self.regions.holders.are_changes_over() {
            if self.is_over() || *self.wanted.lock() > epoch || !self.ends_changes() {
                // Nobody waits for this one any more.
                self.wanted.drained.fetch_max(epoch, Relaxed);
                return false;
            }
            sleep_ms(LOOK_MS);
        }
        true
    }

    /// Waits until nothing is to be drained for, or there is a newer epoch.
    fn await_next(&self, epoch: u64) {
        let mut look_ms = NEXT_LOOK_MS;
        while !self.is_over() && *self.wanted.lock() <= epoch {
            if let Ok(map) = self.registry.map() {
                self.regions.note(&map);
                if !must_drain(&map.address_map(&self.regions.root)) {
                    return;
                }
            }
            sleep_ms(look_ms);
            look_ms = (look_ms + look_ms.div_ceil(8)).min(NEXT_LOOK_MS_MAX);
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
