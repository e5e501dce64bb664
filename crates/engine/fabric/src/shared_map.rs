//! The address map of all engine threads of a process, and the memory servers that have taken the
//! place of others.

use crate::address_map::AddressMap;
use crate::remote::ServerAddress;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Arc, Mutex, MutexGuard};

/// An address map that threads share; clones are the same map.
#[derive(Clone, Debug)]
pub struct SharedAddressMap(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    map: Mutex<AddressMap>,
    /// Memory servers as they are known last.
    servers: Mutex<Vec<ServerAddress>>,
    /// Number of changes.
    version: AtomicU64,
}

impl SharedAddressMap {
    pub fn new(map: AddressMap) -> Self {
        let (map, servers) = (Mutex::new(map), Mutex::default());
        Self(Arc::new(Shared { map, servers, version: AtomicU64::new(0) }))
    }

    /// Tells where the memory servers are. Threads connect to those that have taken the place of
    /// others.
    pub fn tell_servers(&self, servers: Vec<ServerAddress>) {
        let mut known = self.0.servers.lock().expect("no holder panics");
        if *known != servers {
            *known = servers;
            drop(known);
            self.change(|_| ());
        }
    }

    /// The memory servers as they are known last; the list is empty before.
    pub fn servers(&self) -> Vec<ServerAddress> {
        self.0.servers.lock().expect("no holder panics").clone()
    }

    /// Changes the map. Each thread sees the change in its next question and its next batch.
    pub fn change<R>(&self, change: impl FnOnce(&mut AddressMap) -> R) -> R {
        let mut map = self.lock();
        let result = change(&mut map);
        self.0.version.fetch_add(1, Release);
        result
    }

    /// The map as it is now.
    pub fn copy(&self) -> AddressMap {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, AddressMap> {
        self.0.map.lock().expect("no holder panics")
    }
}

/// A thread's copy of a shared map.
#[derive(Debug)]
pub struct AddressMapCopy {
    shared: SharedAddressMap,
    copy: AddressMap,
    version: u64,
    /// The version that [`Self::news`] has told.
    told: Option<u64>,
}

impl AddressMapCopy {
    pub fn new(shared: SharedAddressMap) -> Self {
        let (version, copy) = (shared.0.version.load(Acquire), shared.lock().clone());
        Self { shared, copy, version, told: None }
    }

    /// The map with all changes until now.
    #[inline]
    pub fn get(&mut self) -> &AddressMap {
        if self.shared.0.version.load(Acquire) != self.version {
            *self = Self { told: self.told, ..Self::new(self.shared.clone()) };
        }
        &self.copy
    }

    /// The map, if it has changed since this was last asked.
    #[inline]
    pub fn news(&mut self) -> Option<&AddressMap> {
        let version = self.shared.0.version.load(Acquire);
        if self.told == Some(version) {
            return None;
        }
        self.get();
        self.told = Some(self.version);
        Some(&self.copy)
    }

    /// The memory servers as they are known last.
    pub fn servers(&self) -> Vec<ServerAddress> {
        self.shared.servers()
    }

    /// Has the next [`Self::news`] tell the map as it is.
    pub fn tell_again(&mut self) {
        self.told = None;
    }

    /// Changes the map of all threads.
    pub fn change<R>(&self, change: impl FnOnce(&mut AddressMap) -> R) -> R {
        self.shared.change(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{NodeId, RegionId};

    #[test]
    fn a_copy_shows_each_change() {
        let shared = SharedAddressMap::new(AddressMap::with_replicas(2, 2));
        let mut copies = [0, 1].map(|_| AddressMapCopy::new(shared.clone()));
        for copy in &mut copies {
            assert_eq!(copy.get().place(RegionId(1)), Some(RegionId(1)));
        }
        assert_eq!(shared.change(|map| map.lose(NodeId(1))), [RegionId(1)]);
        for copy in &mut copies {
            assert_eq!(copy.get().place(RegionId(1)), None);
        }
        assert!(copies[0].news().is_some());
        assert!(copies[0].news().is_none(), "the copy has the newest map");
        assert!(copies[0].change(|map| map.promote(RegionId(1))));
        assert_eq!(copies[1].get().place(RegionId(1)), Some(RegionId(3)));
        assert!(copies[0].news().is_some_and(|map| map.place(RegionId(1)).is_some()));
    }
}
