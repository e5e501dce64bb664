//! The identity of a caller and the addresses of its servers, for every fabric with network
//! addresses.

use crate::identity::Hello;
use crate::secret::Secret;
use layout::NodeId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Address and identity of a memory server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAddress {
    /// Its number; region n is on server n.
    pub node: NodeId,
    pub address: SocketAddr,
    /// Its identity, new at each start.
    pub identity: u64,
    /// The key of its region, new at each start.
    pub key: u64,
    /// Bytes of its region, from its welcome; 0 before.
    pub region_bytes: u64,
}

/// The caller's side of its connections to all memory servers.
#[derive(Clone, Debug)]
pub struct Caller {
    /// All memory servers, by number.
    pub servers: Vec<ServerAddress>,
    pub cluster: u64,
    /// The cluster's secret.
    pub secret: Secret,
    /// The caller's epoch, raised by the membership service.
    pub epoch: Arc<AtomicU64>,
    /// The caller's identity, the same for all its connections.
    pub identity: u64,
    /// Number of these connections, unique among the caller's connections in use.
    pub endpoint: u64,
    /// Version of the program; at most [`crate::identity::PROGRAM_BYTES_MAX`] bytes.
    pub program: String,
}

impl Caller {
    /// The first message to `server`.
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
