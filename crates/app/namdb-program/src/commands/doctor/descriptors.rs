//! Checks whether a server may open enough files and sockets.

use super::code::DESCRIPTORS;
use super::finding::Finding;
use super::site::Site;

/// Files, the sockets of the registry and the control address, and some reserve.
const OWN: u64 = 128;
/// Descriptors per connection: its socket, and one to wake or watch the peer.
const PER_CONNECTION: u64 = 4;

/// `limit` is the limit of a process; `None` without a limit.
pub fn check(limit: Option<u64>, site: Option<&Site>) -> Finding {
    // Every thread of a compute server connects to every memory server. Programs that embed the
    // library need further connections beyond those of the cluster's file.
    let connections =
        site.map_or(0, |site| site.threads.max(site.local_threads * site.memory_servers));
    let wanted = OWN + PER_CONNECTION * connections;
    let Some(limit) = limit else { return DESCRIPTORS.ok("unlimited") };
    let found = format!("a process may open {limit}, but a server needs about {wanted}");
    if limit >= wanted {
        return DESCRIPTORS.ok(found);
    }
    let new = (2 * wanted).next_power_of_two();
    DESCRIPTORS.problem(found, format!("ulimit -n {new}, or LimitNOFILE={new} in the systemd unit"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use membership::FabricKind;

    #[test]
    fn connections_want_descriptors() {
        assert_eq!(check(None, None).grade, Grade::Ok);
        assert_eq!(check(Some(OWN), None).grade, Grade::Ok);
        let site = Site { threads: 300, ..Site::example(FabricKind::Tcp) };
        assert_eq!(check(Some(OWN + 1200), Some(&site)).grade, Grade::Ok);
        let few = check(Some(1024), Some(&site));
        assert!(few.grade == Grade::Problem && few.fix.expect("one").contains("ulimit -n 4096"));
    }
}
