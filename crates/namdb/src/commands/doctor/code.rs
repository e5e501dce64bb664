//! The names of the checks. They stay as they are: messages, scripts and people refer to them.

use fabric::verbs::VerbsError;
use membership::RegistryError;
use serde::Serialize;
use std::fmt;
use std::io::ErrorKind;

/// The name of a check.
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

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.0)
    }
}

/// The check that looks into what made a server fail, if there is one.
pub fn code_for(error: &anyhow::Error) -> Option<Code> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<RegistryError>() {
            return of_registry(error);
        }
        if let Some(error) = cause.downcast_ref::<VerbsError>() {
            return Some(of_verbs(error));
        }
        cause.downcast_ref::<std::io::Error>().and_then(of_system)
    })
}

fn of_registry(error: &RegistryError) -> Option<Code> {
    match error {
        RegistryError::Unreachable { .. } => Some(ETCD),
        RegistryError::Directory { .. } => Some(STALE_FILES),
        RegistryError::OtherCluster { .. }
        | RegistryError::OtherVersion { .. }
        | RegistryError::NumberTaken { .. }
        | RegistryError::TooFewServers { .. }
        | RegistryError::DatabaseLost { .. }
        | RegistryError::LeaseLost { .. } => Some(MEMBERS),
        _ => None,
    }
}

fn of_verbs(error: &VerbsError) -> Code {
    match error {
        VerbsError::Registration { .. } => LOCKED_MEMORY,
        VerbsError::Peer { .. } => REACHABLE,
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
        assert_eq!(code_for(&anyhow::anyhow!("no such table")), None);
    }
}
