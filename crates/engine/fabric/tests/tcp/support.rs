//! Memory servers on threads of the test, and engines connected to them.

use fabric::local::{Replicas, ServerConfig, Sharing};
use fabric::port::{Port, ServeCounters, serve};
use fabric::proof::{Purpose, prove};
use fabric::tcp::TlsKeys;
use fabric::{
    Admission, Caller, Engine, Hello, LocalEnv, LocalWorld, Patience, Secret, ServerAddress,
    Service, ServiceId, TcpConfig, TcpPort, TcpTransport, Welcome,
};
use layout::{GlobalPtr, NodeId, RegionId};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

pub const REGION_BYTES: u64 = 1 << 24;
pub const CLUSTER: u64 = 77;
pub const EPOCH: u64 = 5;
pub const PROGRAM: &str = "0.1.0";

/// A memory server; stopped on drop.
pub struct Server {
    pub address: SocketAddr,
    pub admission: Arc<Admission>,
    pub shared: Arc<(AtomicBool, ServeCounters)>,
    thread: Option<JoinHandle<()>>,
}

/// Sleeps early, which helps tests on few processors, and long, so that a missing wake-up is
/// noticed.
pub fn patience() -> Patience {
    Patience { spin_ns: 10_000, awake_ns: 60_000, sleep_ns_max: 60_000_000_000 }
}

pub fn secret() -> Secret {
    Secret::new([7; 32])
}

pub fn admission(node: NodeId) -> Arc<Admission> {
    Arc::new(Admission {
        node,
        cluster: CLUSTER,
        secret: secret(),
        server: 1000 + u64::from(node.0),
        key: 2000 + u64::from(node.0),
        region_bytes: REGION_BYTES,
        program: PROGRAM.to_owned(),
        epoch: EPOCH.into(),
        members: Default::default(),
    })
}

pub fn world(node: NodeId, server_count: u16) -> Arc<LocalWorld> {
    let sharing = Sharing::Private;
    let config = ServerConfig {
        node,
        server_count,
        bytes: REGION_BYTES,
        replicas: Replicas::NONE,
        sharing,
        seed: 1,
    };
    LocalWorld::memory_server(&config).expect("little memory").0
}

impl Server {
    pub fn start(node: u16, server_count: u16) -> Self {
        Self::start_with(node, server_count, &[])
    }

    pub fn start_with(
        node: u16,
        server_count: u16,
        services: &[(ServiceId, Arc<dyn Service<LocalEnv>>)],
    ) -> Self {
        Self::start_by(node, server_count, services, None)
    }

    pub fn start_by(
        node: u16,
        server_count: u16,
        services: &[(ServiceId, Arc<dyn Service<LocalEnv>>)],
        keys: Option<TlsKeys>,
    ) -> Self {
        let node = NodeId(node);
        let (world, admission) = (world(node, server_count), admission(node));
        for (id, service) in services {
            world.register(node, *id, service.clone());
        }
        let address = "127.0.0.1:0";
        let port = match keys {
            None => TcpPort::bind(address, world, admission.clone()),
            Some(keys) => TcpPort::bind_encrypted(address, world, admission.clone(), keys),
        };
        let port = port.expect("a free port");
        let address = port.address().expect("it listens");
        let shared = Arc::new((AtomicBool::new(false), ServeCounters::default()));
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
            serve(&mut ports, &of_thread.0, patience(), &of_thread.1);
        });
        let thread = Some(thread.expect("a thread"));
        Self { address, admission, shared, thread }
    }

    pub fn server_address(&self) -> ServerAddress {
        ServerAddress {
            node: self.admission.node,
            address: self.address,
            identity: self.admission.server,
            key: self.admission.key,
            region_bytes: 0,
        }
    }

    /// A connection after its handshake, whose bytes the test writes itself.
    pub fn raw(&self, endpoint: u64) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a flag of a socket");
        let hello = Hello {
            node: self.admission.node,
            cluster: CLUSTER,
            epoch: EPOCH,
            server: self.admission.server,
            key: self.admission.key,
            caller: 4,
            endpoint,
            process: std::process::id(),
            program: PROGRAM.to_owned(),
        };
        let mut answer = [0; fabric::identity::ANSWER_BYTES];
        let hello = hello.encode();
        let proven = prove(&mut stream, &secret(), Purpose::Verbs, &hello, &mut answer);
        proven.expect("the server answers");
        Welcome::decode(&answer).expect("the caller is welcome");
        stream
    }
}

impl Server {
    /// Stops the server and returns its number of requests, which it counts after the answers.
    pub fn served(self) -> u64 {
        let shared = self.shared.clone();
        drop(self);
        shared.1.requests.load(Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.0.store(true, Relaxed);
        // It may sleep; a connection wakes it.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the memory server has panicked");
        }
    }
}

pub fn config(servers: &[&Server]) -> TcpConfig {
    static ENDPOINTS: AtomicU64 = AtomicU64::new(100);
    TcpConfig::new(Caller {
        servers: servers.iter().map(|server| server.server_address()).collect(),
        cluster: CLUSTER,
        secret: secret(),
        epoch: Arc::new(EPOCH.into()),
        identity: 3,
        endpoint: ENDPOINTS.fetch_add(1, Relaxed),
        program: PROGRAM.to_owned(),
    })
}

pub fn engine(config: TcpConfig) -> Engine<TcpTransport> {
    engine_of(TcpTransport::connect(config).expect("the servers are there"))
}

pub fn engine_of(transport: TcpTransport) -> Engine<TcpTransport> {
    Engine::new(transport, patience()).expect("an engine needs one descriptor")
}

/// Word `word` of a server's region, counted from the end of its header.
pub fn at(node: u16, word: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(node), layout::region::HEADER_BYTES + word * 8)
}

/// The words of a hand-written frame, the head first.
pub fn request(kind: u64, server: &Server, sequence: u64, body: &[u64]) -> Vec<u64> {
    let words = (4 + body.len()) as u64;
    let head = 0x6e61 | kind << 16 | words << 32;
    let mut frame = vec![head, EPOCH, server.admission.key, sequence];
    frame.extend_from_slice(body);
    frame
}

pub fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reads one answer; `None` if the connection is closed.
pub fn answer(stream: &mut TcpStream) -> Option<Vec<u64>> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).ok()?;
    let head = u64::from_le_bytes(head);
    assert_eq!(head & 0xffff, 0x6e61, "it begins with the magic number");
    let mut rest = vec![0; (head >> 32) as usize * 8 - 8];
    stream.read_exact(&mut rest).ok()?;
    let words = rest.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
    Some(std::iter::once(head).chain(words.map(|word| word.expect("eight bytes"))).collect())
}

/// The kind of an answer.
pub fn kind(answer: &[u64]) -> u64 {
    answer[0] >> 16 & 0xff
}

pub const BATCH: u64 = 1;
pub const CALL: u64 = 2;
pub const DONE: u64 = 3;
pub const OUT_OF_RANGE: u64 = 4;
pub const ANSWERED: u64 = 5;
pub const REFUSED: u64 = 6;
