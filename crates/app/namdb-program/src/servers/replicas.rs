//! A memory server over `tcp` whose memory also has replicas of other servers' regions.
//!
//! Its services write to the servers of its own replicas, so its thread is an engine that serves
//! the port, and is connected to the other memory servers.
//!
//! Decision: docs/decisions/0316-a-memory-server-with-replicas-serves-its-port-in-an-engine.md

use super::error::ServerError;
use super::keys::{keys, server_keys};
use super::tcp::caller;
use super::{all_servers, opening};
use anyhow::{Context, Result};
use fabric::identity::Admission;
use fabric::local::Replicas;
use fabric::patience::Patience;
use fabric::port::{Counted, ServeCounters};
use fabric::tcp::{CallsUnderWay, TcpConfig, TcpPort, TcpTransport, TlsKeys};
use fabric::{AddressMap, DynEnv, Engine, Env, LocalEnv, ServerAddress, SharedAddressMap};
use membership::{ClusterFile, ClusterMap, FabricKind};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::server::{ServiceCounts, counted_services};
use txn::{Database, Root};

/// Interval at which the engine looks for news and for the end.
const LOOK_NS: u64 = 5_000_000;
/// The connection of the founder; those of the engine have number 0.
const FOUNDER_ENDPOINT: u64 = 1;

/// The replicas of a cluster.
pub fn of_cluster(cluster: &ClusterFile) -> Replicas {
    let server_bytes = cluster.memory.iter().map(|server| opening::region_bytes(server.bytes));
    Replicas { count: cluster.replicas, server_bytes: server_bytes.collect() }
}

/// Bytes of all regions in the memory of a server.
pub fn total_bytes(cluster: &ClusterFile, number: u16) -> u64 {
    let Replicas { count, server_bytes } = of_cluster(cluster);
    let servers = server_bytes.len() as u16;
    let of = |replica: u16| usize::from((number + servers - replica % servers) % servers);
    (0..count).map(|replica| server_bytes[of(replica)]).sum()
}

/// The thread of such a server.
pub struct ReplicatingServer {
    engine: Engine<TcpTransport>,
    news: Arc<News>,
    calls: CallsUnderWay,
}

/// The other memory servers, as the cluster's map has them.
pub struct News {
    /// This server among the members.
    identity: u64,
    servers: Mutex<Vec<ServerAddress>>,
    addresses: SharedAddressMap,
}

impl News {
    /// Takes over a map.
    pub fn note(&self, map: &ClusterMap) {
        let known = map.memory_servers().filter_map(|one| one.server_address(FabricKind::Tcp).ok());
        *self.servers.lock().expect("no holder panics") = known.collect();
        // The record may have the root of a database that has ended.
        if let Some(root) = map.root.as_ref().filter(|root| root.has_holder(self.identity)) {
            self.addresses.change(|known| known.take_over(map.address_map(root)));
        }
    }
}

/// The parts of an opened server.
pub struct Opened {
    pub server: ReplicatingServer,
    pub address: String,
    pub connections: Arc<AtomicU64>,
    pub carrier: LocalEnv,
}

/// Opens the port. `identity` is the member's, `epoch` follows the cluster's.
pub fn open(
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    services: &Arc<ServiceCounts>,
    (identity, epoch): (u64, &Arc<AtomicU64>),
    counters: &Arc<ServeCounters>,
) -> Result<Opened> {
    let node = admission.node;
    let world = opening::world(cluster, admission, fabric::local::Sharing::Private)?;
    let count = cluster.memory.len() as u16;
    let addresses = SharedAddressMap::new(AddressMap::with_replicas(count, cluster.replicas));
    let caller = caller(cluster, Vec::new(), admission.secret.clone(), epoch.clone(), identity);
    let config = TcpConfig::new(caller);
    let config = TcpConfig { addresses: Some(addresses.clone()), attempts_max: u32::MAX, ..config };
    let transport = TcpTransport::of_memory_server(config, keys(cluster)?, node, world.clone());
    let engine = Engine::new(transport, Patience::default())?;
    let listen = &cluster.memory[usize::from(node.0)].listen;
    let refused = |source| {
        let (number, address) = (node.0, listen.clone());
        ServerError::Port { number, address, source }
    };
    let listener = TcpListener::bind(listen.as_str()).map_err(refused)?;
    let keys = server_keys(cluster, TlsKeys::server_name(node))?;
    let handlers = (DynEnv::new(engine.service_endpoint()), counted_services(services).into());
    let port = TcpPort::of_replicas(listener, world, admission.clone(), keys, handlers);
    let port = port.map_err(refused)?;
    let (address, connections) = (port.address()?.to_string(), port.connections().clone());
    let (carrier, calls) = (port.endpoint().clone(), port.under_way().clone());
    engine.attach(Counted::new(port, counters.clone()));
    let news = Arc::new(News { identity, servers: Mutex::default(), addresses });
    let server = ReplicatingServer { engine, news, calls };
    Ok(Opened { server, address, connections, carrier })
}

impl ReplicatingServer {
    /// Where the cluster's maps go.
    pub fn news(&self) -> &Arc<News> {
        &self.news
    }

    /// The calls whose handlers run.
    pub fn calls(&self) -> &CallsUnderWay {
        &self.calls
    }

    /// Serves until `is_over` is set.
    pub fn serve(&self, is_over: &AtomicBool) {
        let env = self.engine.endpoint();
        self.engine.block_on(async {
            while !is_over.load(Relaxed) {
                let servers =
                    std::mem::take(&mut *self.news.servers.lock().expect("no holder panics"));
                env.with_transport(|transport| {
                    servers.into_iter().for_each(|server| transport.renew_server(server));
                });
                env.sleep_ns(LOOK_NS).await;
            }
        });
    }
}

/// Creates a database with replicas, as a caller of the memory servers.
pub struct Founder {
    pub cluster: ClusterFile,
    /// Identity of the memory server that runs in this process.
    pub identity: u64,
}

impl Founder {
    /// Creates the database on the memory servers, which have all joined and are empty.
    pub fn create(&self, map: &ClusterMap) -> Result<Root> {
        let cluster = &self.cluster;
        let servers = membership::server_addresses(map.memory_servers(), FabricKind::Tcp)?;
        let epoch = Arc::new(map.epoch.into());
        let mut caller = caller(cluster, servers, cluster.read_secret()?, epoch, self.identity);
        caller.endpoint = FOUNDER_ENDPOINT;
        let count = cluster.memory.len() as u16;
        let addresses = AddressMap::with_replicas(count, cluster.replicas);
        let config = TcpConfig::new(caller);
        let config = TcpConfig { addresses: Some(SharedAddressMap::new(addresses)), ..config };
        let transport = match keys(cluster)? {
            None => TcpTransport::connect(config)?,
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?,
        };
        let engine = Engine::new(transport, Patience::default())?;
        let servers = all_servers(cluster.memory.len());
        let config = namdb::database_config(cluster.oracle, cluster.transaction_time_ms);
        let env = DynEnv::new(engine.endpoint());
        let database = engine.block_on(Database::create(env, servers, config));
        Ok(database.context("cannot create the database")?.root())
    }
}
