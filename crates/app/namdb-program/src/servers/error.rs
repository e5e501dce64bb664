//! Errors that keep a server from starting or running, for which the doctor has checks.

use crate::bench::text::bytes;
use membership::cluster_file::RegistryKind;
use membership::{ClusterFile, Eviction, RegistryError};
use std::io;

/// An error of this host or of the connection to the registry. The system's error is its source.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another process listens there, or this one has no permission.
    #[error("memory server {number} cannot listen at {address}; is the port in use?")]
    Port {
        /// Number of the memory server.
        number: u16,
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has the port for heartbeats, or this one has no permission.
    #[error(
        "memory server {number} cannot receive heartbeats at {address} (UDP); is the port in use? Set another \
         `memory.{number}.heartbeats`"
    )]
    Heartbeats {
        /// Number of the memory server.
        number: u16,
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel cannot allocate the region.
    #[error(
        "memory server {number} cannot allocate its region of {}; reduce `bytes`, or stop other processes",
        bytes(*region_bytes)
    )]
    Region {
        /// Number of the memory server.
        number: u16,
        /// Size of the region.
        region_bytes: u64,
        /// Whether other processes map the region.
        is_shared: bool,
        /// The system's error.
        source: io::Error,
    },
    /// The region is larger than the host's available memory.
    #[error(
        "memory server {number} needs {}, but this host has {} available; reduce `bytes`, or stop other \
         processes",
        bytes(*region_bytes), bytes(*available_bytes)
    )]
    NoRoom {
        /// Number of the memory server.
        number: u16,
        /// Size of the region.
        region_bytes: u64,
        /// Available memory.
        available_bytes: u64,
    },
    /// Other members may consider the process dead.
    #[error(
        "{who} has lost its lease of {seconds} s: the registry in {registry} was unreachable for too long, or this \
         process was suspended; {outlook}"
    )]
    LeaseLost {
        /// The process.
        who: String,
        /// Duration of the lease.
        seconds: u64,
        /// Location of the registry.
        registry: String,
        /// Whether the registry is etcd.
        is_etcd: bool,
        /// The consequence and the remedy.
        outlook: &'static str,
    },
    /// Others have considered the process dead.
    #[error(
        "{eviction}: it was suspended, or its host was overloaded or cut off; memory servers accept nothing from it \
         any more, {outlook}"
    )]
    Evicted {
        eviction: Eviction,
        /// The consequence and the remedy.
        outlook: &'static str,
    },
    /// The database is lost, so the server has no work.
    #[error("compute server {number} stops: {loss}")]
    DatabaseLost {
        /// Number of the compute server.
        number: u16,
        /// The lost part.
        loss: RegistryError,
    },
}

impl ServerError {
    /// The error of a process whose lease ended.
    pub fn lease_lost(cluster: &ClusterFile, who: String, outlook: &'static str) -> Self {
        let is_etcd = cluster.registry.kind == RegistryKind::Etcd;
        let registry = match is_etcd {
            true => cluster.registry.endpoints.join(", "),
            false => cluster.directory.display().to_string(),
        };
        Self::LeaseLost { who, seconds: cluster.lease_seconds, registry, is_etcd, outlook }
    }

    /// The error of a process that has lost its membership: this one, or that of an eviction.
    pub fn unless_evicted(self, eviction: Option<&Eviction>) -> Self {
        match (self, eviction) {
            (Self::LeaseLost { outlook, .. }, Some(eviction)) => {
                Self::Evicted { eviction: eviction.clone(), outlook }
            }
            (other, _) => other,
        }
    }

    /// Whether a running process must stop for good, so that a service manager must not restart a
    /// memory server.
    pub fn ends_a_run(&self) -> bool {
        matches!(self, Self::LeaseLost { .. } | Self::Evicted { .. } | Self::DatabaseLost { .. })
    }
}
