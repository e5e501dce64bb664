//! Checks whether RDMA devices support compare-and-swap, on which locks are built.
//!
//! Decision: docs/decisions/0246-a-software-device-that-breaks-a-promise-is-reported.md

use super::code::ATOMICS;
use super::devices::DevicePort;
use super::finding::Finding;
use super::site::Site;
use fabric::verbs::FLAW_ADVICE;
use membership::FabricKind;

/// `has_atomics` queries a device by name; `None` if it cannot be queried. `flaw` names a known
/// fault of a device.
pub fn check(
    ports: &[DevicePort],
    site: Option<&Site>,
    has_atomics: &dyn Fn(&str) -> Option<bool>,
    flaw: &dyn Fn(&str) -> Option<String>,
) -> Finding {
    let mut devices: Vec<(&str, bool)> =
        ports.iter().map(|port| (&*port.device, port.is_iwarp)).collect();
    devices.dedup();
    if devices.is_empty() {
        return ATOMICS.not_applicable("this host has no RDMA device");
    }
    let able = |&(device, is_iwarp): &(&str, bool)| match is_iwarp {
        true => Some(false),
        false => has_atomics(device),
    };
    let list: Vec<(&str, Option<bool>)> =
        devices.iter().map(|device| (device.0, able(device))).collect();
    let words = list.iter().map(|(device, able)| match able {
        Some(true) => format!("{device} has atomics"),
        Some(false) => format!("{device} has none"),
        None => format!("{device} cannot be queried"),
    });
    let found = words.collect::<Vec<_>>().join(", ");
    let wants = site.is_some_and(|site| site.fabric == FabricKind::Verbs);
    let flaws: Vec<String> = devices.iter().filter_map(|device| flaw(device.0)).collect();
    if !flaws.is_empty() {
        ATOMICS.warning(format!("{found}; {}", flaws.join("; ")), FLAW_ADVICE)
    } else if list.iter().any(|(_, able)| *able == Some(true)) {
        ATOMICS.ok(found)
    } else if list.iter().any(|(_, able)| able.is_none()) {
        let group = "apt-get install libibverbs1 ibverbs-providers; ls -l /dev/infiniband";
        ATOMICS.warning(found, group)
    } else if wants {
        ATOMICS.problem(
            found,
            "set fabric = \"tcp\" in the cluster's file, or use another network card",
        )
    } else {
        ATOMICS.warning(found, "use `shm` or `tcp`: `verbs` needs another network card")
    }
}

#[cfg(test)]
mod tests {
    use super::super::devices::{read, tests::SOFT_ROCE};
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn one_device_with_atomics_is_enough() {
        let mut ports = read(&SOFT_ROCE);
        let site = Site::example(FabricKind::Verbs);
        let grade =
            |ports: &[DevicePort], able| check(ports, Some(&site), &|_| able, &|_| None).grade;
        assert_eq!(grade(&ports, Some(true)), Grade::Ok);
        assert_eq!(grade(&ports, Some(false)), Grade::Problem);
        assert_eq!(grade(&ports, None), Grade::Warning);
        assert_eq!(grade(&[], None), Grade::NotApplicable);
        ports[0].is_iwarp = true;
        assert_eq!(grade(&ports, None), Grade::Problem);
        assert_eq!(check(&ports, None, &|_| None, &|_| None).grade, Grade::Warning);
        ports.extend(read(&SOFT_ROCE));
        ports[1].device = "rxe1".to_owned();
        assert_eq!(grade(&ports, Some(true)), Grade::Ok);
    }

    #[test]
    fn a_flaw_is_told_though_there_are_atomics() {
        let ports = read(&SOFT_ROCE);
        let flaw = |device: &str| Some(format!("{device} loses writes"));
        let finding = check(&ports, None, &|_| Some(true), &flaw);
        assert_eq!(finding.grade, Grade::Warning);
        assert_eq!(finding.found, "rxe0 has atomics; rxe0 loses writes");
    }
}
