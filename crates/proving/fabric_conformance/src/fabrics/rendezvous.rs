//! Where the processes of a test meet, and the identities that they present to each other.

use crate::party::REGION_BYTES;
use crate::test::Wrong;
use fabric::{Admission, Caller, Hello, Secret, ServerAddress};
use layout::NodeId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const CLUSTER: u64 = 0x5017e;
/// The secret of servers and callers.
pub const SECRET: Secret = Secret::new([7; 32]);
const EPOCH: u64 = 1;
const PROGRAM: &str = "0.1.0 of the suite";

/// The server that a test may restart.
pub const RESTARTED: NodeId = NodeId(1);

/// The data by which a process connects to the memory servers.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// The folder of this test.
    pub folder: Arc<Folder>,
    /// The addresses of the servers, in the form of their fabric.
    pub addresses: Vec<String>,
    /// The caller's identity.
    pub caller: u64,
    /// The wrong part of the caller's identity, if any.
    pub wrong: Option<Wrong>,
    /// How often server 1 has been restarted, as far as the caller knows.
    pub life: u64,
}

/// A folder; the last owner deletes it, if it was made for this test.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    is_own: bool,
}

impl Folder {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_own {
            // If the folder cannot be removed, it does no harm.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl Rendezvous {
    /// A place in a new folder, without addresses.
    pub fn new() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("namdb-suite-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        let folder = Arc::new(Folder { path, is_own: true });
        let caller = 1 << 32 | u64::from(std::process::id());
        Ok(Self { folder, addresses: Vec::new(), caller, wrong: None, life: 0 })
    }

    /// The place of a director in another process.
    pub fn of(folder: &Path, addresses: &[String]) -> Self {
        let folder = Arc::new(Folder { path: folder.to_owned(), is_own: false });
        let caller = u64::from(std::process::id());
        Self { folder, addresses: addresses.to_vec(), caller, wrong: None, life: 0 }
    }

    /// The same place, with one part of the caller's identity wrong.
    pub fn with(&self, wrong: Wrong) -> Self {
        Self { wrong: Some(wrong), ..self.clone() }
    }

    /// The callers that a memory server admits after `life` restarts.
    pub fn admission(node: NodeId, life: u64) -> Admission {
        Admission {
            node,
            cluster: CLUSTER,
            secret: SECRET,
            server: 1000 + 10 * life + u64::from(node.0),
            key: 2000 + 10 * life + u64::from(node.0),
            region_bytes: REGION_BYTES,
            program: PROGRAM.to_owned(),
            epoch: EPOCH.into(),
            members: Default::default(),
        }
    }

    /// The hello that this caller sends to a server.
    pub fn hello(&self, node: NodeId, endpoint: u64) -> Hello {
        let life = if node == RESTARTED { self.life } else { 0 };
        let Admission { cluster, server, key, program, .. } = Self::admission(node, life);
        let (caller, process) = (self.caller, std::process::id());
        let mut hello =
            Hello { node, cluster, epoch: EPOCH, server, key, caller, endpoint, process, program };
        match self.wrong {
            None => {}
            Some(Wrong::Key) => hello.key += 1,
            Some(Wrong::Epoch) => hello.epoch -= 1,
            Some(Wrong::Cluster) => hello.cluster += 1,
            Some(Wrong::Program) => hello.program.push('x'),
        }
        hello
    }

    /// The caller's identity, for fabrics with addresses.
    pub fn caller(&self) -> Result<Caller, String> {
        let Hello { cluster, epoch, caller: identity, endpoint, program, .. } =
            self.hello(NodeId(0), 0);
        let (servers, epoch) = (self.servers()?, Arc::new(epoch.into()));
        Ok(Caller { servers, cluster, secret: SECRET, epoch, identity, endpoint, program })
    }

    /// The servers that the caller connects to.
    fn servers(&self) -> Result<Vec<ServerAddress>, String> {
        let server = |(number, address): (u16, &String)| {
            let Hello { node, server: identity, key, .. } = self.hello(NodeId(number), 0);
            let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
            Ok(ServerAddress { node, address, identity, key, region_bytes: 0 })
        };
        (0..).zip(&self.addresses).map(server).collect()
    }

    /// Arguments of a memory server's process; it listens at its predecessor's address, if there
    /// was one.
    pub fn server(&self, fabric: &str, node: u16) -> Vec<String> {
        let folder = self.folder.path.display().to_string();
        let own = ["server".to_owned(), fabric.to_owned(), node.to_string(), self.life.to_string()];
        let before = self.addresses.get(usize::from(node)).cloned();
        own.into_iter().chain([folder]).chain(before).collect()
    }

    /// Arguments of a party's process.
    pub fn party(&self, fabric: &str, test: &str, number: u32) -> Vec<String> {
        let folder = self.folder.path.display().to_string();
        let own = ["party".to_owned(), fabric.to_owned(), test.to_owned(), number.to_string()];
        own.into_iter().chain([folder]).chain(self.addresses.iter().cloned()).collect()
    }
}
