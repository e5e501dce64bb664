//! Errors of RDMA devices.

use crate::identity::named;
use layout::NodeId;
use std::io::Error;

/// An error of an RDMA device or of a connection through it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// This host has no RDMA library.
    #[error("cannot load libibverbs.so.1; install your distribution's libibverbs: {0}")]
    NoLibrary(String),
    /// This host has no active RDMA device.
    #[error("no RDMA device is ready: {0}")]
    NoDevice(String),
    /// No device has this name.
    #[error("no RDMA device is named {0}; `ls /sys/class/infiniband` lists the devices")]
    NoSuchDevice(String),
    #[error(
        "cannot register {bytes} bytes with an RDMA device: {source}; raise the limit of locked memory, `ulimit -l`"
    )]
    Registration { bytes: u64, source: Error },
    /// A server is unreachable, or refuses.
    #[error("{} at {address} cannot be reached: {reason}", named(*node))]
    Peer {
        node: NodeId,
        address: std::net::SocketAddr,
        /// The error of the server or the system.
        reason: String,
    },
    /// The system or the device returned an error.
    #[error("cannot {what}: {source}")]
    System { what: &'static str, source: Error },
}

impl VerbsError {
    /// The operation failed with the system's last error number.
    pub(crate) fn failed(what: &'static str) -> Self {
        Self::system(what, Error::last_os_error())
    }

    pub(crate) fn system(what: &'static str, source: Error) -> Self {
        Self::System { what, source }
    }

    pub(crate) fn registration(bytes: u64, source: Error) -> Self {
        Self::Registration { bytes, source }
    }

    /// Converts a return code of the library: 0, an error number, or -1 with the error in `errno`.
    pub(crate) fn check(what: &'static str, code: i32) -> Result<(), Self> {
        match code {
            0 => Ok(()),
            ..0 => Err(Self::failed(what)),
            _ => Err(Self::system(what, Error::from_raw_os_error(code))),
        }
    }
}
