//! Which device, port and address connections go through: as configured, or what suits best.

use super::flaw::{FLAW_ADVICE, flaw};
use super::{Device, DeviceLimits, PortState, VerbsError, device_names};
use crate::tell;
use std::fmt;
use std::sync::Arc;

/// What a user may decide; the rest is chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Name of the device.
    pub device: Option<String>,
    /// Number of the port, from 1.
    pub port: Option<u8>,
    /// Place of the GID among those of the port.
    pub gid_index: Option<u8>,
}

/// A port that connections go through.
#[derive(Clone)]
pub struct Place {
    /// The opened device.
    pub device: Arc<Device>,
    /// What it can do.
    pub limits: DeviceLimits,
    /// Number of the port.
    pub port: u8,
    /// Its state when it was chosen.
    pub state: PortState,
    /// Place of the GID among those of the port.
    pub gid_index: u8,
    /// The GID.
    pub gid: [u8; 16],
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gid = std::net::Ipv6Addr::from(self.gid);
        let (device, port, index) = (self.device.name(), self.port, self.gid_index);
        write!(formatter, "device {device}, port {port}, GID {index} ({gid})")
    }
}

/// How good a GID is on Ethernet, best last: packets of the second version can be routed, and hosts that
/// have an IPv4 address for RDMA mean that one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    FirstVersion,
    LinkLocal,
    Routable,
    RoutableByIpv4,
}

impl Place {
    /// The first active port of a device that carries out atomics, as far as `choice` leaves it open.
    pub fn open(choice: &Choice) -> Result<Self, VerbsError> {
        let names = match &choice.device {
            Some(name) => vec![name.clone()],
            None => device_names()?,
        };
        let mut reasons = Vec::new();
        for name in names {
            match Self::on_device(&name, choice) {
                Ok(place) => {
                    if let Some(flaw) = flaw(place.device.name()) {
                        tell::flawed(&flaw, FLAW_ADVICE);
                    }
                    return Ok(place);
                }
                Err(reason) => reasons.push(reason.to_string()),
            }
        }
        if reasons.is_empty() {
            reasons.push("this host has none; `ls /sys/class/infiniband` shows them".to_string());
        }
        Err(VerbsError::NoDevice(reasons.join("; ")))
    }

    fn on_device(name: &str, choice: &Choice) -> Result<Self, VerbsError> {
        let device = Device::open(name)?;
        let limits = device.limits()?;
        let refuse = |why: String| Err(VerbsError::NoDevice(why));
        if !limits.has_atomics {
            return refuse(format!("{name} has no atomics, which locks are made of"));
        }
        let ports = match choice.port {
            Some(port) => port..=port,
            None => 1..=limits.ports,
        };
        for port in ports {
            let state = device.port(port)?;
            if !state.is_active {
                continue;
            }
            let index = match choice.gid_index {
                Some(index) => Some(index),
                None => best_gid(&device, port, &state),
            };
            let Some(gid_index) = index else { continue };
            let gid = device.gid(port, u32::from(gid_index))?;
            return Ok(Self { device, limits, port, state, gid_index, gid });
        }
        refuse(format!(
            "{name} has no active port with an address; `ip link` shows whether its network is up"
        ))
    }
}

/// The best GID of a port.
fn best_gid(device: &Device, port: u8, state: &PortState) -> Option<u8> {
    if !state.is_ethernet {
        // The first is the one that the network's manager gave to the port.
        return Some(0);
    }
    let indexes = (0..state.gids.min(256)).map(|index| index as u8);
    let ranked = indexes.filter_map(|index| {
        let gid = device.gid(port, u32::from(index)).ok()?;
        let kind = gid_type(device.name(), port, index)?;
        Some((rank(&gid, &kind)?, std::cmp::Reverse(index)))
    });
    ranked.max().map(|(_, std::cmp::Reverse(index))| index)
}

/// What the kernel calls the version of RoCE that a GID is for; nothing for an empty place.
fn gid_type(device: &str, port: u8, index: u8) -> Option<String> {
    let file = format!("/sys/class/infiniband/{device}/ports/{port}/gid_attrs/types/{index}");
    Some(std::fs::read_to_string(file).ok()?.trim().to_string())
}

fn rank(gid: &[u8; 16], kind: &str) -> Option<Rank> {
    let address = std::net::Ipv6Addr::from(*gid);
    if address.is_unspecified() {
        return None;
    }
    Some(match kind {
        "RoCE v2" if address.to_ipv4_mapped().is_some() => Rank::RoutableByIpv4,
        "RoCE v2" if !address.is_unicast_link_local() => Rank::Routable,
        "RoCE v2" => Rank::LinkLocal,
        _ => Rank::FirstVersion,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_can_be_routed_are_preferred() {
        let address = |text: &str| -> [u8; 16] {
            text.parse::<std::net::Ipv6Addr>().expect("an address").octets()
        };
        let ranks = [
            ("fe80::1", "IB/RoCE v1"),
            ("fe80::1", "RoCE v2"),
            ("2001:db8::1", "RoCE v2"),
            ("::ffff:10.9.0.1", "RoCE v2"),
        ]
        .map(|(gid, kind)| rank(&address(gid), kind));
        assert!(ranks.is_sorted() && ranks[0].is_some(), "{ranks:?}");
        assert_eq!(rank(&[0; 16], "RoCE v2"), None);
    }
}
