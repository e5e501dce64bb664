//! A database whose memory servers are reached over TCP, by several lanes of one engine thread.

use super::history::Execution;
use super::program::{Program, Tables, execute, execute_all};
use fabric::{
    Admission, Caller, Engine, LocalWorld, Patience, Port, RemoteEnv, ServeCounters, ServerAddress,
    ServerConfig, Sharing, TcpConfig, TcpPort, TcpTransport, port,
};
use layout::{NodeId, RegionId};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::thread::JoinHandle;
use txn::server::services;
use txn::{Database, DatabaseConfig, Lane, Outcome, TableSpec};

const SERVERS: u16 = 2;
const SERVER_BYTES: u64 = 64 << 20;

/// Sleeps early, so that many tests share few processors, and is soon at its end.
const PATIENCE: Patience = Patience { spin_ns: 5_000, awake_ns: 50_000, sleep_ns_max: 2_000_000 };

pub type TcpEnv = RemoteEnv<TcpTransport>;

/// Memory servers on threads of their own; they end with their owner.
pub struct Network {
    pub database: Database<TcpEnv>,
    engine: Engine<TcpTransport>,
    _servers: Vec<Server>,
}

struct Server {
    admission: Arc<Admission>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(node: NodeId) -> Self {
        let config = ServerConfig {
            node,
            server_count: SERVERS,
            bytes: SERVER_BYTES,
            sharing: Sharing::Private,
            seed: 1,
        };
        let (world, _) = LocalWorld::memory_server(&config).expect("little memory");
        for (id, service) in services(RegionId(node.0), SERVER_BYTES) {
            world.register(node, id, service);
        }
        let admission = Arc::new(Admission {
            node,
            cluster: 1,
            server: 2,
            key: 3,
            region_bytes: SERVER_BYTES,
            program: "tests".to_owned(),
            epoch: 1.into(),
        });
        let port = TcpPort::bind("127.0.0.1:0", world, admission.clone()).expect("a free port");
        let address = port.address().expect("it listens");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let serve = move || {
            let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
            port::serve(&mut ports, &stopped, PATIENCE, &ServeCounters::default());
        };
        let thread = std::thread::Builder::new().spawn(serve).expect("a thread");
        Self { admission, address, stop, thread: Some(thread) }
    }

    fn address(&self) -> ServerAddress {
        ServerAddress {
            node: self.admission.node,
            address: self.address,
            identity: self.admission.server,
            key: self.admission.key,
            region_bytes: 0,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(!matches!(ended, Some(Err(_))) || std::thread::panicking(), "a server panicked");
    }
}

impl Network {
    /// Memory servers with an empty database.
    pub fn new() -> Self {
        let servers: Vec<Server> = (0..SERVERS).map(|node| Server::start(NodeId(node))).collect();
        let caller = Caller {
            servers: servers.iter().map(Server::address).collect(),
            cluster: 1,
            epoch: Arc::new(1.into()),
            identity: 1,
            endpoint: 1,
            program: "tests".to_owned(),
        };
        let config = TcpConfig {
            answer_time_max_ns: 60_000_000_000,
            connect_time_max_ns: 60_000_000_000,
            ..TcpConfig::new(caller)
        };
        let transport = TcpTransport::connect(config).expect("the servers listen");
        let engine = Engine::new(transport, PATIENCE).expect("an engine needs one descriptor");
        let nodes = (0..SERVERS).map(NodeId).collect();
        let database = Database::create(engine.endpoint(), nodes, DatabaseConfig::default());
        let database = engine.block_on(database).expect("empty servers");
        Self { database, engine, _servers: servers }
    }

    /// Makes a table.
    pub fn create(&self, spec: TableSpec) -> Tables {
        let storage = spec.design.storage;
        let name = spec.schema.name().to_owned();
        let table = self.engine.block_on(self.database.create_table(spec)).expect("created");
        let by_group = self.database.index(&name, "by_group");
        Tables { table, by_group, storage, has_notes: false }
    }

    /// Fills the table, runs each list of programs in a lane of its own, reads everything at the end; answers
    /// what all of them saw.
    pub fn run(
        &self,
        tables: Tables,
        setup: &Program,
        sessions: &[Vec<Program>],
    ) -> Vec<Execution> {
        let history = RefCell::new(Vec::new());
        self.engine.block_on(async {
            let mut lane: Lane<TcpEnv> = self.database.lane().await.expect("there are slots");
            let filled = execute(&mut lane, tables, usize::MAX, setup).await;
            assert_eq!(filled.outcome, Outcome::Committed);
            history.borrow_mut().push(filled);
            let play = |(number, programs): (usize, &Vec<Program>)| -> Play<'_> {
                let (programs, history) = (programs.clone(), &history);
                let mut record = move |execution| history.borrow_mut().push(execution);
                Box::pin(async move {
                    execute_all(&self.database, tables, number, &programs, &mut record).await;
                })
            };
            join(sessions.iter().enumerate().map(play).collect()).await;
            let last = execute(&mut lane, tables, usize::MAX, &Program::reading_all()).await;
            history.borrow_mut().push(last);
        });
        history.into_inner()
    }

    /// Refuses structural errors and locks that are still held.
    pub fn check(&self) {
        let report = self.engine.block_on(self.database.check()).expect("readable");
        assert_eq!((report.errors, report.locked), (Vec::new(), Vec::new()));
    }
}

type Play<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Waits for all.
async fn join(mut plays: Vec<Play<'_>>) {
    poll_fn(|context| {
        plays.retain_mut(|play| play.as_mut().poll(context).is_pending());
        if plays.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
