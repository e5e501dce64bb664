//! Memory servers behind TCP with replicas of each other's regions, which may die.

use super::network::PATIENCE;
use super::server::{admission, caller, replicated_memory, server_address, services_of};
use fabric::{
    AddressMap, Admission, DynEnv, Engine, Env, ServerAddress, SharedAddressMap, TcpConfig,
    TcpPort, TcpTransport,
};
use layout::{NodeId, RegionId};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use txn::{Database, DatabaseConfig};

/// Interval at which a server looks whether it dies.
const LOOK_NS: u64 = 1_000_000;
/// The identity of memory server 0 as a caller of the others.
const SERVER_CALLERS: u64 = 100;
/// Longest time until no lock of a closed region is held.
const DRAIN_NS_MAX: u64 = 20_000_000_000;

/// Memory servers on threads of their own, which end when this is dropped, and a database on them.
pub struct ReplicatedNetwork {
    pub engine: Engine<TcpTransport>,
    pub database: Database<DynEnv>,
    /// The map of this process, which is a compute server.
    map: SharedAddressMap,
    servers: Vec<Server>,
}

struct Server {
    /// The map of the server's services.
    map: SharedAddressMap,
    dies: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Of a server that listens and is not served yet.
struct Place {
    listener: TcpListener,
    admission: Arc<Admission>,
    address: SocketAddr,
}

impl Place {
    fn new(node: NodeId) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        Self { listener, admission: Arc::new(admission(node)), address }
    }

    fn address(&self) -> ServerAddress {
        server_address(&self.admission, self.address)
    }

    /// Serves on a thread, until the server dies.
    fn serve(self, config: TcpConfig, map: SharedAddressMap, replica_count: u16) -> Server {
        let config = TcpConfig { addresses: Some(map.clone()), ..config };
        let dies = Arc::<AtomicBool>::default();
        let dying = dies.clone();
        let serve = move || {
            let (node, servers) = (self.admission.node, config.caller.servers.len() as u16);
            let world = replicated_memory(node, servers, replica_count);
            let transport = TcpTransport::of_memory_server(config, None, node, world.clone());
            let engine = Engine::new(transport, PATIENCE).expect("an engine needs one descriptor");
            let services = (DynEnv::new(engine.service_endpoint()), services_of(node));
            let port = TcpPort::of_replicas(self.listener, world, self.admission, None, services);
            engine.attach(port.expect("it listens"));
            let env = engine.endpoint();
            engine.block_on(async {
                while !dying.load(Relaxed) {
                    env.sleep_ns(LOOK_NS).await;
                }
            });
        };
        let thread = std::thread::Builder::new().spawn(serve).expect("a thread");
        Server { map, dies, thread: Some(thread) }
    }
}

/// The configuration of a caller.
fn config(servers: &[ServerAddress], identity: u64) -> TcpConfig {
    TcpConfig {
        connect_time_max_ns: 60_000_000_000,
        answer_time_max_ns: 60_000_000_000,
        ..TcpConfig::new(caller(servers.to_vec(), identity))
    }
}

impl ReplicatedNetwork {
    /// Starts memory servers with an empty database.
    pub fn new(server_count: u16, replica_count: u16) -> Self {
        let places: Vec<Place> = (0..server_count).map(|node| Place::new(NodeId(node))).collect();
        let addresses: Vec<ServerAddress> = places.iter().map(Place::address).collect();
        let map = || SharedAddressMap::new(AddressMap::with_replicas(server_count, replica_count));
        let serve = |place: Place| {
            let identity = SERVER_CALLERS + u64::from(place.admission.node.0);
            place.serve(config(&addresses, identity), map(), replica_count)
        };
        let servers: Vec<Server> = places.into_iter().map(serve).collect();
        let map = map();
        let config = TcpConfig { addresses: Some(map.clone()), ..config(&addresses, 1) };
        let transport = TcpTransport::connect(config).expect("the servers listen");
        let engine = Engine::new(transport, PATIENCE).expect("an engine needs one descriptor");
        let nodes = (0..server_count).map(NodeId).collect();
        let env = DynEnv::new(engine.endpoint());
        let database = engine.block_on(Database::create(env, nodes, DatabaseConfig::default()));
        Self { database: database.expect("empty servers"), engine, map, servers }
    }

    /// Kills a memory server: its connections are closed, and its memory is gone.
    pub fn kill(&self, node: NodeId) {
        self.servers[usize::from(node.0)].dies.store(true, Relaxed);
    }

    /// Everybody learns that the server has died, and a replica takes the place of its region.
    pub async fn promote(&self, node: NodeId) {
        let closed = self.map.change(|map| map.lose(node));
        for server in &self.servers {
            server.map.change(|map| map.lose(node));
        }
        let database = self.database.with_env(DynEnv::new(self.engine.endpoint()));
        let deadline_ns = database.env().now_ns() + DRAIN_NS_MAX;
        assert!(database.drain(deadline_ns).await, "a lock of a closed region is held");
        for &region in &closed {
            database.prepare_promotion(region).await.expect("the others live");
            self.promote_region(region);
            database.finish_promotion(region).await.expect("the others have room");
        }
    }

    fn promote_region(&self, region: RegionId) {
        let maps = self.servers.iter().map(|server| &server.map).chain([&self.map]);
        for map in maps {
            assert!(map.change(|map| map.promote(region)), "{region:?} has a replica");
        }
    }

    /// Refuses structural errors and locks that are still held.
    pub fn check(&self) {
        let report = self.engine.block_on(self.database.check()).expect("readable");
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()));
    }
}

impl Drop for ReplicatedNetwork {
    fn drop(&mut self) {
        for server in &mut self.servers {
            server.dies.store(true, Relaxed);
            let ended = server.thread.take().map(JoinHandle::join);
            let has_panicked = matches!(ended, Some(Err(_)));
            assert!(!has_panicked || std::thread::panicking(), "a server panicked");
        }
    }
}
