//! A memory server's region and port, by the fabric of its cluster.

use super::error::ServerError;
use super::founder::Founder;
use super::keys::server_keys;
use super::replicas::{self, ReplicatingServer};
use super::{events, verbs};
use anyhow::Result;
use fabric::identity::Admission;
use fabric::local::{ServerConfig, Sharing};
use fabric::port::{Port, ServeCounters};
use fabric::shm::ShmPort;
use fabric::tcp::{TcpPort, TlsKeys};
use fabric::{LocalEnv, LocalWorld};
use membership::{ClusterFile, ClusterMap, FabricKind, Member};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use txn::server::{ServiceCounts, counted_services};

/// Maximal time for a fenced process to die.
pub const FENCE_TIME: Duration = Duration::from_secs(5);
/// Region sizes are multiples of a page.
const PAGE_BYTES: u64 = 4096;

/// Fences the processes with these identities off the region; also gets the current cluster map.
pub type Fence = Box<dyn FnMut(&ClusterMap, &[u64]) -> Result<()> + Send>;

/// Bytes of a region, from those in the cluster's file.
pub fn region_bytes(bytes: u64) -> u64 {
    bytes / PAGE_BYTES * PAGE_BYTES
}

/// Number of connected callers.
pub type Connections = Box<dyn Fn() -> u64 + Send>;

/// The parts of a server that depend on the fabric.
pub struct Opened {
    /// `None` if an engine serves it.
    pub port: Option<Box<dyn Port>>,
    pub replicating: Option<ReplicatingServer>,
    pub fence: Option<Fence>,
    pub founder: Founder,
    pub connections: Connections,
    pub carrier: Option<LocalEnv>,
    /// Reads and writes the region where its contents are kept on disk.
    pub region: Option<LocalEnv>,
}

/// The parts of a server that do not: the cluster's file, who is admitted, the services, and the
/// counters and the epoch of the thread that serves.
pub struct Opening<'a>(
    pub &'a ClusterFile,
    pub &'a Arc<Admission>,
    pub &'a Arc<ServiceCounts>,
    pub (&'a Arc<ServeCounters>, &'a Arc<AtomicU64>),
);

pub fn open(opening: &Opening<'_>, member: &mut Member) -> Result<Opened> {
    let Opening(cluster, admission, services, _) = *opening;
    match cluster.fabric {
        FabricKind::Tcp if cluster.replicas > 1 => open_replicas(opening, member),
        FabricKind::Shm => open_shm(cluster, admission, services, member),
        FabricKind::Tcp => open_tcp(cluster, admission, services, member),
        FabricKind::Verbs => open_verbs(cluster, admission, services, member),
    }
}

fn open_shm(
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    services: &Arc<ServiceCounts>,
    member: &mut Member,
) -> Result<Opened> {
    let world = served_world(cluster, admission, services, Sharing::File)?;
    let port = ShmPort::new(&cluster.directory, admission.clone(), &world)?;
    member.addresses.shm = Some(cluster.directory.clone());
    let (callers, connected) = (port.callers().clone(), port.callers().clone());
    let fence = move |_: &ClusterMap, dead: &[u64]| {
        let killed = dead.iter().map(|&identity| {
            let outcome = callers.fence(identity, FENCE_TIME);
            events::fenced(identity, &outcome);
            outcome
        });
        // Fences all of them, even if the first fails.
        let outcomes: Vec<_> = killed.collect();
        outcomes.into_iter().try_for_each(|outcome| Ok(outcome.map(drop)?))
    };
    Ok(Opened {
        port: Some(Box::new(port)),
        replicating: None,
        fence: Some(Box::new(fence)),
        founder: Founder::Here(world),
        connections: Box::new(move || connected.connection_count()),
        carrier: None,
        region: None,
    })
}

fn open_replicas(opening: &Opening<'_>, member: &mut Member) -> Result<Opened> {
    let Opening(cluster, admission, services, (polling, epoch)) = *opening;
    let identity = member.identity;
    let opened = replicas::open(cluster, admission, services, (identity, epoch), polling)?;
    member.addresses.tcp = Some(opened.address);
    let connected = opened.connections;
    let cluster = cluster.clone();
    Ok(Opened {
        port: None,
        replicating: Some(opened.server),
        fence: None,
        founder: Founder::ByMessages(Box::new(replicas::Founder { cluster, identity })),
        connections: Box::new(move || connected.load(Relaxed)),
        region: Some(opened.carrier.clone()),
        carrier: Some(opened.carrier),
    })
}

fn open_tcp(
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    services: &Arc<ServiceCounts>,
    member: &mut Member,
) -> Result<Opened> {
    let world = served_world(cluster, admission, services, Sharing::Private)?;
    let number = admission.node.0;
    let listen = &cluster.memory[usize::from(number)].listen;
    let (own, admission) = (world.clone(), admission.clone());
    let port = match server_keys(cluster, TlsKeys::server_name(admission.node))? {
        None => TcpPort::bind(listen.as_str(), own, admission),
        Some(keys) => TcpPort::bind_encrypted(listen.as_str(), own, admission, keys),
    };
    let port = port.map_err(|source| {
        let address = listen.clone();
        ServerError::Port { number, address, source }
    })?;
    member.addresses.tcp = Some(port.address()?.to_string());
    let (carrier, connected) = (Some(port.endpoint().clone()), port.connections().clone());
    Ok(Opened {
        port: Some(Box::new(port)),
        replicating: None,
        fence: None,
        region: Some(world.endpoint()),
        founder: Founder::Here(world),
        connections: Box::new(move || connected.load(Relaxed)),
        carrier,
    })
}

fn open_verbs(
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    services: &Arc<ServiceCounts>,
    member: &mut Member,
) -> Result<Opened> {
    let (port, device, pages) = verbs::open(cluster, admission, services)?;
    member.addresses.verbs = Some(port.address()?.to_string());
    let (callers, connected) = (port.callers().clone(), port.callers().clone());
    let fence = move |map: &ClusterMap, _: &[u64]| {
        let living = map.members.iter().map(|member| member.identity).collect();
        Ok(callers.fence(map.epoch, living, FENCE_TIME)?)
    };
    events::started(cluster, admission.region_bytes, Some(pages), Some(device.to_string()));
    let (cluster, identity) = (cluster.clone(), member.identity);
    Ok(Opened {
        port: Some(Box::new(port)),
        replicating: None,
        fence: Some(Box::new(fence)),
        founder: Founder::ByRdma(Box::new(verbs::Founder { cluster, device, identity })),
        connections: Box::new(move || connected.connection_count()),
        carrier: None,
        region: None,
    })
}

/// A region that this process's processor accesses, and its services.
fn served_world(
    cluster: &ClusterFile,
    admission: &Admission,
    services: &Arc<ServiceCounts>,
    sharing: Sharing,
) -> Result<Arc<LocalWorld>> {
    let world = world(cluster, admission, sharing)?;
    for (id, service) in counted_services(services) {
        world.register(admission.node, id, service);
    }
    Ok(world)
}

/// A region that this process's processor accesses, and replicas of others.
pub fn world(
    cluster: &ClusterFile,
    admission: &Admission,
    sharing: Sharing,
) -> Result<Arc<LocalWorld>> {
    let (node, bytes) = (admission.node, admission.region_bytes);
    let config = ServerConfig {
        node,
        server_count: cluster.memory.len() as u16,
        bytes,
        replicas: replicas::of_cluster(cluster),
        sharing,
        seed: u64::from(node.0),
    };
    let (world, pages) = LocalWorld::memory_server(&config).map_err(|source| {
        let is_shared = sharing == Sharing::File;
        ServerError::Region { number: node.0, region_bytes: bytes, is_shared, source }
    })?;
    events::started(cluster, bytes, pages, None);
    Ok(world)
}
