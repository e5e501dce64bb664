//! Memory servers behind TCP with replicas of each other's regions, which may die.

use super::network::PATIENCE;
use super::server::{
    admission, caller, replicated_memory, returned_services_of, server_address, services_of,
};
use fabric::{
    AddressMap, Admission, DynEnv, Engine, Env, ServerAddress, Services, SharedAddressMap,
    TcpConfig, TcpPort, TcpTransport,
};
use layout::{NodeId, RegionId};
use std::cell::{Cell, RefCell};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use txn::{CopyCounts, Database, DatabaseConfig, Pace};

/// Interval at which a server looks whether it dies.
const LOOK_NS: u64 = 1_000_000;
/// The identity of memory server 0 as a caller of the others.
const SERVER_CALLERS: u64 = 100;
/// The identity of the first memory server that returns.
const RETURNED: u64 = 1000;
/// How fast regions are copied while lanes run.
const PACE: Pace = Pace { words: 8192, pieces: 2, pause_ns: 100_000, deadline_ns: u64::MAX };
/// Longest time until no lock of a closed region is held.
const DRAIN_NS_MAX: u64 = 20_000_000_000;

/// Memory servers on threads of their own, which end when this is dropped, and a database on them.
pub struct ReplicatedNetwork {
    pub engine: Engine<TcpTransport>,
    pub database: Database<DynEnv>,
    /// The map of this process, which is a compute server.
    map: SharedAddressMap,
    servers: RefCell<Vec<Server>>,
    addresses: RefCell<Vec<ServerAddress>>,
    counts: (u16, u16),
    returned: Cell<u64>,
}

struct Server {
    /// The map of the server's services.
    map: SharedAddressMap,
    dies: Arc<AtomicBool>,
    /// A server that has returned, until this one is connected to it.
    news: Arc<Mutex<Option<ServerAddress>>>,
    thread: Option<JoinHandle<()>>,
}

/// Of a server that listens and is not served yet.
struct Place {
    listener: TcpListener,
    admission: Arc<Admission>,
    address: SocketAddr,
}

impl Place {
    fn new(admission: Admission) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        Self { listener, admission: Arc::new(admission), address }
    }

    fn address(&self) -> ServerAddress {
        server_address(&self.admission, self.address)
    }

    /// Serves on a thread, until the server dies.
    fn serve(
        self,
        config: TcpConfig,
        map: SharedAddressMap,
        replica_count: u16,
        services_of: fn(NodeId) -> Services<DynEnv>,
    ) -> Server {
        let config = TcpConfig { addresses: Some(map.clone()), ..config };
        let dies = Arc::<AtomicBool>::default();
        let dying = dies.clone();
        let news = Arc::<Mutex<Option<ServerAddress>>>::default();
        let told = news.clone();
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
                    let returned = told.lock().expect("no holder panics").clone();
                    if let Some(server) = returned
                        && env.with_transport(|transport| is_connected(transport, server))
                    {
                        *told.lock().expect("no holder panics") = None;
                    }
                    env.sleep_ns(LOOK_NS).await;
                }
            });
        };
        let thread = std::thread::Builder::new().spawn(serve).expect("a thread");
        Server { map, dies, news, thread: Some(thread) }
    }
}

/// Whether there is a connection to a server; begins it.
fn is_connected(transport: &mut TcpTransport, server: ServerAddress) -> bool {
    let node = server.node;
    transport.renew_server(server);
    transport.lost(node).is_none()
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
        let places = (0..server_count).map(|node| Place::new(admission(NodeId(node))));
        let places: Vec<Place> = places.collect();
        let addresses: Vec<ServerAddress> = places.iter().map(Place::address).collect();
        let map = || SharedAddressMap::new(AddressMap::with_replicas(server_count, replica_count));
        let serve = |place: Place| {
            let identity = SERVER_CALLERS + u64::from(place.admission.node.0);
            place.serve(config(&addresses, identity), map(), replica_count, services_of)
        };
        let servers: Vec<Server> = places.into_iter().map(serve).collect();
        let map = map();
        let config = TcpConfig { addresses: Some(map.clone()), ..config(&addresses, 1) };
        let transport = TcpTransport::connect(config).expect("the servers listen");
        let engine = Engine::new(transport, PATIENCE).expect("an engine needs one descriptor");
        let nodes = (0..server_count).map(NodeId).collect();
        let env = DynEnv::new(engine.endpoint());
        let database = engine.block_on(Database::create(env, nodes, DatabaseConfig::default()));
        let (counts, returned) = ((server_count, replica_count), Cell::new(RETURNED));
        let (servers, addresses) = (RefCell::new(servers), RefCell::new(addresses));
        let database = database.expect("empty servers");
        Self { database, engine, map, servers, addresses, counts, returned }
    }

    /// A memory server that was killed returns with empty memory, and is filled.
    pub async fn take_back(&self, node: NodeId) {
        let identity = self.returned.get();
        self.returned.set(identity + 1);
        let place = Place::new(Admission { server: identity, ..admission(node) });
        let address = place.address();
        self.addresses.borrow_mut()[usize::from(node.0)] = address.clone();
        self.change(|map| map.take_back(node));
        let map = SharedAddressMap::new(self.map.copy());
        let config = config(&self.addresses.borrow(), identity);
        let server = place.serve(config, map, self.counts.1, returned_services_of);
        // The one before has died.
        let before = std::mem::replace(&mut self.servers.borrow_mut()[usize::from(node.0)], server);
        before.end();
        self.connect(&address).await;
        let database = self.database.with_env(DynEnv::new(self.engine.endpoint()));
        let copied =
            database.copy_to(node, PACE, &CopyCounts::default()).await.expect("all servers live");
        assert!(copied.written > 0);
        let deadline_ns = database.env().now_ns() + DRAIN_NS_MAX;
        self.change(|map| map.defer_changes(node));
        assert!(database.await_changes(deadline_ns).await, "there are no changes");
        self.change(|map| map.begin_filling(node));
        assert!(database.drain(deadline_ns).await, "the world does not stand still");
        database.finish_copy(node, u64::MAX).await.expect("all servers live");
        self.change(|map| map.end_filling(node));
    }

    /// Waits until everybody is connected to a server.
    async fn connect(&self, server: &ServerAddress) {
        for other in self.living().iter().filter(|(node, _)| *node != server.node) {
            *other.1.lock().expect("no holder panics") = Some(server.clone());
        }
        let env = self.engine.endpoint();
        let are_told = || {
            let living = self.living();
            living.iter().all(|(_, news)| news.lock().expect("no holder panics").is_none())
        };
        while !env.with_transport(|own| is_connected(own, server.clone())) || !are_told() {
            env.sleep_ns(LOOK_NS).await;
        }
    }

    /// The servers that live, and the place for their news.
    fn living(&self) -> Vec<(NodeId, Arc<Mutex<Option<ServerAddress>>>)> {
        let servers = self.servers.borrow();
        let living = (0..).map(NodeId).zip(&*servers);
        let living = living.filter(|(_, server)| !server.dies.load(Relaxed));
        living.map(|(node, server)| (node, server.news.clone())).collect()
    }

    /// Changes the maps of all processes.
    fn change(&self, change: impl Fn(&mut AddressMap) -> bool) {
        let servers = self.servers.borrow();
        for map in servers.iter().map(|server| &server.map).chain([&self.map]) {
            assert!(map.change(&change), "the maps are the same");
        }
    }

    /// Kills a memory server: its connections are closed, and its memory is gone.
    pub fn kill(&self, node: NodeId) {
        self.servers.borrow()[usize::from(node.0)].dies.store(true, Relaxed);
    }

    /// Everybody learns that the server has died, and a replica takes the place of its region.
    pub async fn promote(&self, node: NodeId) {
        let closed = self.map.change(|map| map.lose(node));
        for server in &*self.servers.borrow() {
            server.map.change(|map| map.lose(node));
        }
        let database = self.database.with_env(DynEnv::new(self.engine.endpoint()));
        let deadline_ns = database.env().now_ns() + DRAIN_NS_MAX;
        assert!(database.drain(deadline_ns).await, "a lock of a closed region is held");
        for &region in &closed {
            database.prepare_promotion(region).await.expect("the others live");
            self.promote_region(region);
        }
        for &region in &closed {
            database.finish_promotion(region).await.expect("the others have room");
        }
    }

    fn promote_region(&self, region: RegionId) {
        self.change(|map| map.promote(region));
    }

    /// Refuses structural errors and locks that are still held.
    pub fn check(&self) {
        let report = self.engine.block_on(self.database.check()).expect("readable");
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()));
    }
}

impl Drop for ReplicatedNetwork {
    fn drop(&mut self) {
        self.servers.take().into_iter().for_each(Server::end);
    }
}

impl Server {
    /// Waits for the end of a server that dies now, or has died.
    fn end(mut self) {
        self.dies.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        let has_panicked = matches!(ended, Some(Err(_)));
        assert!(!has_panicked || std::thread::panicking(), "a server panicked");
    }
}
