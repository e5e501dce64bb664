//! Checks the maximal size of packets.

use super::code::MTU;
use super::devices::DevicePort;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use membership::FabricKind;

/// Ethernet's usual MTU; a smaller one splits messages into more packets.
const COMMON: u64 = 1500;
/// The MTU from which RDMA over Ethernet carries 4096 bytes per packet.
const ROCE: u64 = 4200;
/// The usual MTU of jumbo frames.
const JUMBO: u64 = 9000;

/// Checks the interfaces of RDMA devices for `verbs`, otherwise all interfaces that are up.
pub fn check(files: &dyn Files, ports: &[DevicePort], site: Option<&Site>) -> Finding {
    let fabric = site.map(|site| site.fabric);
    if fabric == Some(FabricKind::Shm) {
        return MTU.not_applicable("`shm` sends no packets");
    }
    let (interfaces, wanted, usual) = match fabric {
        Some(FabricKind::Verbs) => (of_devices(ports), ROCE, JUMBO),
        _ => (that_are_up(files), COMMON, COMMON),
    };
    let mtu = |name: &str| files.number(&format!("/sys/class/net/{name}/mtu"));
    let known: Vec<(&str, u64)> =
        interfaces.iter().filter_map(|name| Some((name.as_str(), mtu(name)?))).collect();
    if known.is_empty() {
        return MTU.not_applicable("no network interface that the fabric uses is up");
    }
    let list: Vec<String> = known.iter().map(|(name, mtu)| format!("{name} {mtu}")).collect();
    let found = list.join(", ");
    match known.iter().find(|(_, mtu)| *mtu < wanted) {
        None => MTU.ok(found),
        Some((name, _)) => MTU.warning(
            format!("{found}; an MTU of at least {wanted} needs fewer packets"),
            format!("ip link set dev {name} mtu {usual} (on all hosts and switches)"),
        ),
    }
}

fn of_devices(ports: &[DevicePort]) -> Vec<String> {
    let active = ports.iter().filter(|port| port.is_active() && port.is_ethernet);
    let mut names: Vec<String> =
        active.flat_map(|port| port.gids.iter().map(|gid| gid.interface.clone())).collect();
    names.sort();
    names.dedup();
    names
}

fn that_are_up(files: &dyn Files) -> Vec<String> {
    let names = files.names("/sys/class/net").into_iter();
    let is_up = |name: &str| {
        files.text(&format!("/sys/class/net/{name}/operstate")).is_some_and(|state| state == "up")
    };
    names.filter(|name| is_up(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::devices::{read, tests::SOFT_ROCE};
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn what_is_enough_depends_on_the_fabric() {
        let ports = read(&SOFT_ROCE);
        let finding = |fabric| check(&SOFT_ROCE, &ports, Some(&Site::example(fabric)));
        assert_eq!(finding(FabricKind::Tcp).grade, Grade::Ok);
        assert_eq!(finding(FabricKind::Tcp).found, "eth0 1500", "lo is not up but unknown");
        let roce = finding(FabricKind::Verbs);
        assert!(roce.grade == Grade::Warning && roce.fix.expect("one").contains("mtu 9000"));
        assert_eq!(finding(FabricKind::Shm).grade, Grade::NotApplicable);
    }

    #[test]
    fn small_packets_and_no_network_are_told() {
        const TUNNEL: FakeFiles = FakeFiles(&[
            ("/sys/class/net/wg0/mtu", "1280"),
            ("/sys/class/net/wg0/operstate", "up"),
        ]);
        let finding = check(&TUNNEL, &[], None);
        assert!(finding.grade == Grade::Warning && finding.fix.expect("one").contains("mtu 1500"));
        assert_eq!(check(&FakeFiles(&[]), &[], None).grade, Grade::NotApplicable);
    }
}
