//! Guests: connections that have not proven the cluster's secret. Their number is limited, in all
//! and for each peer address, and a new one displaces an old one, so that connections that stay
//! silent keep nobody out. Members have places of their own.

use std::net::IpAddr;
use std::time::Duration;

/// Limits on the guests of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestLimits {
    pub in_all: usize,
    /// Guests of one address.
    pub per_peer: usize,
}

impl GuestLimits {
    /// The limits of ports for verbs and calls.
    pub const VERBS: Self = Self { in_all: 128, per_peer: 32 };
    /// The limits of ports where each guest has a thread.
    pub const WORK: Self = Self { in_all: 64, per_peer: 16 };
}

/// Time for the whole handshake, TLS included.
pub const GUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// A guest as the limits see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guest {
    pub peer: IpAddr,
    /// Whether it has sent anything. A caller of namdb speaks first.
    pub has_spoken: bool,
}

impl GuestLimits {
    /// The index of the guest to close before another one from `peer` enters; `None` if there is
    /// room. `guests` are in the order in which they entered.
    ///
    /// The address with too many guests loses one of its own, so a flood from one address does not
    /// displace others. Silent ones go first, then the oldest one: a caller that goes on with its
    /// handshake outlives connections that only wait.
    pub fn displaced(&self, guests: &[Guest], peer: IpAddr) -> Option<usize> {
        let count = |of: IpAddr| guests.iter().filter(|guest| guest.peer == of).count();
        let from = if count(peer) >= self.per_peer {
            peer
        } else if guests.len() >= self.in_all {
            guests.iter().map(|guest| guest.peer).max_by_key(|&peer| count(peer))?
        } else {
            return None;
        };
        let its = || guests.iter().enumerate().filter(|(_, guest)| guest.peer == from);
        let silent = its().find(|(_, guest)| !guest.has_spoken);
        silent.or_else(|| its().next()).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const LIMITS: GuestLimits = GuestLimits { in_all: 6, per_peer: 3 };

    fn peer(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    fn guests(list: &[(u8, bool)]) -> Vec<Guest> {
        list.iter().map(|&(last, has_spoken)| Guest { peer: peer(last), has_spoken }).collect()
    }

    #[test]
    fn there_is_room_until_an_address_or_all_have_too_many() {
        let some = guests(&[(1, false), (1, false), (2, false)]);
        assert_eq!(LIMITS.displaced(&[], peer(1)), None);
        assert_eq!(LIMITS.displaced(&some, peer(1)), None);
        assert_eq!(LIMITS.displaced(&some, peer(3)), None);
    }

    #[test]
    fn a_flood_displaces_its_own_and_silent_ones_first() {
        let flood = guests(&[(2, false), (1, true), (1, false), (1, false)]);
        assert_eq!(LIMITS.displaced(&flood, peer(1)), Some(2));
        let spoken = guests(&[(2, false), (1, true), (1, true), (1, true)]);
        assert_eq!(LIMITS.displaced(&spoken, peer(1)), Some(1));
    }

    #[test]
    fn when_all_places_are_taken_the_address_with_most_gives_way() {
        let many = guests(&[(2, false), (1, true), (1, false), (3, false), (4, true), (5, true)]);
        assert_eq!(LIMITS.displaced(&many, peer(6)), Some(2));
    }
}
