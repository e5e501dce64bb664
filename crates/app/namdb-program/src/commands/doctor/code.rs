//! Names of the checks. They must not change: messages, scripts and people refer to them.

use crate::servers::error::ServerError;
use crate::servers::exposure::Exposed;
use crate::servers::keys::KeyProblem;
use fabric::shm::{self, ListenError};
use fabric::tcp;
use fabric::verbs::VerbsError;
use membership::{RegistryError, SecretError};
use metrics::EndpointError;
use serde::Serialize;
use std::fmt;
use std::io::ErrorKind;

/// Name of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Code(&'static str);

pub const RDMA_DEVICE: Code = Code("D01-rdma-device");
pub const GID: Code = Code("D02-gid");
pub const LOCKED_MEMORY: Code = Code("D03-locked-memory");
pub const HUGE_PAGES: Code = Code("D04-huge-pages");
pub const ATOMICS: Code = Code("D05-atomics");
pub const MTU: Code = Code("D06-mtu");
pub const REACHABLE: Code = Code("D07-reachable");
pub const CLOCK: Code = Code("D08-clock");
pub const MEMBERS: Code = Code("D09-members");
pub const STALE_FILES: Code = Code("D10-stale-files");
pub const PORTS: Code = Code("D11-ports");
pub const ETCD: Code = Code("D12-etcd");
pub const MEMORY: Code = Code("D13-memory");
pub const SHARED_MEMORY: Code = Code("D14-shared-memory");
pub const DESCRIPTORS: Code = Code("D15-descriptors");
pub const PROCESSORS: Code = Code("D16-processors");
pub const SECRET: Code = Code("D17-secret");
pub const ENCRYPTION: Code = Code("D18-encryption");
pub const LEFT_LOCKS: Code = Code("D19-left-locks");
pub const DETECTOR: Code = Code("D20-detector");

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.0)
    }
}

/// The check that examines the cause of a server's error, if there is one.
pub fn code_for(error: &anyhow::Error) -> Option<Code> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<RegistryError>() {
            return of_registry(error);
        }
        if let Some(error) = cause.downcast_ref::<VerbsError>() {
            return Some(of_verbs(error));
        }
        if let Some(error) = cause.downcast_ref::<ServerError>() {
            return Some(of_server(error));
        }
        if let Some(error) = cause.downcast_ref::<ListenError>() {
            return of_place(error);
        }
        if let Some(error) = cause.downcast_ref::<shm::ConnectError>() {
            return of_mapping(error);
        }
        if cause.is::<tcp::ConnectError>() {
            return Some(REACHABLE);
        }
        if cause.is::<EndpointError>() {
            return Some(PORTS);
        }
        if cause.is::<SecretError>() {
            return Some(SECRET);
        }
        if cause.is::<Exposed>() || cause.is::<KeyProblem>() {
            return Some(ENCRYPTION);
        }
        cause.downcast_ref::<std::io::Error>().and_then(of_system)
    })
}

fn of_server(error: &ServerError) -> Code {
    match error {
        ServerError::Port { .. } | ServerError::Heartbeats { .. } => PORTS,
        ServerError::Evicted { .. } => DETECTOR,
        ServerError::LeaseLost { is_etcd: true, .. } => ETCD,
        ServerError::LeaseLost { is_etcd: false, .. } | ServerError::DatabaseLost { .. } => MEMBERS,
        ServerError::Region { is_shared, source, .. } => match of_system(source) {
            Some(code) => code,
            None if *is_shared => SHARED_MEMORY,
            None => MEMORY,
        },
        ServerError::NoRoom { .. } => MEMORY,
    }
}

/// The check for an error of the directory entries that memory servers of one host claim.
fn of_place(error: &ListenError) -> Option<Code> {
    match error {
        ListenError::File { error, .. } => of_system(error).or(Some(STALE_FILES)),
        ListenError::Shared { .. } => Some(STALE_FILES),
        ListenError::Taken { .. } => Some(MEMBERS),
        _ => Some(SHARED_MEMORY),
    }
}

/// The check for an error in mapping a memory server of the same host.
fn of_mapping(error: &shm::ConnectError) -> Option<Code> {
    use shm::ConnectError::{Absent, Refused, Region, Stranger, Watch};
    match error {
        Absent { .. } | Stranger { .. } => Some(STALE_FILES),
        Refused { .. } => Some(MEMBERS),
        Region { error, .. } => of_system(error).or(Some(SHARED_MEMORY)),
        Watch(error) => of_system(error),
        _ => None,
    }
}

fn of_registry(error: &RegistryError) -> Option<Code> {
    match error {
        RegistryError::Unreachable { .. } => Some(ETCD),
        RegistryError::Directory { .. } => Some(STALE_FILES),
        RegistryError::OtherCluster { .. }
        | RegistryError::OtherVersion { .. }
        | RegistryError::NumberTaken { .. }
        | RegistryError::TooFewServers { .. }
        | RegistryError::NoDatabase { .. }
        | RegistryError::NotRunning { .. }
        | RegistryError::DatabaseLost { .. }
        | RegistryError::LeaseLost { .. } => Some(MEMBERS),
        _ => None,
    }
}

fn of_verbs(error: &VerbsError) -> Code {
    match error {
        VerbsError::Registration { .. } => LOCKED_MEMORY,
        VerbsError::Peer { .. } => REACHABLE,
        VerbsError::System { source, .. } => of_system(source).unwrap_or(RDMA_DEVICE),
        _ => RDMA_DEVICE,
    }
}

fn of_system(error: &std::io::Error) -> Option<Code> {
    use rustix::io::Errno;
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => return Some(PORTS),
        ErrorKind::ConnectionRefused
        | ErrorKind::TimedOut
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable => return Some(REACHABLE),
        _ => {}
    }
    match Errno::from_io_error(error)? {
        Errno::NOMEM => Some(MEMORY),
        Errno::MFILE | Errno::NFILE => Some(DESCRIPTORS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::NodeId;
    use rustix::io::Errno;

    #[test]
    fn errors_name_the_check_that_looks_into_them() {
        let of = |errno: Errno| {
            let error = anyhow::Error::from(std::io::Error::from(errno)).context("a server");
            code_for(&error)
        };
        assert_eq!(of(Errno::ADDRINUSE), Some(PORTS));
        assert_eq!(of(Errno::TIMEDOUT), Some(REACHABLE));
        assert_eq!(of(Errno::NOMEM), Some(MEMORY));
        assert_eq!(of(Errno::MFILE), Some(DESCRIPTORS));
        assert_eq!(of(Errno::ISDIR), None);
        let lost = RegistryError::DatabaseLost { lost: "1".to_owned() };
        assert_eq!(code_for(&lost.into()), Some(MEMBERS));
        let source = std::io::Error::from(Errno::NOMEM);
        let locked = VerbsError::Registration { bytes: 1, source };
        assert_eq!(code_for(&locked.into()), Some(LOCKED_MEMORY));
        let (node, address) = (NodeId(1), ([192, 0, 2, 1], 7400).into());
        let away = tcp::ConnectError { node, address, reason: "no route".to_owned() };
        assert_eq!(code_for(&away.into()), Some(REACHABLE));
        assert_eq!(code_for(&SecretError::Missing("x".into()).into()), Some(SECRET));
        let (found, fix) = ("expired".to_owned(), "a new one".to_owned());
        assert_eq!(code_for(&KeyProblem { found, fix }.into()), Some(ENCRYPTION));
        assert_eq!(code_for(&anyhow::anyhow!("no such table")), None);
    }

    #[test]
    fn errors_of_servers_name_the_check_by_what_they_wanted() {
        let of = |error: ServerError| code_for(&error.into());
        let region = |errno: Errno, is_shared| {
            let (number, region_bytes) = (0, 1 << 30);
            of(ServerError::Region { number, region_bytes, is_shared, source: errno.into() })
        };
        assert_eq!(region(Errno::NOMEM, true), Some(MEMORY));
        assert_eq!(region(Errno::PERM, true), Some(SHARED_MEMORY));
        assert_eq!(region(Errno::PERM, false), Some(MEMORY));
        let address = "127.0.0.1:80".to_owned();
        let source = Errno::ACCESS.into();
        assert_eq!(of(ServerError::Port { number: 0, address, source }), Some(PORTS));
        let lost = |is_etcd| {
            let (who, registry) = ("memory server 0".to_owned(), "there".to_owned());
            of(ServerError::LeaseLost { who, seconds: 10, registry, is_etcd, outlook: "end" })
        };
        assert_eq!((lost(true), lost(false)), (Some(ETCD), Some(MEMBERS)));
    }
}
