//! Memory server and caller in separate processes.

use crate::support::{CLUSTER, EPOCH, PROGRAM, Server, at, config, engine};
use fabric::{Batch, Engine, Env, Fabric, FabricError, ServerAddress, TcpConfig, TcpTransport};
use layout::NodeId;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Set in a process that acts as a memory server.
const ROLE: &str = "NAMDB_TEST_MEMORY_SERVER";

/// A memory server in another process, killed on drop.
struct Process {
    child: Child,
    address: ServerAddress,
}

impl Process {
    fn start() -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--exact", "processes::a_process_may_be_a_memory_server", "--nocapture"])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).expect("text") > 0, "it says where it listens");
            if let Some((_, address)) = line.trim().split_once("listens at ") {
                break address.parse().expect("an address");
            }
        };
        let node = NodeId(0);
        let address = ServerAddress { node, address, identity: 1000, key: 2000, region_bytes: 0 };
        Self { child, address }
    }

    fn config(&self) -> TcpConfig {
        let mut config = config(&[]);
        config.caller.servers = vec![self.address.clone()];
        config
    }

    /// Its processor time in hundredths of a second.
    fn processor_ticks(&self) -> u64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(path).expect("it runs");
        let fields: Vec<&str> =
            stat.rsplit(')').next().expect("a name").split_whitespace().collect();
        [11, 12].map(|field| fields[field].parse::<u64>().expect("a number")).iter().sum()
    }

    /// Limits its descriptors to numbers below `current`; returns the previous limit.
    fn bound_descriptors(&self, current: Option<u64>) -> Option<u64> {
        let process = Pid::from_raw(self.child.id() as i32);
        let maximum = getrlimit(Resource::Nofile).maximum;
        let before = prlimit(process, Resource::Nofile, Rlimit { current, maximum });
        before.expect("it is our child").current
    }

    /// The number of its next descriptor.
    fn next_descriptor(&self) -> u64 {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs");
        let number = |entry: std::io::Result<DirEntry>| {
            entry.ok()?.file_name().to_str()?.parse::<u64>().ok()
        };
        let open: BTreeSet<u64> = open.filter_map(number).collect();
        (0..).find(|number| !open.contains(number)).expect("there are more numbers than files")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test by itself: the server process of the tests below. It ends when its standard input
/// closes.
#[test]
fn a_process_may_be_a_memory_server() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    assert_eq!((CLUSTER, EPOCH, PROGRAM), (77, 5, "0.1.0"));
    let server = Server::start(0, 1);
    println!("listens at {}", server.address);
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn another_process_is_reached_like_this_one() {
    let process = Process::start();
    let engine = engine(process.config());
    let env = engine.endpoint();
    assert_eq!(
        env.with_transport(|t| t.server(NodeId(0)).region_bytes),
        crate::support::REGION_BYTES
    );
    for round in 0..1000 {
        let mut batch = Batch::new();
        let sum = batch.fetch_and_add(at(0, 0), 1);
        let batch = engine.block_on(env.execute(batch)).expect("it is there");
        assert_eq!(batch.found(sum), round);
    }
}

#[test]
fn an_idle_memory_server_uses_no_processor() {
    let process = Process::start();
    let engine = engine(process.config());
    let env = engine.endpoint();
    let read = || {
        let mut batch = Batch::new();
        batch.read(at(0, 0), 1);
        engine.block_on(env.execute(batch)).expect("it is there");
    };
    read();
    engine.block_on(env.sleep_ns(50_000_000));
    let before = process.processor_ticks();
    engine.block_on(env.sleep_ns(1_000_000_000));
    let used = process.processor_ticks() - before;
    assert!(used <= 2, "{used} hundredths of a second in a second");
    read();
}

/// It cannot accept connections, which stay in the queue: nothing changes until descriptors become
/// free.
#[test]
fn a_memory_server_without_descriptors_uses_no_processor_and_accepts_later() {
    let process = Process::start();
    let first = engine(process.config());
    let env = first.endpoint();
    let read = |engine: &Engine<TcpTransport>| {
        let mut batch = Batch::new();
        batch.read(at(0, 0), 1);
        engine.block_on(engine.endpoint().execute(batch)).expect("it is there");
    };
    read(&first);
    let before = process.bound_descriptors(Some(process.next_descriptor()));
    let waiting = TcpStream::connect(process.address.address).expect("it listens");
    first.block_on(env.sleep_ns(50_000_000));
    let ticks = process.processor_ticks();
    first.block_on(env.sleep_ns(1_000_000_000));
    let used = process.processor_ticks() - ticks;
    assert!(used <= 5, "{used} hundredths of a second in a second");
    waiting.set_nonblocking(true).expect("a flag of a socket");
    let silence = (&waiting).read(&mut [0]).expect_err("nobody has heard it");
    assert_eq!(silence.kind(), ErrorKind::WouldBlock);
    read(&first);
    process.bound_descriptors(before);
    // It retries whenever it wakes.
    first.block_on(env.sleep_ns(50_000_000));
    read(&first);
    read(&engine(process.config()));
}

#[test]
fn a_server_that_is_killed_in_mid_batch_ends_all_that_is_under_way() {
    let mut process = Process::start();
    let mut config = process.config();
    config.attempts_max = 1;
    let engine = engine(config);
    let main = engine.endpoint();
    let start_ns = main.now_ns();
    let ended = std::rc::Rc::new(std::cell::Cell::new(0));
    engine.block_on(async {
        for lane in 0..8 {
            let (env, ended) = (engine.endpoint(), ended.clone());
            main.spawn(async move {
                loop {
                    let mut batch = Batch::new();
                    let words = batch.reserve(50_000);
                    batch.write(at(0, lane * 50_000), words);
                    batch.read(at(0, lane * 50_000), 50_000);
                    if let Err(error) = env.execute(batch).await {
                        assert_eq!(error, FabricError::Unreachable(NodeId(0)));
                        break;
                    }
                }
                ended.set(ended.get() + 1);
            });
        }
        main.sleep_ns(100_000_000).await;
        process.child.kill().expect("it runs");
        while ended.get() < 8 {
            main.sleep_ns(1_000_000).await;
        }
    });
    let lasted_ms = (main.now_ns() - start_ns) / 1_000_000;
    assert!(lasted_ms < 4000, "{lasted_ms} ms");
}
