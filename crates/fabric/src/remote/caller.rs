//! Who connects, and to which memory servers: the same on every fabric that has addresses.

use crate::identity::Hello;
use layout::NodeId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a memory server is, and who it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAddress {
    /// Its number; region n lives on server n.
    pub node: NodeId,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its identity, new at each of its starts.
    pub identity: u64,
    /// The key of its region, new at each of its starts.
    pub key: u64,
    /// Bytes of its region, as it has told; 0 before.
    pub region_bytes: u64,
}

/// One side of the connections to all memory servers.
#[derive(Clone, Debug)]
pub struct Caller {
    /// All memory servers, by number.
    pub servers: Vec<ServerAddress>,
    /// The cluster.
    pub cluster: u64,
    /// The caller's epoch. Whoever does membership raises it.
    pub epoch: Arc<AtomicU64>,
    /// The caller's identity, the same for all its connections.
    pub identity: u64,
    /// Number of these connections; no others of the caller that are in use have it.
    pub endpoint: u64,
    /// Version of the program; at most [`crate::identity::PROGRAM_BYTES_MAX`] bytes.
    pub program: String,
}

impl Caller {
    /// What it says to `server` first.
    pub(crate) fn hello(&self, server: &ServerAddress) -> Hello {
        Hello {
            node: server.node,
            cluster: self.cluster,
            epoch: self.epoch.load(Ordering::Acquire),
            server: server.identity,
            key: server.key,
            caller: self.identity,
            endpoint: self.endpoint,
            process: std::process::id(),
            program: self.program.clone(),
        }
    }
}
