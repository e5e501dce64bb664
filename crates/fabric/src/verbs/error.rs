//! What can go wrong with RDMA devices.

use crate::identity::named;
use layout::NodeId;
use std::io::Error;

/// An RDMA device, or the way to it, that does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// This host has no RDMA library.
    #[error(
        "the library libibverbs.so.1 is not there, install your distribution's libibverbs: {0}"
    )]
    NoLibrary(String),
    /// This host has no RDMA device that is ready.
    #[error("no RDMA device is ready: {0}")]
    NoDevice(String),
    /// No device has this name.
    #[error("there is no RDMA device {0}; `ls /sys/class/infiniband` shows those there are")]
    NoSuchDevice(String),
    /// Memory cannot be registered.
    #[error(
        "cannot register {bytes} bytes with an RDMA device: {source}; `ulimit -l` is the limit of locked memory, which has to be larger"
    )]
    Registration {
        /// How much.
        bytes: u64,
        /// What the system said.
        source: Error,
    },
    /// A server that cannot be reached, or refuses.
    #[error("{} at {address} cannot be reached: {reason}", named(*node))]
    Peer {
        /// Which one.
        node: NodeId,
        /// Where it should be.
        address: std::net::SocketAddr,
        /// What it, or the system, has said.
        reason: String,
    },
    /// The system or the device refused.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: Error,
    },
}

impl VerbsError {
    /// What was tried just now failed, and the system's number of the last error says why.
    pub(crate) fn failed(what: &'static str) -> Self {
        Self::system(what, Error::last_os_error())
    }

    pub(crate) fn system(what: &'static str, source: Error) -> Self {
        Self::System { what, source }
    }

    pub(crate) fn registration(bytes: u64, source: Error) -> Self {
        Self::Registration { bytes, source }
    }

    /// Judges what a function of the library returned: 0, the number of an error, or -1 with that number kept
    /// elsewhere.
    pub(crate) fn check(what: &'static str, code: i32) -> Result<(), Self> {
        match code {
            0 => Ok(()),
            ..0 => Err(Self::failed(what)),
            _ => Err(Self::system(what, Error::from_raw_os_error(code))),
        }
    }
}
