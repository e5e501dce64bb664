//! Selects device, port and address for connections: as configured, or the most suitable.

use super::flaw::{FLAW_ADVICE, flaw};
use super::{Device, DeviceLimits, PortState, VerbsError, device_names};
use crate::tell;
use std::fmt;
use std::sync::Arc;

/// The user's settings; the rest is selected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    pub device: Option<String>,
    /// Number of the port, from 1.
    pub port: Option<u8>,
    /// Index of the GID in the port's table.
    pub gid_index: Option<u8>,
}

/// A port for connections.
#[derive(Clone)]
pub struct Place {
    pub device: Arc<Device>,
    pub limits: DeviceLimits,
    pub port: u8,
    /// Its state when it was selected.
    pub state: PortState,
    /// Index of the GID in the port's table.
    pub gid_index: u8,
    pub gid: [u8; 16],
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gid = std::net::Ipv6Addr::from(self.gid);
        let (device, port, index) = (self.device.name(), self.port, self.gid_index);
        write!(formatter, "device {device}, port {port}, GID {index} ({gid})")
    }
}

/// Preference of a GID on Ethernet, best last: packets of RoCE version 2 can be routed, and on
/// hosts with an IPv4 address for RDMA that address is the intended one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    FirstVersion,
    LinkLocal,
    Routable,
    RoutableByIpv4,
}

impl Place {
    /// Opens the first active port that supports atomics and matches `choice`.
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
            reasons.push(
                "this host has none; `ls /sys/class/infiniband` lists the devices".to_string(),
            );
        }
        Err(VerbsError::NoDevice(reasons.join("; ")))
    }

    fn on_device(name: &str, choice: &Choice) -> Result<Self, VerbsError> {
        let device = Device::open(name)?;
        let limits = device.limits()?;
        let refuse = |why: String| Err(VerbsError::NoDevice(why));
        if !limits.has_atomics {
            return refuse(format!("{name} does not support atomics, which locks need"));
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
        // The network's manager assigns the first one.
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

/// The RoCE version of a GID, in the kernel's words; `None` for an unused entry.
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
