//! Memory servers and compute servers reached by RDMA.

use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::remote::{Connect, RemoteSite};
use super::{PROGRAM, all_servers};
use anyhow::{Context, Result};
use fabric::DynEnv;
use fabric::identity::Admission;
use fabric::patience::Patience;
use fabric::remote::{AnyTransport, Engine, RemoteEnv};
use fabric::verbs::{
    Choice, Place, VerbsConfig, VerbsPort, VerbsServer, VerbsShare, VerbsTransport,
};
use fabric::{Caller, Env, Pages, Services};
use layout::RegionId;
use membership::{ClusterFile, ClusterMap, FabricKind, server_addresses};
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use txn::server::{ServiceCounts, counted_services};
use txn::{Database, Root};

/// Access for threads that run transactions with `lanes` lanes each and call `peers`.
pub fn site(client: &ClusterClient, lanes: u32, peers: &Peers<'_>) -> Result<RemoteSite> {
    let device = device(&client.cluster)?;
    let mut config =
        config(device, &client.cluster, &client.map, client.epoch.clone(), client.identity())?;
    config.peers = server_addresses(peers.members.iter().copied(), FabricKind::Verbs)?;
    config.needs_peers = peers.are_needed;
    let nodes = config.peers.iter().map(|peer| peer.node).collect();
    let queue_pairs_max = client.cluster.verbs.queue_pairs_max;
    // A process may have two sites at the same time: one for orders and one for the calls it
    // serves.
    let taken = u64::from(queue_pairs_max);
    config.caller.endpoint = client.endpoints.fetch_add(taken, Ordering::Relaxed);
    let share = VerbsShare::new(config, queue_pairs_max);
    Ok(RemoteSite::new(share, client, lanes).with_peers(nodes))
}

/// Listens for calls at `listener`; tasks of `env` execute them.
pub fn calls<E: Env>(
    cluster: &ClusterFile,
    listener: TcpListener,
    admission: Arc<Admission>,
    env: E,
    services: Services<E>,
) -> Result<VerbsPort<E>> {
    let place = device(cluster)?;
    Ok(VerbsPort::of_calls(place, listener, admission, env, services)?)
}

fn config(
    device: Place,
    cluster: &ClusterFile,
    map: &ClusterMap,
    epoch: Arc<AtomicU64>,
    identity: u64,
) -> Result<VerbsConfig> {
    let caller = Caller {
        servers: server_addresses(map.memory_servers(), FabricKind::Verbs)?,
        cluster: cluster.id.0,
        secret: cluster.read_secret()?,
        epoch,
        identity,
        endpoint: 0,
        program: PROGRAM.to_owned(),
    };
    Ok(VerbsConfig::new(device, caller))
}

impl Connect for VerbsShare {
    fn connect(&self, _endpoint: u64) -> Result<AnyTransport> {
        let connected = Self::connect(self).map(AnyTransport::from);
        connected.with_context(|| format!("no connections through {}", self.place()))
    }
}

/// This host's device, as the cluster's file selects it.
fn device(cluster: &ClusterFile) -> Result<Place> {
    let verbs = &cluster.verbs;
    let choice =
        Choice { device: verbs.device.clone(), port: verbs.port, gid_index: verbs.gid_index };
    Place::open(&choice).context("this host cannot join a cluster with the fabric `verbs`")
}

/// A memory server's port, the device that reaches it, and the pages of its region.
pub fn open(
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    services: &Arc<ServiceCounts>,
) -> Result<(VerbsPort, Place, Pages)> {
    let (node, bytes) = (admission.node, admission.region_bytes);
    let number = node.0;
    let place = device(cluster)?;
    let region = VerbsServer::region(&place, RegionId(number), bytes)
        .with_context(|| format!("memory server {number} cannot register its region on {place}"))?;
    let pages = region.pages();
    let server = VerbsServer {
        place: place.clone(),
        region,
        admission: admission.clone(),
        server_count: cluster.memory.len() as u16,
        services: counted_services::<RemoteEnv<VerbsTransport>>(services).into(),
    };
    let listen = &cluster.memory[usize::from(number)].listen;
    let refused = || format!("memory server {number} cannot listen at {listen}");
    let address = listen.to_socket_addrs().with_context(refused)?.next().with_context(refused)?;
    Ok((VerbsPort::bind(server, address).with_context(refused)?, place, pages))
}

/// Creates a database over RDMA as an ordinary caller, since only the card's atomics are atomic
/// with each other.
pub struct Founder {
    /// The cluster's file.
    pub cluster: ClusterFile,
    /// This host's device.
    pub device: Place,
    /// Identity of the memory server that runs in this process.
    pub identity: u64,
}

impl Founder {
    /// Creates the database on the memory servers, which have all joined and are empty.
    pub fn create(&self, map: &ClusterMap) -> Result<Root> {
        let (cluster, epoch) = (&self.cluster, Arc::new(map.epoch.into()));
        let config = config(self.device.clone(), cluster, map, epoch, self.identity)?;
        let transport = AnyTransport::from(VerbsTransport::connect(&config)?);
        let engine = Engine::new(transport, Patience::default())?;
        let servers = all_servers(cluster.memory.len());
        let config = namdb::database_config(cluster.oracle, cluster.transaction_time_ms);
        let database =
            engine.block_on(Database::create(DynEnv::new(engine.endpoint()), servers, config))?;
        Ok(database.root())
    }
}
