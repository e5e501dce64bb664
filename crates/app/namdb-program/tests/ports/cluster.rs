//! A cluster on this host, its ports, and connections to them.

use fabric::Secret;
use fabric::proof::{CHALLENGE_BYTES, Purpose, opening};
use fabric::tcp::{TlsKeys, TlsStream};
use layout::NodeId;
use membership::{ClusterFile, FabricKind, Member, Registry};
use namdb_program::servers::development;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

/// No port needs longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

const MEMORY_BYTES: u64 = 256 << 20;
/// Tables are dropped when no transaction can use them any more, which takes this time.
const TRANSACTION_TIME_MS: u64 = 200;

/// One memory server and one compute server over messages. Ends with its owner.
pub struct Cluster {
    pub file: PathBuf,
    pub settings: ClusterFile,
    pub secret: Secret,
    pub members: Vec<Member>,
    pub keys: Option<TlsKeys>,
}

/// A port at which callers must prove the secret.
#[derive(Clone)]
pub struct Door {
    pub name: &'static str,
    pub address: String,
    pub purpose: Purpose,
    /// The message of a member, behind its proof.
    pub message: Vec<u8>,
    secret: Secret,
    /// The name in the server's certificate, and the keys of a member; `None` without TLS.
    keys: Option<(String, TlsKeys)>,
}

/// A connection, plain or encrypted.
pub enum Link {
    Plain(TcpStream),
    Encrypted(Box<TlsStream>),
}

impl Cluster {
    pub fn up(name: &str, is_encrypted: bool) -> Self {
        let file = format!("namdb-ports-{name}-{is_encrypted}-{}.toml", std::process::id());
        let file = std::env::temp_dir().join(file);
        let mut cluster = ClusterFile::development("ports", FabricKind::Tcp, &[MEMORY_BYTES], 1);
        cluster.transaction_time_ms = TRANSACTION_TIME_MS;
        development::write(&file, cluster, is_encrypted).expect("a new file");
        let up = namdb(&format!("cluster up --file {}", file.display()));
        assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
        let settings = ClusterFile::load(&file, &[]).expect("it was written");
        let secret = settings.read_secret().expect("it was made");
        let registry = Registry::open(&settings).expect("it runs");
        let members = registry.map().expect("it answers").members;
        let keys = settings.tls.as_ref().map(|tls| {
            let read = |path| std::fs::read(path).expect("it was made");
            let keys = TlsKeys::from_pem(&read(&tls.ca), &read(&tls.certificate), &read(&tls.key));
            keys.expect("they fit")
        });
        Self { file, settings, secret, members, keys }
    }

    pub fn run(&self, command: &str) -> Output {
        namdb(&format!("{command} --cluster {}", self.file.display()))
    }

    pub fn log(&self, server: &str) -> String {
        let path = self.settings.directory.join(format!("log/{server}-0.log"));
        std::fs::read_to_string(path).expect("a log")
    }

    pub fn memory_server(&self) -> &Member {
        self.members.iter().find(|member| member.is_memory_server()).expect("it runs")
    }

    pub fn compute_server(&self) -> &Member {
        self.members.iter().find(|member| !member.is_memory_server()).expect("it runs")
    }

    /// The memory server's port, and those of the compute server for calls and for work.
    pub fn doors(&self) -> Vec<Door> {
        let keys = |name: String| self.keys.clone().map(|keys| (name, keys));
        let hello = |member: &Member| {
            let program = env!("CARGO_PKG_VERSION");
            member.hello(self.settings.id, u64::MAX >> 1, 77, 1, program).encode().to_vec()
        };
        let (memory, compute) = (self.memory_server(), self.compute_server());
        let address = |address: &Option<String>| address.clone().expect("it listens");
        let compute_keys = keys(TlsKeys::compute_server_name(0));
        vec![
            Door {
                name: "memory",
                address: address(&memory.addresses.tcp),
                purpose: Purpose::Verbs,
                message: hello(memory),
                secret: self.secret.clone(),
                keys: keys(TlsKeys::server_name(NodeId(0))),
            },
            Door {
                name: "calls",
                address: address(&compute.addresses.tcp),
                purpose: Purpose::Verbs,
                message: hello(compute),
                secret: self.secret.clone(),
                keys: compute_keys.clone(),
            },
            Door {
                name: "work",
                address: address(&compute.addresses.work),
                purpose: Purpose::Work,
                message: Vec::new(),
                secret: self.secret.clone(),
                keys: compute_keys,
            },
        ]
    }

    /// The addresses of status and metrics.
    pub fn controls(&self) -> Vec<String> {
        let address = |member: &Member| member.addresses.control.clone().expect("it has one");
        self.members.iter().map(address).collect()
    }

    /// Whether members run transactions, on this process and by an order.
    pub fn serves_members(&self) {
        let bench = "bench bank --records 100 --threads 1 --lanes 2 --seconds 0.1 --warm-up 0";
        for servers in [0, 1] {
            let run = self.run(&format!("{bench} --fresh --compute-servers {servers}"));
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        namdb(&format!("cluster down --file {}", self.file.display()));
        let _ = std::fs::remove_file(&self.file);
        let _ = std::fs::remove_file(self.file.with_extension("secret"));
        let _ = std::fs::remove_dir_all(self.file.with_extension("tls"));
        let _ = std::fs::remove_dir_all(&self.settings.directory);
    }
}

impl Door {
    pub fn is_encrypted(&self) -> bool {
        self.keys.is_some()
    }

    /// A TCP connection without TLS.
    pub fn knock(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream
    }

    /// A connection as members have it, before the opening.
    pub fn connect(&self) -> Link {
        let stream = self.knock();
        let Some((name, keys)) = &self.keys else { return Link::Plain(stream) };
        let stream = TlsStream::connect(keys, name.clone(), stream, PATIENCE);
        let stream = stream.expect("a certificate of the cluster");
        stream.socket().set_read_timeout(Some(PATIENCE)).expect("a socket");
        Link::Encrypted(Box::new(stream))
    }

    /// A connection behind the opening, and the server's challenge.
    pub fn opened(&self) -> (Link, [u8; CHALLENGE_BYTES]) {
        let mut link = self.connect();
        link.send(&opening(&self.secret));
        let mut challenge = [0; CHALLENGE_BYTES];
        link.read_exact(&mut challenge).expect("it answers");
        (link, challenge)
    }
}

impl Link {
    pub fn send(&mut self, bytes: &[u8]) {
        // The server may have closed the connection already.
        let _ = self.write_all(bytes).and_then(|()| self.flush());
    }

    /// Everything that the server sends until it closes the connection, without a reset.
    pub fn heard(mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match self.read(&mut piece) {
                Ok(0) => return heard,
                Ok(count) => heard.extend_from_slice(&piece[..count]),
                // An end without the notice of TLS.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return heard,
                Err(error) => panic!("the connection is not closed properly: {error}"),
            }
        }
    }
}

impl Read for Link {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(room),
            Self::Encrypted(stream) => stream.read(room),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

pub fn namdb(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb"));
    command.args(arguments.split_whitespace()).output().expect("the program was built")
}
