//! The shared part of a local world: regions, services, and who is who.

use crate::address_map::AddressMap;
use crate::error::{CallError, FabricError};
use crate::local::env::LocalEnv;
use crate::raw::Memory;
use crate::service::{Service, ServiceId};
use layout::{GlobalPtr, NodeId, RegionId, region};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Instant;

/// What a local world is made of.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Bytes that each memory server may use, one entry per server. Address space is reserved at once,
    /// memory only as it is touched.
    pub server_bytes: Vec<u64>,
    /// Seed of all randomness in this world.
    pub seed: u64,
}

/// Every node's services by name.
type Services = BTreeMap<(NodeId, ServiceId), Arc<dyn Service<LocalEnv>>>;

/// Threads of one process, their memory servers' regions, and the services those offer.
pub struct LocalWorld {
    regions: Vec<Memory>,
    addresses: AddressMap,
    services: RwLock<Services>,
    start: Instant,
    seed: u64,
    endpoints: AtomicU64,
}

impl LocalWorld {
    /// Maps one region per memory server: region n lives on node n.
    pub fn new(config: &WorldConfig) -> std::io::Result<Arc<Self>> {
        let mapped: Result<Vec<Memory>, _> =
            config.server_bytes.iter().map(|&bytes| Memory::map(bytes)).collect();
        let regions = mapped?;
        for memory in &regions {
            let header = region::header(memory.len() * layout::WORD_BYTES);
            let words = memory.words(0, 4).expect("a region is larger than its header");
            words.iter().zip(header).for_each(|(word, value)| word.store(value, Ordering::Release));
        }
        #[allow(clippy::disallowed_methods, reason = "this is where Env's clock comes from")]
        let start = Instant::now();
        Ok(Arc::new(Self {
            addresses: AddressMap::one_region_per_server(regions.len() as u16),
            regions,
            services: RwLock::default(),
            start,
            seed: config.seed,
            endpoints: 0.into(),
        }))
    }

    /// Number of memory servers.
    pub fn server_count(&self) -> u16 {
        self.regions.len() as u16
    }

    /// Who keeps which region.
    #[inline]
    pub fn addresses(&self) -> &AddressMap {
        &self.addresses
    }

    /// Bytes of `region`.
    pub fn region_bytes(&self, region: RegionId) -> u64 {
        self.regions[usize::from(region.0)].len() * layout::WORD_BYTES
    }

    /// Offers `service` on `node`.
    pub fn register(&self, node: NodeId, id: ServiceId, service: Arc<dyn Service<LocalEnv>>) {
        self.services.write().expect("no holder panics").insert((node, id), service);
    }

    /// An endpoint of its own counters; each engine thread and each lane uses its own.
    pub fn endpoint(self: &Arc<Self>) -> LocalEnv {
        let number = self.endpoints.fetch_add(1, Ordering::Relaxed);
        LocalEnv::new(self.clone(), self.seed.wrapping_add(number))
    }

    pub(crate) fn service(
        &self,
        node: NodeId,
        id: ServiceId,
    ) -> Result<Arc<dyn Service<LocalEnv>>, CallError> {
        let services = self.services.read().expect("no holder panics");
        services.get(&(node, id)).cloned().ok_or(CallError::NoSuchService(node, id))
    }

    #[inline(always)]
    pub(crate) fn words(&self, at: GlobalPtr, words: u32) -> Result<&[AtomicU64], FabricError> {
        let memory = self.regions.get(usize::from(at.region().0));
        match memory.and_then(|memory| memory.words(at.offset(), u64::from(words))) {
            Some(found) => Ok(found),
            None => Err(out_of_range(at, words)),
        }
    }

    #[inline]
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

#[cold]
fn out_of_range(at: GlobalPtr, words: u32) -> FabricError {
    FabricError::OutOfRange { at, words }
}
