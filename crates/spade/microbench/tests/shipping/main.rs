//! Operations shipped to a compute server: memory server, owner and caller run on threads of their
//! own.
#![allow(clippy::disallowed_methods, reason = "servers are threads of this test")]

mod tcp;
mod verbs;

use fabric::identity::Admission;
use fabric::port::{Port, ServeCounters, serve};
use fabric::{
    CallError, Caller, DynEnv, Engine, Env, Fabric, Patience, ServerAddress, Services, Transport,
};
use layout::NodeId;
use microbench::experiment::Choice;
use microbench::host::{Host, own};
use microbench::operation::Task;
use microbench::ship::{SHIPPED, encode, outcome};
use microbench::subject::{Subject, Table};
use shipping::Lanes;
use spade_format::measurement::{Effort, Operation, Place, World};
use std::cell::Cell;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use txn::{Database, DatabaseConfig, Oracle, Root};
use workload::TransactionResult;

/// Sleeps early, so that threads share few processors, and soon sleeps as long as it may.
const PATIENCE: Patience = Patience { spin_ns: 5_000, awake_ns: 50_000, sleep_ns_max: 2_000_000 };
const MEMORY: NodeId = NodeId(0);
const OWNER: NodeId = NodeId::of_compute_server(0);
const REGION_BYTES: u64 = 64 << 20;
/// Lanes of the owner: fewer than there are concurrent calls.
const LANES: u32 = 4;

fn admission(node: NodeId, region_bytes: u64) -> Arc<Admission> {
    Arc::new(Admission {
        node,
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
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

/// A fabric that connects the servers.
trait Network: 'static {
    type Transport: Transport;
    const NAME: &'static str;
    const ORACLE: Oracle;
    /// Number of concurrent shipped operations.
    const CALLS: i64;

    /// Creates the memory server's port, on the thread that serves it, and returns its address.
    fn open_memory_server() -> (Box<dyn Port>, SocketAddr);

    fn connect(caller: Caller, peers: Vec<ServerAddress>) -> Self::Transport;

    /// Makes the engine accept the owner's calls.
    fn take_calls(engine: &Engine<Self::Transport>, listener: TcpListener, services: Offered);
}

/// Services with handlers that use a network.
type Offered = Services<DynEnv>;

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

fn memory_server<N: Network>() -> (SocketAddr, Thread) {
    let (sender, receiver) = channel();
    let thread = Thread::start(move |stop| {
        let (port, address) = N::open_memory_server();
        sender.send(address).expect("somebody waits");
        serve(&mut [port], stop, PATIENCE, &ServeCounters::default());
    });
    (receiver.recv().expect("it starts"), thread)
}

/// The engine of process `identity`, which calls `peers`.
fn engine<N: Network>(
    memory: SocketAddr,
    identity: u64,
    peers: Vec<ServerAddress>,
) -> Engine<N::Transport> {
    let caller = Caller {
        servers: vec![address_of(MEMORY, memory)],
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
        epoch: Arc::new(1.into()),
        identity,
        endpoint: 1,
        program: "tests".to_owned(),
    };
    Engine::new(N::connect(caller, peers), PATIENCE).expect("an engine needs one descriptor")
}

/// The compute server that owns rows. At its end it has no lane left.
fn owner<N: Network>(memory: SocketAddr, root: Root) -> (SocketAddr, Thread) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let thread = Thread::start(move |stop| {
        let engine = engine::<N>(memory, 3, Vec::new());
        let (lanes, env) = (Lanes::new(LANES), DynEnv::new(engine.endpoint()));
        let ownership = Lanes::offer(Database::open(env.clone(), &root));
        N::take_calls(&engine, listener, Host::new(lanes.clone()).services().into());
        engine.block_on(async {
            while !stop.load(Relaxed) {
                env.sleep_ns(1_000_000).await;
            }
            lanes.end();
            while lanes.rest::<DynEnv>() > 0 {
                env.sleep_ns(1_000_000).await;
            }
        });
        drop(ownership);
    });
    (address, thread)
}

/// A tiny table of the experiment's first design.
fn subject(fabric: &str) -> Subject {
    let world = World {
        fabric: fabric.to_owned(),
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

/// Many concurrent calls on few rows: each takes effect once, however often the owner's lanes
/// conflict.
fn every_shipped_operation_takes_effect_once<N: Network>() {
    let (memory, _server) = memory_server::<N>();
    let maker = engine::<N>(memory, 2, Vec::new());
    let config = DatabaseConfig { oracle: N::ORACLE, ..DatabaseConfig::default() };
    let made = Database::create(DynEnv::new(maker.endpoint()), vec![MEMORY], config);
    let database = maker.block_on(made).expect("an empty server");
    let subject = subject(N::NAME);
    maker.block_on(async {
        let spec = subject.spec("rows", None).expect("a row");
        database.create_table(spec).await.expect("there is room");
        let table = Table::open(&database, "rows").expect("it was made");
        let mut lane = database.lane().await.expect("there are slots");
        subject.load(&mut lane, table, 0..1, false).await.expect("there is room");
    });
    let (address, _owner) = owner::<N>(memory, database.root());
    let engine = engine::<N>(memory, 4, vec![address_of(OWNER, address)]);
    let (main, committed) = (engine.endpoint(), Rc::new(Cell::new(0)));
    let early = engine.block_on(main.call(OWNER, SHIPPED, task(Operation::Lookup, 3)));
    assert!(matches!(early, Err(CallError::Refused(why)) if why.contains("owns no table")));
    engine.block_on(async {
        own(&main, &[OWNER], "rows").await.expect("it is there");
        let ended = Rc::new(Cell::new(0));
        for call in 0..N::CALLS {
            let (env, committed, ended) = (engine.endpoint(), committed.clone(), ended.clone());
            main.spawn(async move {
                let answer = env.call(OWNER, SHIPPED, task(Operation::Update, call % 2)).await;
                let (result, _) = outcome(&answer.expect("it is answered")).expect("an answer");
                committed.set(committed.get() + i64::from(result == TransactionResult::Committed));
                ended.set(ended.get() + 1);
            });
        }
        while ended.get() < N::CALLS {
            main.yield_now().await;
        }
    });
    assert!(committed.get() > N::CALLS / 2, "{} have committed", committed.get());
    let field = |key: i64| {
        let answer = engine.block_on(main.call(OWNER, SHIPPED, task(Operation::Lookup, key)));
        let answer = answer.expect("it is answered");
        assert_eq!(outcome(&answer), Ok((TransactionResult::Committed, 0)));
        i64::from_le_bytes(*answer.first_chunk().expect("a column"))
    };
    // Rows begin with their keys.
    assert_eq!(field(0) + field(1), 1 + committed.get());
}
