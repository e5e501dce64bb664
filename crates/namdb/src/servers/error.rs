//! Why a server does not start, or does not go on: with what it wanted, of which the doctor has a check.

use crate::bench::text::bytes;
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
    /// Others may take the server for dead.
    #[error(
        "memory server {number} has lost its lease of {seconds} s: the registry in {registry} could not be reached in \
         time, or this process did not run; its data is lost to the cluster"
    )]
    LeaseLost {
        /// Whose.
        number: u16,
        /// How long it was.
        seconds: u64,
        /// Where the registry is.
        registry: String,
        /// Whether that is an etcd.
        is_etcd: bool,
    },
}
