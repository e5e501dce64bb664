//! Compares the latency of fabric `tcp` with that of a plain socket, in one run on this host.
//!
//! `cargo run --release -p fabric --example tcp_speed`
//!
//! Two server processes answer: one echoes eight bytes over a socket that it reads in a loop, the
//! other is a memory server. Blocks of both kinds of reads alternate, so that other load on the
//! host affects both equally. Then many lanes of one engine read rows, which batches system calls
//! on both sides.

use fabric::local::{Replicas, ServerConfig, Sharing};
use fabric::patience::{Step, Waiter};
use fabric::port::{ServeCounters, serve};
use fabric::{
    Admission, Batch, Caller, Engine, Env, Fabric, LocalWorld, Patience, Port, ServerAddress,
    TcpConfig, TcpPort, TcpTransport,
};
use layout::row::Cover;
use layout::{GlobalPtr, NodeId, RegionId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Reads of one block, and blocks of each kind.
const BLOCK_READS: usize = 2000;
const BLOCKS: usize = 20;
/// Words of a row: header, version, link, key, and a payload of 100 bytes.
const ROW_WORDS: u32 = 17;
/// Rows that lanes choose from.
const ROWS: u64 = 100_000;
/// How long the lanes read.
const LANES_TIME: Duration = Duration::from_secs(3);

const REGION_BYTES: u64 = 1 << 26;
const ECHO: &str = "echo";
const SERVER: &str = "server";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(ECHO) => echo(),
        Some(SERVER) => memory_server(),
        _ => measure(),
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "this program measures")]
    Instant::now()
}

/// A child process that runs this program, prints its address and ends when its standard input
/// closes.
struct Process {
    child: Child,
    address: SocketAddr,
    output: BufReader<std::process::ChildStdout>,
}

impl Process {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg(role)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says where it listens");
        Self { child, address: line.trim().parse().expect("an address"), output }
    }

    /// Ends the process and returns the rest of its output.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut words = String::new();
        self.output.read_to_string(&mut words).expect("text");
        self.child.wait().expect("it ends");
        words
    }
}

fn echo() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("{}", listener.local_addr().expect("it listens"));
    let (mut stream, _) = listener.accept().expect("somebody connects");
    stream.set_nodelay(true).expect("a flag of a socket");
    stream.set_nonblocking(true).expect("a flag of a socket");
    let (mut bytes, mut waiter) = ([0; 8], Waiter::new(Patience::default()));
    while receive(&mut stream, &mut waiter, &mut bytes) {
        stream.write_all(&bytes).expect("somebody reads");
    }
}

/// Reads in a loop, waiting like a polling thread; returns `false` if the stream has ended.
fn receive(stream: &mut TcpStream, waiter: &mut Waiter, bytes: &mut [u8; 8]) -> bool {
    waiter.busy();
    loop {
        match stream.read(bytes) {
            Ok(count) => return count == bytes.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        match waiter.idle() {
            Step::Spin | Step::Yield => {}
            Step::Sleep => {
                poll(&mut [PollFd::new(stream, PollFlags::IN)], None).expect("a socket");
            }
        }
    }
}

fn memory_server() {
    let config = ServerConfig {
        node: NodeId(0),
        server_count: 1,
        bytes: REGION_BYTES,
        replicas: Replicas::NONE,
        sharing: Sharing::Private,
        seed: 1,
    };
    let (world, _) = LocalWorld::memory_server(&config).expect("memory");
    let port = TcpPort::bind("127.0.0.1:0", world, Arc::new(admission())).expect("a free port");
    println!("{}", port.address().expect("it listens"));
    let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            stop.store(true, Relaxed);
        });
        serve(&mut [Box::new(port) as Box<dyn Port>], &stop, Patience::default(), &counters);
    });
    let (requests, busy) = (counters.requests.load(Relaxed), counters.busy_rounds.load(Relaxed));
    println!("{:.1} {}", requests as f64 / busy as f64, processor_ns());
}

/// Processor time of this process in nanoseconds.
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}

fn admission() -> Admission {
    Admission {
        node: NodeId(0),
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
        server: 2,
        key: 3,
        region_bytes: REGION_BYTES,
        program: String::new(),
        epoch: 0.into(),
        members: Default::default(),
    }
}

fn connect(address: SocketAddr, endpoint: u64) -> Engine<TcpTransport> {
    let server = ServerAddress { node: NodeId(0), address, identity: 2, key: 3, region_bytes: 0 };
    let mut config = TcpConfig::new(Caller {
        servers: vec![server],
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
        epoch: Arc::default(),
        identity: 4,
        endpoint,
        program: String::new(),
    });
    config.attempts_max = 1;
    let transport = TcpTransport::connect(config);
    Engine::new(transport.expect("the server is there"), Patience::default()).expect("an engine")
}

fn measure() {
    let (echo, server) = (Process::start(ECHO), Process::start(SERVER));
    let (bare, tcp) = latencies(&echo, &server);
    let ratio = tcp.1 as f64 / bare.1 as f64;
    println!("                      p10      p50      p99");
    for (name, (p10, p50, p99)) in [("socket, ping-pong", bare), ("tcp, 8-byte read", tcp)] {
        println!("{name:18} {p10:>6} ns {p50:>6} ns {p99:>6} ns");
    }
    println!("p50 of a read is {ratio:.2} times that of the socket (at most 1.3 is the aim)");
    echo.end();
    server.end();
    println!();
    println!(
        "lanes  row reads/s  requests per round  processor time of caller and server per read"
    );
    for lanes in [1, 4, 16, 64] {
        let server = Process::start(SERVER);
        let before_ns = processor_ns();
        let reads = lanes_read(&server, lanes);
        let caller_ns = (processor_ns() - before_ns) / reads;
        let rate = reads as f64 / LANES_TIME.as_secs_f64();
        let words = server.end();
        let (shared, server_ns) = words.trim().split_once(' ').expect("two numbers");
        let server_ns = server_ns.parse::<u64>().expect("a number") / reads;
        println!("{lanes:>5} {rate:>12.0} {shared:>19} {caller_ns:>29} ns {server_ns:>6} ns");
    }
}

type Percentiles = (u64, u64, u64);

fn percentiles(samples: &mut [u64]) -> Percentiles {
    samples.sort_unstable();
    let at = |percent: usize| samples[samples.len() * percent / 100];
    (at(10), at(50), at(99))
}

fn latencies(echo: &Process, server: &Process) -> (Percentiles, Percentiles) {
    let mut stream = TcpStream::connect(echo.address).expect("it listens");
    stream.set_nodelay(true).expect("a flag of a socket");
    stream.set_nonblocking(true).expect("a flag of a socket");
    let engine = connect(server.address, 1);
    let env = engine.endpoint();
    let mut waiter = Waiter::new(Patience::default());
    let (mut bare, mut tcp) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS {
        for _ in 0..BLOCK_READS {
            let start = now();
            stream.write_all(&[1; 8]).expect("it reads");
            assert!(receive(&mut stream, &mut waiter, &mut [0; 8]), "it answers");
            bare.push(start.elapsed().as_nanos() as u64);
        }
        engine.block_on(async {
            let mut batch = Batch::new();
            for _ in 0..BLOCK_READS {
                let start = now();
                batch.reset();
                batch.read(GlobalPtr::new(RegionId(0), 4096), 1);
                batch = env.execute(batch).await.expect("it is there");
                tcp.push(start.elapsed().as_nanos() as u64);
            }
        });
    }
    (percentiles(&mut bare), percentiles(&mut tcp))
}

/// Reads rows with `lanes` lanes of one engine for [`LANES_TIME`]; returns the number of reads.
fn lanes_read(server: &Process, lanes: u64) -> u64 {
    let engine = connect(server.address, 1);
    let main = engine.endpoint();
    let (reads, ended, is_over) = <(Rc<Cell<u64>>, Rc<Cell<u64>>, Rc<Cell<bool>>)>::default();
    engine.block_on(async {
        for _ in 0..lanes {
            let env = engine.endpoint();
            let (reads, ended, is_over) = (reads.clone(), ended.clone(), is_over.clone());
            main.spawn(async move {
                let mut batch = Batch::new();
                while !is_over.get() {
                    batch.reset();
                    let row = env.random() % ROWS * u64::from(ROW_WORDS) * 8 + 4096;
                    batch.read_row(GlobalPtr::new(RegionId(0), row), ROW_WORDS, Cover::AllButLink);
                    batch = env.execute(batch).await.expect("it is there");
                    reads.set(reads.get() + 1);
                }
                ended.set(ended.get() + 1);
            });
        }
        main.sleep_ns(LANES_TIME.as_nanos() as u64).await;
        is_over.set(true);
        let measured = reads.get();
        while ended.get() < lanes {
            main.yield_now().await;
        }
        measured
    })
}
