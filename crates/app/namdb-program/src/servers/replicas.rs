//! A memory server over `tcp` whose memory also has replicas of other servers' regions.
//!
//! Its services write to the servers of its own replicas, so its thread is an engine that serves
//! the port, and is connected to the other memory servers.
//!
//! Decision: docs/decisions/0316-a-memory-server-with-replicas-serves-its-port-in-an-engine.md

use super::error::ServerError;
use super::keys::{keys, server_keys};
use super::promotion::without_lost;
use super::tcp::caller;
use super::{all_servers, opening};
use anyhow::{Context, Result};
use fabric::identity::Admission;
use fabric::local::Replicas;
use fabric::patience::Patience;
use fabric::port::{Counted, ServeCounters};
use fabric::tcp::{CallsUnderWay, TcpConfig, TcpPort, TcpTransport, TlsKeys};
use fabric::{
    AddressMap, Contents, DynEnv, Engine, Env, LocalEnv, ServerAddress, SharedAddressMap,
};
use layout::{NodeId, RegionId, WORD_BYTES};
use membership::{ClusterFile, ClusterMap, DatabaseRoot, FabricKind, Member};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::server::{ServiceCounts, counted_services};
use txn::{Database, Recovered, Root};

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

/// The replicas of other regions in the memory of a server, with their bytes.
pub fn replicas_on(cluster: &ClusterFile, number: u16) -> Vec<(RegionId, u64)> {
    let Replicas { count, server_bytes } = of_cluster(cluster);
    let addresses = AddressMap::with_replicas(server_bytes.len() as u16, count);
    let replicas = addresses.regions_on(NodeId(number)).filter(|region| region.0 != number);
    replicas
        .map(|region| (region, server_bytes[usize::from(region.0) % server_bytes.len()]))
        .collect()
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
        // The record may have the root of a database that has ended. One that is lost goes on
        // nowhere, also not with those who are left: some of what has ended is on disk.
        let is_own =
            |root: &&DatabaseRoot| root.has_holder(self.identity) && map.ensure_whole(root).is_ok();
        if let Some(root) = map.root.as_ref().filter(is_own) {
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
        let count = cluster.memory.len() as u16;
        let addresses = AddressMap::with_replicas(count, cluster.replicas);
        let engine = self.engine(map.epoch, servers, SharedAddressMap::new(addresses))?;
        let servers = all_servers(cluster.memory.len());
        let config = namdb::database_config(cluster.oracle, cluster.transaction_time_ms);
        let env = DynEnv::new(engine.endpoint());
        let database = engine.block_on(Database::create(env, servers, config));
        Ok(database.context("cannot create the database")?.root())
    }

    /// Makes a database whole that the servers of this root have read from their disks, before
    /// anybody uses it: recovers all that the programs of the last run had begun, and then makes
    /// replicas equal. In this order, because a lock is released on the primary alone. Returns the
    /// bytes that differed.
    pub fn equalise(&self, map: &ClusterMap, root: &DatabaseRoot) -> Result<u64> {
        let holders: Vec<&Member> =
            map.memory_servers().filter(|member| root.has_holder(member.identity)).collect();
        let nodes: Vec<NodeId> = holders.iter().map(|member| member.node()).collect();
        let servers = membership::server_addresses(holders, FabricKind::Tcp)?;
        let addresses = |contents: Option<Contents>| {
            let dead = root.without.iter().map(|&number| NodeId(number));
            let promoted = root.promoted.iter();
            let promoted = promoted.map(|(&region, &place)| (RegionId(region), RegionId(place)));
            let returned = nodes.iter().filter_map(|&node| contents.map(|it| (node, it)));
            let size = (root.servers.len() as u16, root.replicas);
            AddressMap::after_deaths(map.epoch, size, dead, promoted, returned)
        };
        let as_it_was = addresses(None);
        let known = SharedAddressMap::new(as_it_was.clone());
        let engine = self.engine(map.epoch, servers, known.clone())?;
        let database = Database::open(DynEnv::new(engine.endpoint()), &namdb::root_of(root));
        let database = database.as_member(self.identity);
        engine.block_on(recover_all(&database, map))?;
        // A latch is on the primary alone, too. Closed regions have none, but perhaps trees.
        let mut promoted = as_it_was;
        for region in promoted.closed().collect::<Vec<_>>() {
            promoted.promote(region);
        }
        known.change(|known| known.take_over(promoted));
        let released = engine.block_on(database.release_latches());
        released.context("a tree cannot be reached")?;
        // Nothing that is written goes to a replica by itself now.
        known.change(|known| known.take_over(addresses(Some(Contents::Empty))));
        let mut written = 0;
        for node in nodes {
            let copied = engine.block_on(database.equalise(node));
            let copied = copied.with_context(|| format!("memory server {} is compared", node.0))?;
            written += copied.written * WORD_BYTES;
        }
        Ok(written)
    }

    /// An engine that calls these memory servers.
    fn engine(
        &self,
        epoch: u64,
        servers: Vec<ServerAddress>,
        addresses: SharedAddressMap,
    ) -> Result<Engine<TcpTransport>> {
        let (cluster, epoch) = (&self.cluster, Arc::new(epoch.into()));
        let mut caller = caller(cluster, servers, cluster.read_secret()?, epoch, self.identity);
        caller.endpoint = FOUNDER_ENDPOINT;
        let config = TcpConfig::new(caller);
        let config = TcpConfig { addresses: Some(addresses), ..config };
        let transport = match keys(cluster)? {
            None => TcpTransport::connect(config)?,
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?,
        };
        Ok(Engine::new(transport, Patience::default())?)
    }
}

/// Recovers the compute servers that are no members: all of the last run. Nobody else has done
/// anything since.
async fn recover_all<E: Env>(database: &Database<E>, map: &ClusterMap) -> Result<()> {
    let owners = database.slot_owners().await.context("cannot read the slots")?;
    let members: BTreeSet<u64> = map.members.iter().map(|member| member.identity).collect();
    let dead: BTreeSet<u64> = owners.difference(&members).copied().collect();
    let recovered = match database.env().is_paused() {
        true => database.recover_at_rest(&dead).await,
        false => database.recover(&dead).await,
    };
    let (Recovered { slots, completed, released }, _) = without_lost(recovered)?;
    if slots > 0 {
        tracing::info!(
            slots,
            completed,
            released,
            "the compute servers of the last run are recovered"
        );
    }
    Ok(())
}
