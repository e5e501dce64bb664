//! Why a server does not start, or does not go on: with what it wanted, of which the doctor has a check.

use crate::bench::text::bytes;
use membership::cluster_file::RegistryKind;
use membership::{ClusterFile, RegistryError};
use std::io;

/// An error of this host, or of the way to the registry. What the system says is its source.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Somebody else listens there, or nobody may.
    #[error("memory server {number} cannot listen at {address}; is the port in use?")]
    Port {
        /// Whose.
        number: u16,
        /// Where.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no memory of this kind to give.
    #[error(
        "memory server {number} cannot have the {} of its region; write less into `bytes`, or end what else runs",
        bytes(*region_bytes)
    )]
    Region {
        /// Whose.
        number: u16,
        /// How much.
        region_bytes: u64,
        /// Whether other processes were to map it.
        is_shared: bool,
        /// What the system says.
        source: io::Error,
    },
    /// The region is larger than what this host has.
    #[error(
        "memory server {number} is to have {}, and this host has {} available; write less into `bytes`, or end what else \
         runs",
        bytes(*region_bytes), bytes(*available_bytes)
    )]
    NoRoom {
        /// Whose.
        number: u16,
        /// How much.
        region_bytes: u64,
        /// What there is.
        available_bytes: u64,
    },
    /// Others may take the process for dead.
    #[error(
        "{who} has lost its lease of {seconds} s: the registry in {registry} could not be reached in time, or this \
         process did not run; {outlook}"
    )]
    LeaseLost {
        /// Whose.
        who: String,
        /// How long it was.
        seconds: u64,
        /// Where the registry is.
        registry: String,
        /// Whether that is an etcd.
        is_etcd: bool,
        /// What follows, and what to do.
        outlook: &'static str,
    },
    /// There is nothing left to work on.
    #[error("compute server {number} ends: {loss}")]
    DatabaseLost {
        /// Whose.
        number: u16,
        /// What has gone.
        loss: RegistryError,
    },
}

impl ServerError {
    /// Of a process that has lost its place in a cluster with its lease.
    pub fn lease_lost(cluster: &ClusterFile, who: String, outlook: &'static str) -> Self {
        let is_etcd = cluster.registry.kind == RegistryKind::Etcd;
        let registry = match is_etcd {
            true => cluster.registry.endpoints.join(", "),
            false => cluster.directory.display().to_string(),
        };
        Self::LeaseLost { who, seconds: cluster.lease_seconds, registry, is_etcd, outlook }
    }

    /// Whether the process has run, and may not go on: whoever starts memory servers does not start it again.
    pub fn ends_a_run(&self) -> bool {
        matches!(self, Self::LeaseLost { .. } | Self::DatabaseLost { .. })
    }
}
