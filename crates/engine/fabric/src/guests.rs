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
    pub stage: GuestStage,
}

/// How far a guest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestStage {
    /// Its last words are sent, and the connection is closing.
    Ended,
    /// It has sent nothing. A caller of namdb speaks first.
    Silent,
    /// It has sent something.
    Spoken,
    /// Its opening is marked by the cluster's secret, so it will probably prove it.
    Marked,
}

impl GuestLimits {
    /// The index of the guest to close before another one from `peer` enters; `None` if there is
    /// room. `guests` are in the order in which they entered.
    ///
    /// The address with too many guests loses one of its own, so a flood from one address does not
    /// displace others. Those that are closing go first. Then the larger group of silent guests and
    /// of those that have spoken loses its oldest one, so a flood of one kind does not displace the
    /// other, and a silent guest has time to speak. Marked ones stay while there are others:
    /// strangers cannot displace a member whose opening has arrived, however slow its proof is.
    pub fn displaced(&self, guests: &[Guest], peer: IpAddr) -> Option<usize> {
        let count = |of: IpAddr| guests.iter().filter(|guest| guest.peer == of).count();
        let from = if count(peer) >= self.per_peer {
            peer
        } else if guests.len() >= self.in_all {
            most_crowded(guests)?
        } else {
            return None;
        };
        let its = || guests.iter().enumerate().filter(|(_, guest)| guest.peer == from);
        let of = |stage| its().filter(move |(_, guest)| guest.stage == stage);
        let mut order =
            [GuestStage::Ended, GuestStage::Silent, GuestStage::Spoken, GuestStage::Marked];
        if of(GuestStage::Spoken).count() > of(GuestStage::Silent).count() {
            order.swap(1, 2);
        }
        order.into_iter().find_map(|stage| of(stage).next()).map(|(index, _)| index)
    }
}

/// The address with most guests that are not marked; any one if all are.
fn most_crowded(guests: &[Guest]) -> Option<IpAddr> {
    let strangers = |of: IpAddr| {
        let its = guests.iter().filter(|guest| guest.peer == of);
        its.filter(|guest| guest.stage != GuestStage::Marked).count()
    };
    guests.iter().map(|guest| guest.peer).max_by_key(|&peer| strangers(peer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use GuestStage::{Ended, Marked, Silent, Spoken};
    use std::net::Ipv4Addr;

    const LIMITS: GuestLimits = GuestLimits { in_all: 6, per_peer: 3 };

    fn peer(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    fn guests(list: &[(u8, GuestStage)]) -> Vec<Guest> {
        list.iter().map(|&(last, stage)| Guest { peer: peer(last), stage }).collect()
    }

    #[test]
    fn there_is_room_until_an_address_or_all_have_too_many() {
        let some = guests(&[(1, Silent), (1, Silent), (2, Silent)]);
        assert_eq!(LIMITS.displaced(&[], peer(1)), None);
        assert_eq!(LIMITS.displaced(&some, peer(1)), None);
        assert_eq!(LIMITS.displaced(&some, peer(3)), None);
    }

    #[test]
    fn a_flood_displaces_its_own_kind() {
        let silent = guests(&[(2, Silent), (1, Spoken), (1, Silent), (1, Silent)]);
        assert_eq!(LIMITS.displaced(&silent, peer(1)), Some(2));
        let spoken = guests(&[(2, Silent), (1, Silent), (1, Spoken), (1, Spoken)]);
        assert_eq!(LIMITS.displaced(&spoken, peer(1)), Some(2));
        let ended = guests(&[(1, Silent), (1, Spoken), (1, Ended)]);
        assert_eq!(LIMITS.displaced(&ended, peer(1)), Some(2));
    }

    #[test]
    fn strangers_displace_no_marked_guest() {
        for stranger in [Ended, Silent, Spoken] {
            let its_own = guests(&[(1, Marked), (1, Marked), (1, stranger)]);
            assert_eq!(LIMITS.displaced(&its_own, peer(1)), Some(2));
            let many = [(1, Marked), (1, Marked), (2, Marked), (2, Marked), (3, Marked)];
            let of_others = guests(&[&many[..], &[(4, stranger)]].concat());
            assert_eq!(LIMITS.displaced(&of_others, peer(5)), Some(5));
        }
        let all = guests(&[(1, Marked), (1, Marked), (1, Marked)]);
        assert_eq!(LIMITS.displaced(&all, peer(1)), Some(0));
    }

    #[test]
    fn when_all_places_are_taken_the_address_with_most_gives_way() {
        let others = [(3, Silent), (4, Spoken), (5, Spoken)];
        let many = guests(&[&[(2, Silent), (1, Spoken), (1, Silent)][..], &others].concat());
        assert_eq!(LIMITS.displaced(&many, peer(6)), Some(2));
    }
}
