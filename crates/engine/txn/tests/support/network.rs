//! A database on memory servers behind TCP, used by several lanes of two engine threads.

use super::history::Execution;
use super::program::{Program, Tables, execute, execute_all};
use super::server::{SERVERS, admission, caller, memory_server, server_address};
use fabric::{
    Admission, DynEnv, Engine, Env, Patience, Port, ServeCounters, ServerAddress, Sharing,
    TcpConfig, TcpPort, TcpTransport, port,
};
use layout::NodeId;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use txn::{Database, DatabaseConfig, Lane, Outcome, Root, TableSpec};

/// Sleeps early, so that many tests share few processors, and wakes soon.
pub const PATIENCE: Patience =
    Patience { spin_ns: 5_000, awake_ns: 50_000, sleep_ns_max: 2_000_000 };

/// Interval at which the other thread polls for a job.
const LOOK_NS: u64 = 100_000;

/// Memory servers on threads of their own, which end when this is dropped.
pub struct Network {
    pub database: Database<DynEnv>,
    engine: Engine<TcpTransport>,
    other: Other,
    servers: Vec<Server>,
}

/// Another thread with an engine of its own, which ends when this is dropped.
struct Other {
    jobs: Sender<(Tables, Sessions)>,
    /// One message at the start of each job.
    begins: Receiver<()>,
    seen: Receiver<Vec<Execution>>,
}

impl Other {
    fn start(config: &TcpConfig, root: Root) -> Self {
        let (jobs, job) = channel::<(Tables, Sessions)>();
        let ((begin, begins), (see, seen)) = (channel(), channel());
        let config = config.clone();
        let work = move || {
            let engine = engine(&config, 2);
            let database = Database::open(DynEnv::new(engine.endpoint()), &root);
            while let Some((tables, sessions)) = engine.block_on(next(&database, &job)) {
                engine.block_on(database.refresh()).expect("the servers answer");
                if begin.send(()).is_err() {
                    return;
                }
                if see.send(play_all(&engine, &database, tables, sessions)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(work).expect("a thread");
        Self { jobs, begins, seen }
    }
}

struct Server {
    admission: Arc<Admission>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    /// Serves nothing while this is set, as a process that was stopped.
    pause: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(node: NodeId) -> Self {
        let world = memory_server(node, Sharing::Private);
        let admission = Arc::new(admission(node));
        let port = TcpPort::bind("127.0.0.1:0", world, admission.clone()).expect("a free port");
        let address = port.address().expect("it listens");
        let stop = Arc::new(AtomicBool::new(false));
        let pause = Arc::new(AtomicBool::new(false));
        let (stopped, paused) = (stop.clone(), pause.clone());
        let serve = move || {
            let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
            while !stopped.load(Relaxed) {
                port::serve(&mut ports, &paused, PATIENCE, &ServeCounters::default());
                sleep(Duration::from_millis(1));
            }
        };
        let thread = std::thread::Builder::new().spawn(serve).expect("a thread");
        Self { admission, address, stop, pause, thread: Some(thread) }
    }

    fn address(&self) -> ServerAddress {
        server_address(&self.admission, self.address)
    }
}

fn sleep(duration: Duration) {
    #[allow(clippy::disallowed_methods, reason = "a server thread has no world")]
    std::thread::sleep(duration);
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.pause.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(!matches!(ended, Some(Err(_))) || std::thread::panicking(), "a server panicked");
    }
}

/// An engine for this thread.
fn engine(config: &TcpConfig, endpoint: u64) -> Engine<TcpTransport> {
    let mut config = config.clone();
    config.caller.endpoint = endpoint;
    let transport = TcpTransport::connect(config).expect("the servers listen");
    Engine::new(transport, PATIENCE).expect("an engine needs one descriptor")
}

impl Network {
    /// Starts memory servers with an empty database.
    pub fn new() -> Self {
        Self::with_answer_time(60_000_000_000)
    }

    /// The same; a server that does not answer for this long is lost.
    pub fn with_answer_time(answer_time_max_ns: u64) -> Self {
        let servers: Vec<Server> = (0..SERVERS).map(|node| Server::start(NodeId(node))).collect();
        let caller = caller(servers.iter().map(Server::address).collect(), 1);
        let config = TcpConfig {
            answer_time_max_ns,
            connect_time_max_ns: 60_000_000_000,
            ..TcpConfig::new(caller)
        };
        let engine = engine(&config, 1);
        let nodes = (0..SERVERS).map(NodeId).collect();
        let database =
            Database::create(DynEnv::new(engine.endpoint()), nodes, DatabaseConfig::default());
        let database = engine.block_on(database).expect("empty servers");
        let other = Other::start(&config, database.root());
        Self { database, engine, other, servers }
    }

    /// Runs `future` on this thread's engine.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.engine.block_on(future)
    }

    /// Stops the first memory server at some moment from now, for some time.
    pub fn pause_later(&self, after: Duration, lasts: Duration) -> JoinHandle<()> {
        let pause = self.servers[0].pause.clone();
        let stop_and_go = move || {
            sleep(after);
            pause.store(true, Relaxed);
            sleep(lasts);
            pause.store(false, Relaxed);
        };
        std::thread::Builder::new().spawn(stop_and_go).expect("a thread")
    }

    pub fn create(&self, spec: TableSpec) -> Tables {
        let storage = spec.design.storage;
        let name = spec.schema.name().to_owned();
        let table = self.engine.block_on(self.database.create_table(spec)).expect("created");
        let by_group = self.database.index(&name, "by_group");
        Tables { table, by_group, storage, has_notes: false, keeps_leaves: false }
    }

    /// Fills the table, runs each list of programs in a lane, and reads everything at the end;
    /// returns all executions. With `is_of_two`, every other lane is on the other thread.
    pub fn run(
        &self,
        tables: Tables,
        setup: &Program,
        sessions: &[Vec<Program>],
        is_of_two: bool,
    ) -> Vec<Execution> {
        let lane = self.engine.block_on(self.database.lane());
        let mut lane: Lane<DynEnv> = lane.expect("there are slots");
        let filled = self.engine.block_on(execute(&mut lane, tables, usize::MAX, setup));
        assert_eq!(filled.outcome, Outcome::Committed);
        let mut history = vec![filled];
        let (others, own) = sessions
            .iter()
            .cloned()
            .enumerate()
            .partition(|(number, _)| is_of_two && number % 2 == 1);
        if is_of_two {
            self.other.jobs.send((tables, others)).expect("the other thread listens");
            self.other.begins.recv().expect("the other thread has not panicked");
        }
        history.extend(play_all(&self.engine, &self.database, tables, own));
        if is_of_two {
            history.extend(self.other.seen.recv().expect("the other thread has not panicked"));
        }
        let all = Program::reading_all();
        history.push(self.engine.block_on(execute(&mut lane, tables, usize::MAX, &all)));
        history
    }

    /// Refuses structural errors and locks that are still held.
    pub fn check(&self) {
        let report = self.engine.block_on(self.database.check()).expect("readable");
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()));
    }
}

/// The next job; `None` at the end. Lanes withdraw their announcements while this waits.
async fn next<T>(database: &Database<DynEnv>, jobs: &Receiver<T>) -> Option<T> {
    loop {
        match jobs.try_recv() {
            Ok(job) => return Some(job),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => database.env().sleep_ns(LOOK_NS).await,
        }
    }
}

/// Programs of sessions, with the sessions' numbers.
type Sessions = Vec<(usize, Vec<Program>)>;

/// Runs sessions concurrently on one thread.
fn play_all(
    engine: &Engine<TcpTransport>,
    database: &Database<DynEnv>,
    tables: Tables,
    sessions: Sessions,
) -> Vec<Execution> {
    let history = RefCell::new(Vec::new());
    let play = |(number, programs): (usize, Vec<Program>)| -> Play<'_> {
        let history = &history;
        let mut record = move |execution| history.borrow_mut().push(execution);
        Box::pin(async move {
            execute_all(database, tables, number, &programs, &mut record).await;
        })
    };
    engine.block_on(join(sessions.into_iter().map(play).collect()));
    history.into_inner()
}

type Play<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Waits for all of them.
async fn join(mut plays: Vec<Play<'_>>) {
    poll_fn(|context| {
        plays.retain_mut(|play| play.as_mut().poll(context).is_pending());
        if plays.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
