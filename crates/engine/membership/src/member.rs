//! The members of a cluster, and how each is reached.

use crate::cluster_file::{ClusterId, FabricKind};
use crate::detector::ProcessKey;
use crate::error::AddressError;
use crate::random;
use crate::restart::Found;
#[cfg(doc)]
use crate::root::DatabaseRoot;
use fabric::ServerAddress;
use fabric::identity::Hello;
use layout::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

/// A server that has joined, as all others see it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    pub role: Role,
    /// Number among the servers of its role. A memory server's number is that of its node and its
    /// region, and its position in the cluster file; compute servers that the file lists have their
    /// position, too. Other processes that run transactions get the lowest free number above these
    /// when they join.
    pub number: u16,
    /// Identifies the process among all that ever joined: random, drawn at its start, above 1 and
    /// below 2^63. It owns slots of the timestamp vector by this number.
    pub identity: u64,
    /// Where others reach it.
    pub addresses: Addresses,
    /// The version it was built from.
    pub program: Program,
    /// The name of its host.
    pub host: String,
    /// Its process id on that host.
    pub pid: u32,
    /// Tells its process from others with this id.
    #[serde(default)]
    pub process: ProcessKey,
    /// The finding of a memory server with replicas on its disk, if that is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Memory {
        region_bytes: u64,
        /// Needed to read or write the region. New at each start, never 0.
        region_key: u64,
        /// If it has the region's contents from an image: the database that they are of, by
        /// [`DatabaseRoot::life`] of the image's root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restored: Option<u64>,
    },
    Compute,
}

/// Where a server is reached; services that it does not offer have no address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Addresses {
    /// The Unix socket from which processes of its host get its region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shm: Option<PathBuf>,
    /// Host and port for messages; of a compute server, for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<String>,
    /// Host and port for exchanging queue pairs; of a compute server, those for calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbs: Option<String>,
    /// Host and port (UDP) to which members send their heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeats: Option<String>,
    /// Host and port for status and metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// Host and port on which a compute server accepts work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

impl Addresses {
    /// Returns host and port of the server's main service, if it has any.
    pub fn reached(&self) -> Option<&String> {
        self.work.as_ref().or(self.tcp.as_ref()).or(self.verbs.as_ref())
    }
}

/// The version of the registry's record. A program that does not know a field drops it when it
/// changes the record, so a new field is a new version.
const RECORD_VERSION: u32 = 2;

/// The version a server was built from. All servers of a cluster must have the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Program {
    /// That of the program, and behind it that of the record.
    pub version: String,
    /// The format of everything in remote memory, [`layout::region::FORMAT_VERSION`].
    pub format: u64,
}

impl Program {
    pub fn this() -> Self {
        Self {
            version: format!("{}+record.{RECORD_VERSION}", env!("CARGO_PKG_VERSION")),
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
    /// Describes a starting memory server, with a new identity and a new key of its region.
    pub fn memory_server(node: NodeId, region_bytes: u64, addresses: Addresses) -> Self {
        let role = Role::Memory { region_bytes, region_key: random::draw(), restored: None };
        Self::starting(role, node.0, addresses)
    }

    /// A memory server that has its region's contents from an image of the database `life`, if any.
    pub fn with_restored(mut self, life: Option<u64>) -> Self {
        if let Role::Memory { restored, .. } = &mut self.role {
            *restored = life;
        }
        self
    }

    /// The database that it has restored, if it is a memory server that has.
    pub fn restored(&self) -> Option<u64> {
        match self.role {
            Role::Memory { restored, .. } => restored,
            Role::Compute => None,
        }
    }

    /// Describes a starting compute server that the cluster file lists, with a new identity.
    pub fn compute_server(number: u16, addresses: Addresses) -> Self {
        Self::starting(Role::Compute, number, addresses)
    }

    /// Describes any other process that runs transactions, with a new identity; it gets a number
    /// when it joins.
    pub fn client() -> Self {
        Self::starting(Role::Compute, u16::MAX, Addresses::default())
    }

    fn starting(role: Role, number: u16, addresses: Addresses) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            role,
            number,
            identity: random::draw_identity(),
            addresses,
            program: Program::this(),
            host,
            pid: std::process::id(),
            process: ProcessKey::own(),
            found: None,
        }
    }

    /// Whether it keeps a region.
    pub fn is_memory_server(&self) -> bool {
        matches!(self.role, Role::Memory { .. })
    }

    /// Whether it accepts calls over this fabric.
    pub fn takes_calls(&self, fabric: FabricKind) -> bool {
        match fabric {
            FabricKind::Shm => self.addresses.shm.is_some(),
            FabricKind::Tcp => self.addresses.tcp.is_some(),
            FabricKind::Verbs => self.addresses.verbs.is_some(),
        }
    }

    /// Returns its node.
    pub fn node(&self) -> NodeId {
        match self.role {
            Role::Memory { .. } => NodeId(self.number),
            Role::Compute => NodeId::of_compute_server(self.number),
        }
    }

    /// Returns the key that connecting to it requires: the key of its region, or its identity if it
    /// has no region.
    pub fn key(&self) -> u64 {
        match self.role {
            Role::Memory { region_key, .. } => region_key,
            Role::Compute => self.identity,
        }
    }

    /// The first message on this process's connection `endpoint` to the member; `caller` is this
    /// process's identity, `program` its version.
    pub fn hello(
        &self,
        cluster: ClusterId,
        epoch: u64,
        caller: u64,
        endpoint: u64,
        program: &str,
    ) -> Hello {
        Hello {
            node: self.node(),
            cluster: cluster.0,
            epoch,
            server: self.identity,
            key: self.key(),
            caller,
            endpoint,
            process: std::process::id(),
            program: program.to_owned(),
        }
    }

    /// Returns its network address, with node and key.
    ///
    /// # Errors
    /// It has no address on `fabric`, or an invalid one.
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

    /// Returns the name of its entry in the registry; two members of one role and number would
    /// collide.
    pub(crate) fn entry(&self) -> String {
        let role = if self.is_memory_server() { "memory" } else { "compute" };
        format!("{role}-{}", self.number)
    }
}

/// Returns the network addresses of servers.
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
