//! Checks whether Ethernet ports have an address to which packets can be routed.

use super::code::GID;
use super::devices::DevicePort;
use super::finding::Finding;

/// Prefix of an IPv4 address written as a GID.
const IPV4: &str = "0000:0000:0000:0000:0000:ffff:";
const LINK_LOCAL: &str = "fe80:";

/// Checks the active Ethernet ports.
pub fn check(ports: &[DevicePort]) -> Finding {
    let ethernet: Vec<&DevicePort> =
        ports.iter().filter(|port| port.is_active() && port.is_ethernet).collect();
    if ethernet.is_empty() {
        return GID.not_applicable("no RDMA device of this host is active on Ethernet");
    }
    let mut found = Vec::new();
    let mut worst = Rank::Ipv4;
    for port in ethernet {
        let best = port.gids.iter().map(|gid| (rank(&gid.version, &gid.address), gid));
        let (rank, sentence) = match best.max_by_key(|(rank, _)| *rank) {
            None => (Rank::None, "no address".to_owned()),
            Some((rank, gid)) => {
                (rank, format!("{} of {} ({})", gid.address, gid.interface, gid.version))
            }
        };
        worst = worst.min(rank);
        found.push(format!("{}: {sentence}", port.name()));
    }
    let found = found.join(", ");
    let address = "ip address add ADDRESS/PREFIX dev INTERFACE";
    match worst {
        Rank::Ipv4 | Rank::Routable => GID.ok(found),
        Rank::LinkLocal => {
            GID.warning(format!("{found}; only hosts in the same subnet reach it"), address)
        }
        Rank::FirstVersion => GID.problem(
            format!("{found}; RoCE v1 cannot be routed"),
            "cma_roce_mode -d DEVICE -p PORT -m 2",
        ),
        Rank::None => GID.problem(found, address),
    }
}

/// Quality of an address, best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    None,
    FirstVersion,
    LinkLocal,
    Routable,
    Ipv4,
}

fn rank(version: &str, address: &str) -> Rank {
    match version {
        "RoCE v2" if address.starts_with(IPV4) => Rank::Ipv4,
        "RoCE v2" if address.starts_with(LINK_LOCAL) => Rank::LinkLocal,
        "RoCE v2" => Rank::Routable,
        _ => Rank::FirstVersion,
    }
}

#[cfg(test)]
mod tests {
    use super::super::devices::{read, tests::SOFT_ROCE};
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn the_best_address_of_a_port_counts() {
        let mut ports = read(&SOFT_ROCE);
        let finding = check(&ports);
        assert!(finding.grade == Grade::Ok && finding.found.contains("0a09:0001"), "{finding:?}");
        ports[0].gids.truncate(1);
        assert_eq!(check(&ports).grade, Grade::Warning);
        ports[0].gids[0].version = "IB/RoCE v1".to_owned();
        assert_eq!(check(&ports).grade, Grade::Problem);
        ports[0].gids.clear();
        assert_eq!(check(&ports).grade, Grade::Problem);
        ports[0].is_ethernet = false;
        assert_eq!(check(&ports).grade, Grade::NotApplicable);
    }
}
