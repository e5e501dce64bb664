//! Operations that are shipped to a compute server over TCP: memory server, owner and caller on threads of their own.
#![allow(clippy::disallowed_methods, reason = "servers are threads of this test")]

use fabric::identity::Admission;
use fabric::local::{ServerConfig, Sharing};
use fabric::port::{Port, ServeCounters, serve};
use fabric::{
    CallError, Caller, Engine, Env, Fabric, LocalWorld, Patience, RemoteEnv, ServerAddress,
    TcpConfig, TcpPort, TcpTransport,
};
use layout::NodeId;
use measure::experiment::Choice;
use measure::host::{Host, own};
use measure::operation::Task;
use measure::ship::{SHIPPED, encode, outcome};
use measure::subject::{Subject, Table};
use owner::Lanes;
use spade::measurement::{Effort, Operation, Place, World};
use std::cell::Cell;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use txn::server::services;
use txn::{Database, DatabaseConfig, Root};
use workload::TransactionResult;

/// Sleeps early, so that threads share few processors, and is soon at its end.
const PATIENCE: Patience = Patience { spin_ns: 5_000, awake_ns: 50_000, sleep_ns_max: 2_000_000 };
const MEMORY: NodeId = NodeId(0);
const OWNER: NodeId = NodeId::of_compute_server(0);
const REGION_BYTES: u64 = 64 << 20;
/// Lanes of the owner: fewer than there are calls at a time.
const LANES: u32 = 4;

fn admission(node: NodeId, region_bytes: u64) -> Arc<Admission> {
    Arc::new(Admission {
        node,
        cluster: 1,
        server: 10,
        key: 10,
        region_bytes,
        program: "tests".to_owned(),
        epoch: 1.into(),
        members: Default::default(),
    })
}

fn address_of(node: NodeId, address: SocketAddr) -> ServerAddress {
    ServerAddress { node, address, identity: 10, key: 10, region_bytes: 0 }
}

/// A thread that serves until it is dropped.
struct Thread(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Thread {
    fn start(serve: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().spawn(move || serve(&stopped));
        Self(stop, Some(thread.expect("a thread")))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        let ended = self.1.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

fn memory_server() -> (SocketAddr, Thread) {
    let sharing = Sharing::Private;
    let config =
        ServerConfig { node: MEMORY, server_count: 1, bytes: REGION_BYTES, sharing, seed: 1 };
    let (world, _) = LocalWorld::memory_server(&config).expect("little memory");
    for (id, service) in services(layout::RegionId(MEMORY.0), REGION_BYTES) {
        world.register(MEMORY, id, service);
    }
    let port = TcpPort::bind("127.0.0.1:0", world, admission(MEMORY, REGION_BYTES));
    let port = port.expect("a free port");
    let address = port.address().expect("it listens");
    let thread = Thread::start(move |stop| {
        let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
        serve(&mut ports, stop, PATIENCE, &ServeCounters::default());
    });
    (address, thread)
}

/// An engine of process `identity`, which calls `peers`.
fn engine(memory: SocketAddr, identity: u64, peers: Vec<ServerAddress>) -> Engine<TcpTransport> {
    let caller = Caller {
        servers: vec![address_of(MEMORY, memory)],
        cluster: 1,
        epoch: Arc::new(1.into()),
        identity,
        endpoint: 1,
        program: "tests".to_owned(),
    };
    let config = TcpConfig { peers, ..TcpConfig::new(caller) };
    let transport = TcpTransport::connect(config).expect("the servers listen");
    Engine::new(transport, PATIENCE).expect("an engine needs one descriptor")
}

/// The compute server that owns rows. It ends with no lane left.
fn owner(memory: SocketAddr, root: Root) -> (SocketAddr, Thread) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let thread = Thread::start(move |stop| {
        let engine = engine(memory, 3, Vec::new());
        let (lanes, env) = (Lanes::new(LANES), engine.endpoint());
        let ownership = Lanes::offer(Database::open(env.clone(), &root));
        let services = Host::new(lanes.clone()).services().into();
        let port = TcpPort::of_calls(listener, admission(OWNER, 0), None, env.clone(), services);
        engine.attach(port.expect("a descriptor"));
        engine.block_on(async {
            while !stop.load(Relaxed) {
                env.sleep_ns(1_000_000).await;
            }
            lanes.end();
            while lanes.rest::<RemoteEnv<TcpTransport>>() > 0 {
                env.sleep_ns(1_000_000).await;
            }
        });
        drop(ownership);
    });
    (address, thread)
}

/// A tiny table of the first design that is measured.
fn subject() -> Subject {
    let world = World {
        fabric: "tcp".to_owned(),
        hardware: "this".to_owned(),
        machines: 1,
        threads: 1,
        lanes: 1,
    };
    let choice =
        Choice { world, effort: Effort::Quick, places: vec![Place::Shipped], replicates: false };
    Subject::of(&choice.groups()[0][0], 1, 100)
}

fn task(operation: Operation, key: i64) -> Vec<u8> {
    encode(&Task { operation, by_index: false, keys: vec![key], limit: 0 })
}

/// Many calls at a time on few rows: each takes effect once, however often the owner's lanes meet.
#[test]
fn every_shipped_operation_takes_effect_once() {
    const CALLS: i64 = 200;
    let (memory, _server) = memory_server();
    let maker = engine(memory, 2, Vec::new());
    let made = Database::create(maker.endpoint(), vec![MEMORY], DatabaseConfig::default());
    let database = maker.block_on(made).expect("an empty server");
    let subject = subject();
    maker.block_on(async {
        let spec = subject.spec("rows", None).expect("a row");
        database.create_table(spec).await.expect("there is room");
        let table = Table::open(&database, "rows").expect("it was made");
        let mut lane = database.lane().await.expect("there are slots");
        subject.load(&mut lane, table, 0..1, false).await.expect("there is room");
    });
    let (address, _owner) = owner(memory, database.root());
    let engine = engine(memory, 4, vec![address_of(OWNER, address)]);
    let (main, committed) = (engine.endpoint(), Rc::new(Cell::new(0)));
    let early = engine.block_on(main.call(OWNER, SHIPPED, task(Operation::Lookup, 3)));
    assert!(matches!(early, Err(CallError::Refused(why)) if why.contains("owns no table")));
    engine.block_on(async {
        own(&main, &[OWNER], "rows").await.expect("it is there");
        let ended = Rc::new(Cell::new(0));
        for call in 0..CALLS {
            let (env, committed, ended) = (engine.endpoint(), committed.clone(), ended.clone());
            main.spawn(async move {
                let answer = env.call(OWNER, SHIPPED, task(Operation::Update, call % 2)).await;
                let (result, _) = outcome(&answer.expect("it is answered")).expect("an answer");
                committed.set(committed.get() + i64::from(result == TransactionResult::Committed));
                ended.set(ended.get() + 1);
            });
        }
        while ended.get() < CALLS {
            main.yield_now().await;
        }
    });
    assert!(committed.get() > CALLS / 2, "{} have committed", committed.get());
    let field = |key: i64| {
        let answer = engine.block_on(main.call(OWNER, SHIPPED, task(Operation::Lookup, key)));
        let answer = answer.expect("it is answered");
        assert_eq!(outcome(&answer), Ok((TransactionResult::Committed, 0)));
        i64::from_le_bytes(*answer.first_chunk().expect("a column"))
    };
    // Rows begin with their keys.
    assert_eq!(field(0) + field(1), 1 + committed.get());
}
