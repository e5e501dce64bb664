//! The host's RDMA devices, as listed by the kernel, and the check that one exists.

use super::code::RDMA_DEVICE;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use membership::FabricKind;

const FOLDER: &str = "/sys/class/infiniband";
/// Turns an Ethernet card into a software RDMA device, for trials.
const SOFT: &str = "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0";

/// A port of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DevicePort {
    /// Name of the device.
    pub device: String,
    /// Number of the port, from 1.
    pub port: String,
    /// State as the kernel writes it, such as `ACTIVE`.
    pub state: String,
    /// Whether the port uses Ethernet packets.
    pub is_ethernet: bool,
    /// Whether the port uses iWARP, which has no atomics.
    pub is_iwarp: bool,
    /// Non-empty addresses, each with its RoCE version and network interface.
    pub gids: Vec<Gid>,
}

/// An address of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gid {
    pub address: String,
    pub version: String,
    pub interface: String,
}

/// Lists all ports of all devices.
pub fn read(files: &dyn Files) -> Vec<DevicePort> {
    let devices = files.names(FOLDER).into_iter();
    devices
        .flat_map(|device| {
            let ports = files.names(&format!("{FOLDER}/{device}/ports"));
            ports.into_iter().map(move |port| read_port(files, &device, port)).collect::<Vec<_>>()
        })
        .collect()
}

fn read_port(files: &dyn Files, device: &str, port: String) -> DevicePort {
    let folder = format!("{FOLDER}/{device}/ports/{port}");
    let text = |name: &str| files.text(&format!("{folder}/{name}")).unwrap_or_default();
    let gid = |place: String| {
        let address = text(&format!("gids/{place}"));
        let is_empty = address.chars().all(|c| matches!(c, '0' | ':'));
        (!is_empty).then(|| Gid {
            address,
            version: text(&format!("gid_attrs/types/{place}")),
            interface: text(&format!("gid_attrs/ndevs/{place}")),
        })
    };
    let state = text("state");
    let node = files.text(&format!("{FOLDER}/{device}/node_type")).unwrap_or_default();
    DevicePort {
        device: device.to_owned(),
        state: state.rsplit(' ').next().unwrap_or_default().to_owned(),
        is_ethernet: text("link_layer") == "Ethernet",
        is_iwarp: node.ends_with("RNIC"),
        gids: files.names(&format!("{folder}/gids")).into_iter().filter_map(gid).collect(),
        port,
    }
}

impl DevicePort {
    pub fn is_active(&self) -> bool {
        self.state == "ACTIVE"
    }

    /// The port's name in reports.
    pub fn name(&self) -> String {
        format!("{} port {}", self.device, self.port)
    }
}

/// Checks that a device exists that a cluster over `verbs` can use.
pub fn check(ports: &[DevicePort], site: Option<&Site>) -> Finding {
    let wants = site.is_some_and(|site| site.fabric == FabricKind::Verbs);
    if ports.is_empty() {
        return match wants {
            true => RDMA_DEVICE
                .problem("this host has no RDMA device, but the cluster's fabric is `verbs`", SOFT),
            false => RDMA_DEVICE
                .not_applicable("this host has no RDMA device; `shm` and `tcp` need none"),
        };
    }
    let list: Vec<String> = ports
        .iter()
        .map(|port| {
            let link = if port.is_ethernet { "Ethernet" } else { "InfiniBand" };
            format!("{} is {} ({link})", port.name(), port.state)
        })
        .collect();
    let found = list.join(", ");
    let link = "rdma link show; ip link set dev INTERFACE up";
    match ports.iter().any(DevicePort::is_active) {
        true => RDMA_DEVICE.ok(found),
        false if wants => RDMA_DEVICE.problem(found, link),
        false => RDMA_DEVICE.warning(found, link),
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    /// A host with a software device on `eth0`.
    pub const SOFT_ROCE: FakeFiles = FakeFiles(&[
        ("/sys/class/infiniband/rxe0/node_type", "1: CA\n"),
        ("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n"),
        ("/sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gids/0", "fe80:0000:0000:0000:5054:00ff:fe12:3456\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a09:0001\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/0", "RoCE v2\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1", "RoCE v2\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth0\n"),
        ("/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1", "eth0\n"),
        ("/sys/class/net/eth0/mtu", "1500\n"),
        ("/sys/class/net/eth0/operstate", "up\n"),
        ("/sys/class/net/lo/mtu", "65536\n"),
        ("/sys/class/net/lo/operstate", "unknown\n"),
    ]);

    #[test]
    fn a_device_is_read_and_found_good() {
        let ports = read(&SOFT_ROCE);
        assert_eq!(ports.len(), 1);
        assert_eq!(ports[0].gids.len(), 2, "empty places are no addresses");
        let site = Site::example(FabricKind::Verbs);
        let finding = check(&ports, Some(&site));
        assert_eq!(
            (finding.grade, &*finding.found),
            (Grade::Ok, "rxe0 port 1 is ACTIVE (Ethernet)")
        );
    }

    #[test]
    fn no_device_is_a_problem_for_verbs_only() {
        let grade = |fabric| check(&[], Some(&Site::example(fabric))).grade;
        assert_eq!(grade(FabricKind::Verbs), Grade::Problem);
        assert_eq!(grade(FabricKind::Tcp), Grade::NotApplicable);
        assert_eq!(check(&[], None).grade, Grade::NotApplicable);
    }

    #[test]
    fn a_port_that_is_down_is_told() {
        let mut ports = read(&SOFT_ROCE);
        ports[0].state = "DOWN".to_owned();
        let finding = check(&ports, Some(&Site::example(FabricKind::Verbs)));
        assert!(finding.grade == Grade::Problem && finding.found.contains("DOWN"), "{finding:?}");
        assert_eq!(check(&ports, None).grade, Grade::Warning);
    }
}
