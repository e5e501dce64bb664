//! The shared state of a local world: regions, services and nodes.
//!
//! Decision: docs/decisions/0071-fabric-shm-is-the-local-world-with-mapped-files.md

use crate::address_map::AddressMap;
use crate::error::{CallError, FabricError};
use crate::local::env::LocalEnv;
use crate::local::file::{Pages, create_region};
use crate::local::huge;
use crate::raw::{Memory, Regions};
use crate::service::{Service, ServiceId};
use layout::{GlobalPtr, NodeId, RegionId, region};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

/// Configuration of a world in one process.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Size of each memory server in bytes. Address space is reserved at once, memory only at the
    /// first touch.
    pub server_bytes: Vec<u64>,
    /// Seed of all randomness in this world.
    pub seed: u64,
}

/// Configuration of the world of one memory server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// This server's node and region.
    pub node: NodeId,
    /// Number of memory servers of the cluster.
    pub server_count: u16,
    pub bytes: u64,
    /// Replicas of other servers' regions in this server's memory, with their bytes.
    pub replicas: Replicas,
    pub sharing: Sharing,
    /// Seed of all randomness in this world.
    pub seed: u64,
}

/// Replicas in the memory of a memory server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replicas {
    /// Places of each region's contents, the region itself included; 1 without replicas.
    pub count: u16,
    /// Bytes of each server's region. Without replicas nobody looks at them.
    pub server_bytes: Vec<u64>,
}

impl Replicas {
    pub const NONE: Self = Self { count: 1, server_bytes: Vec::new() };
}

/// Whether other processes can map a memory server's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    Private,
    /// Processes that receive its file.
    File,
}

/// A connection to a server in another process.
pub(crate) trait Caller: Send + Sync {
    /// Calls `service` on that server and waits for its answer.
    fn call(&self, service: ServiceId, request: &[u8]) -> Result<Vec<u8>, CallError>;

    /// Ends all calls, running ones included: the server is lost.
    fn lose(&self);
}

/// Connections to nodes in other processes.
pub(crate) type Callers = BTreeMap<NodeId, Arc<dyn Caller>>;

type Services = BTreeMap<(NodeId, ServiceId), Arc<dyn Service<LocalEnv>>>;

/// The regions that this process maps, its services, and its connections to services of other
/// processes.
///
/// A single-process world has all regions and all services, a memory server only its own region,
/// replicas and services, a compute process all regions and no service.
pub struct LocalWorld {
    regions: Regions,
    addresses: AddressMap,
    services: RwLock<Services>,
    /// Nodes of this process have no entry.
    callers: Callers,
    seed: u64,
    endpoints: AtomicU64,
}

impl LocalWorld {
    /// All memory servers in this process: region n lives on node n.
    pub fn new(config: &WorldConfig) -> io::Result<Arc<Self>> {
        let mapped: Result<Vec<Memory>, _> =
            config.server_bytes.iter().map(|&bytes| Memory::map(bytes)).collect();
        let regions = mapped?;
        regions.iter().for_each(write_header);
        Ok(Self::of(regions, Callers::new(), config.seed))
    }

    /// The world of one memory server, which has only its own region and replicas of others.
    /// Returns the kind of pages if other processes can map it; then there are no replicas.
    pub fn memory_server(config: &ServerConfig) -> io::Result<(Arc<Self>, Option<Pages>)> {
        let number = config.node.0;
        assert!(number < config.server_count, "servers are numbered from 0");
        let addresses = AddressMap::with_replicas(config.server_count, config.replicas.count);
        assert!(addresses.is_plain() || config.sharing == Sharing::Private, "replicas are private");
        let (own, pages) = match config.sharing {
            Sharing::Private => (Memory::map(config.bytes)?, None),
            Sharing::File => {
                let (memory, pages) =
                    create_region(&format!("namdb-region-{number}"), config.bytes)?;
                (memory, Some(pages))
            }
        };
        write_header(&own);
        let mut regions: Vec<Memory> =
            (0..addresses.region_count()).map(|_| Memory::absent()).collect();
        regions[usize::from(number)] = own;
        for replica in addresses.regions_on(config.node).filter(|region| region.0 != number) {
            let of = replica.0 % config.server_count;
            let memory = Memory::map(config.replicas.server_bytes[usize::from(of)])?;
            write_header(&memory);
            regions[usize::from(replica.0)] = memory;
        }
        let world = Self::with_addresses(addresses, regions, Callers::new(), config.seed);
        if pages == Some(Pages::Collapsed) {
            huge::start(Arc::downgrade(&world), RegionId(number))?;
        }
        Ok((world, pages))
    }

    /// A world of regions that other processes created, in the order of their nodes, with
    /// connections to nodes.
    pub(crate) fn of(regions: Vec<Memory>, callers: Callers, seed: u64) -> Arc<Self> {
        let addresses = AddressMap::one_region_per_server(regions.len() as u16);
        Self::with_addresses(addresses, regions, callers, seed)
    }

    fn with_addresses(
        addresses: AddressMap,
        regions: Vec<Memory>,
        callers: Callers,
        seed: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            addresses,
            regions: Regions::new(regions),
            services: RwLock::default(),
            callers,
            seed,
            endpoints: 0.into(),
        })
    }

    pub fn server_count(&self) -> u16 {
        self.addresses.server_count()
    }

    #[inline]
    pub fn addresses(&self) -> &AddressMap {
        &self.addresses
    }

    /// Bytes of `region`, even if lost; 0 if this process never had it.
    pub fn region_bytes(&self, region: RegionId) -> u64 {
        self.regions.memory(region.0).map_or(0, Memory::capacity_bytes)
    }

    /// The file of `region`, if other processes can map it.
    pub fn region_file(&self, region: RegionId) -> Option<BorrowedFd<'_>> {
        self.regions.memory(region.0)?.file()
    }

    pub(super) fn memory(&self, region: RegionId) -> Option<&Memory> {
        self.regions.memory(region.0)
    }

    /// Marks the server `node` as lost: every later verb and call to it fails with `Unreachable`,
    /// and so do running calls. A running verb may still access its memory.
    pub fn lose(&self, node: NodeId) {
        self.addresses.regions_on(node).for_each(|region| self.regions.revoke(region.0));
        if let Some(caller) = self.caller(node) {
            caller.lose();
        }
    }

    pub fn register(&self, node: NodeId, id: ServiceId, service: Arc<dyn Service<LocalEnv>>) {
        self.services.write().expect("no holder panics").insert((node, id), service);
    }

    /// A new endpoint with counters of its own; each engine thread and each lane uses its own.
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

    pub(crate) fn caller(&self, node: NodeId) -> Option<&Arc<dyn Caller>> {
        self.callers.get(&node)
    }

    #[inline(always)]
    pub(crate) fn words(&self, at: GlobalPtr, words: u32) -> Result<&[AtomicU64], FabricError> {
        match self.regions.words(at.region().0, at.offset(), words) {
            Some(found) => Ok(found),
            None => Err(self.refusal(at, words)),
        }
    }

    #[cold]
    fn refusal(&self, at: GlobalPtr, words: u32) -> FabricError {
        let region = at.region();
        if usize::from(region.0) < self.regions.count() && self.regions.is_absent(region.0) {
            return FabricError::Unreachable(self.addresses.host(region));
        }
        FabricError::OutOfRange { at, words }
    }
}

/// Writes the header of a region.
pub(crate) fn write_header(memory: &Memory) {
    let header = region::header(memory.capacity_bytes() / layout::WORD_BYTES * layout::WORD_BYTES);
    let words = memory.words(0, 4).expect("a region is larger than its header");
    words.iter().zip(header).for_each(|(word, value)| word.store(value, Ordering::Release));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Fabric};

    fn read(env: &LocalEnv, at: GlobalPtr) -> Result<u64, FabricError> {
        let mut batch = Batch::new();
        let span = batch.read(at, 1);
        env.execute_now(&mut batch)?;
        Ok(batch.words(span)[0])
    }

    #[test]
    fn a_memory_server_has_its_own_region_only() {
        let config = ServerConfig {
            node: NodeId(1),
            server_count: 2,
            bytes: 1 << 20,
            replicas: Replicas::NONE,
            sharing: Sharing::File,
            seed: 1,
        };
        let (world, pages) = LocalWorld::memory_server(&config).expect("a mebibyte");
        assert!(pages.is_some());
        let env = world.endpoint();
        let at = |region, byte| GlobalPtr::new(RegionId(region), byte);
        assert_eq!(read(&env, at(1, 0)), Ok(region::header(1 << 20)[0]));
        assert_eq!(read(&env, at(0, 0)), Err(FabricError::Unreachable(NodeId(0))));
        let beyond = at(1, 1 << 20);
        assert_eq!(read(&env, beyond), Err(FabricError::OutOfRange { at: beyond, words: 1 }));
        let nowhere = at(2, 0);
        assert_eq!(read(&env, nowhere), Err(FabricError::OutOfRange { at: nowhere, words: 1 }));
        assert!(world.region_file(RegionId(0)).is_none());
        assert!(world.region_file(RegionId(1)).is_some());
    }

    #[test]
    fn a_memory_server_has_replicas_of_the_servers_before_it() {
        let config = ServerConfig {
            node: NodeId(1),
            server_count: 3,
            bytes: 1 << 20,
            replicas: Replicas { count: 2, server_bytes: vec![1 << 16, 1 << 20, 1 << 20] },
            sharing: Sharing::Private,
            seed: 1,
        };
        let (world, _) = LocalWorld::memory_server(&config).expect("little memory");
        let env = world.endpoint();
        let first = |region| read(&env, GlobalPtr::new(RegionId(region), 0));
        assert_eq!(first(1), Ok(region::header(1 << 20)[0]));
        assert_eq!(first(3), Ok(region::header(1 << 16)[0]), "the replica of region 0");
        assert_eq!(first(0), Err(FabricError::Unreachable(NodeId(0))));
        assert_eq!(first(4), Err(FabricError::Unreachable(NodeId(2))), "its own replica");
    }

    #[test]
    fn a_lost_server_is_told_apart_from_an_address_out_of_range() {
        let world = LocalWorld::new(&WorldConfig { server_bytes: vec![1 << 16; 2], seed: 1 });
        let world = world.expect("little memory");
        let env = world.endpoint();
        let [first, second] = [0, 1].map(|n| GlobalPtr::new(RegionId(n), 64));
        world.lose(NodeId(0));
        assert_eq!(read(&env, first), Err(FabricError::Unreachable(NodeId(0))));
        assert_eq!(read(&env, second), Ok(0));
        assert_eq!(world.region_bytes(RegionId(0)), 1 << 16);
    }
}
