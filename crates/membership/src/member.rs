//! Who is in a cluster, and how each is reached.

use crate::cluster_file::FabricKind;
use crate::error::AddressError;
use crate::random;
use fabric::ServerAddress;
use layout::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

/// A server that has joined, as all others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// What it does.
    pub role: Role,
    /// Which of those that do it. A memory server's number is that of its node and of its region, and in the
    /// cluster's file its place; so are those of the compute servers that the file names. Processes that run
    /// transactions on their own account get the lowest above these that is free when they join.
    pub number: u16,
    /// Which of all processes that ever joined: drawn at random when the server starts, never 0.
    pub identity: u64,
    /// Where others reach it.
    pub addresses: Addresses,
    /// What it was built from.
    pub program: Program,
    /// The name of its host.
    pub host: String,
    /// The process on that host.
    pub pid: u32,
}

/// What a server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It keeps a region.
    Memory {
        /// Bytes of the region.
        region_bytes: u64,
        /// Whoever wants to read or write the region has to know it. New at each start, never 0.
        region_key: u64,
    },
    /// It runs transactions.
    Compute,
}

/// Where a server is reached; what it does not offer is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Addresses {
    /// The Unix socket from which processes of its host get its region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shm: Option<PathBuf>,
    /// Host and port for messages; of a compute server, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// Host and port at which queue pairs are exchanged; of a compute server, those for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbs: Option<String>,
    /// Host and port for status and metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Host and port at which a compute server takes work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

impl Addresses {
    /// Host and port of what the server is there for, where it has that.
    pub fn reached(&self) -> Option<&String> {
        self.work.as_ref().or(self.tcp.as_ref()).or(self.verbs.as_ref())
    }
}

/// What a server was built from. Servers of one cluster are all built from the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The version of namdb.
    pub version: String,
    /// The format of everything in remote memory, [`layout::region::FORMAT_VERSION`].
    pub format: u64,
}

impl Program {
    /// This program.
    pub fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: layout::region::FORMAT_VERSION,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "namdb {} (layout {})", self.version, self.format)
    }
}

impl Member {
    /// A memory server that starts: it gets a new identity and its region a new key.
    pub fn memory_server(node: NodeId, region_bytes: u64, addresses: Addresses) -> Self {
        let role = Role::Memory { region_bytes, region_key: random::draw() };
        Self::starting(role, node.0, addresses)
    }

    /// One of the compute servers of the cluster's file that starts: it gets a new identity.
    pub fn compute_server(number: u16, addresses: Addresses) -> Self {
        Self::starting(Role::Compute, number, addresses)
    }

    /// A process that runs transactions on its own account: it gets a new identity, and a number when it joins.
    pub fn client() -> Self {
        Self::starting(Role::Compute, u16::MAX, Addresses::default())
    }

    fn starting(role: Role, number: u16, addresses: Addresses) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            role,
            number,
            identity: random::draw(),
            addresses,
            program: Program::this(),
            host,
            pid: std::process::id(),
        }
    }

    /// Whether it keeps a region.
    pub fn is_memory_server(&self) -> bool {
        matches!(self.role, Role::Memory { .. })
    }

    /// Whether it is called over this fabric.
    pub fn takes_calls(&self, fabric: FabricKind) -> bool {
        match fabric {
            FabricKind::Shm => self.addresses.shm.is_some(),
            FabricKind::Tcp => self.addresses.tcp.is_some(),
            FabricKind::Verbs => self.addresses.verbs.is_some(),
        }
    }

    /// The node by which it is reached.
    pub fn node(&self) -> NodeId {
        match self.role {
            Role::Memory { .. } => NodeId(self.number),
            Role::Compute => NodeId::of_compute_server(self.number),
        }
    }

    /// What whoever connects to it has to know: the key of its region; without a region its identity.
    pub fn key(&self) -> u64 {
        match self.role {
            Role::Memory { region_key, .. } => region_key,
            Role::Compute => self.identity,
        }
    }

    /// Where it is on a network, and who it is.
    ///
    /// # Errors
    /// It is not reached by `fabric`, or at no address that there is.
    pub fn server_address(&self, fabric: FabricKind) -> Result<ServerAddress, AddressError> {
        let known = match fabric {
            FabricKind::Shm => None,
            FabricKind::Tcp => self.addresses.tcp.as_ref(),
            FabricKind::Verbs => self.addresses.verbs.as_ref(),
        };
        let text = known.ok_or_else(|| AddressError::None { member: self.to_string() })?;
        let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
        let address = found.ok_or_else(|| AddressError::Wrong {
            member: self.to_string(),
            address: text.clone(),
        })?;
        let (node, identity, key) = (self.node(), self.identity, self.key());
        Ok(ServerAddress { node, address, identity, key, region_bytes: 0 })
    }

    /// The name of its entry in the registry, which two of one role and number would share.
    pub(crate) fn entry(&self) -> String {
        let role = if self.is_memory_server() { "memory" } else { "compute" };
        format!("{role}-{}", self.number)
    }
}

/// Where these servers are on a network.
///
/// # Errors
/// See [`Member::server_address`].
pub fn server_addresses<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    fabric: FabricKind,
) -> Result<Vec<ServerAddress>, AddressError> {
    members.into_iter().map(|member| member.server_address(fabric)).collect()
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.is_memory_server() { "memory" } else { "compute" };
        write!(formatter, "{role} server {} (process {} on {})", self.number, self.pid, self.host)
    }
}
