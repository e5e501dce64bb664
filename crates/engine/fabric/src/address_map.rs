//! The map from a region to the nodes that store it, in every world.
//!
//! Each memory server has a region of its own and, with replication, *replicas* of the regions of
//! the servers before it. A replica has a region number of its own, behind those of all servers:
//!
//! ```text
//! 3 servers, 2 replicas    node 0   node 1   node 2
//! own region               0        1        2
//! replica of               5: 2     3: 0     4: 1
//! ```
//!
//! Pointers name the server's region for ever. Its *primary* is where verbs to it go: its own
//! memory, or the replica that was promoted after the server's death.
//!
//! Decision: docs/decisions/0315-replicas-are-written-ahead-of-the-primary.md

use layout::{GlobalPtr, NodeId, RegionId};
use std::ops::Range;

/// Whether verbs reach a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Primary {
    /// The region itself, or the replica that was promoted.
    Open(RegionId),
    /// The server of this region or replica has died. Writes still reach the other replicas, and
    /// nothing else is possible.
    Closed(RegionId),
}

/// The nodes of every region of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressMap {
    server_count: u16,
    /// Places of each region's contents, the region itself included.
    replica_count: u16,
    /// Indexed by the server's region.
    primaries: Box<[Primary]>,
    /// Servers that have died: their memory gets no writes.
    dead: Box<[bool]>,
    /// Whether every batch may be posted as it is.
    is_plain: bool,
    /// Words whose replicas are always written beside.
    beside: Range<GlobalPtr>,
    /// The cluster's epoch whose deaths and promotions it has.
    epoch: u64,
}

impl AddressMap {
    /// Region n lives on node n and nowhere else.
    pub fn one_region_per_server(server_count: u16) -> Self {
        Self::with_replicas(server_count, 1)
    }

    /// The contents of region n live on `replica_count` nodes: node n and the next ones.
    ///
    /// # Panics
    /// If there are fewer servers than replicas.
    pub fn with_replicas(server_count: u16, replica_count: u16) -> Self {
        let has_room = replica_count > 0 && replica_count <= server_count.max(1);
        assert!(
            has_room,
            "{server_count} memory servers have no room for {replica_count} replicas"
        );
        Self {
            server_count,
            replica_count,
            primaries: (0..server_count).map(|n| Primary::Open(RegionId(n))).collect(),
            dead: vec![false; usize::from(server_count)].into(),
            is_plain: replica_count == 1,
            beside: GlobalPtr::NULL..GlobalPtr::NULL,
            epoch: 0,
        }
    }

    /// The map at an epoch: these memory servers have died, and these replicas were promoted, each
    /// region with its place.
    ///
    /// # Panics
    /// If there are fewer servers than replicas.
    pub fn after_deaths(
        epoch: u64,
        (server_count, replica_count): (u16, u16),
        dead: impl IntoIterator<Item = NodeId>,
        promoted: impl IntoIterator<Item = (RegionId, RegionId)>,
    ) -> Self {
        let mut map = Self { epoch, ..Self::with_replicas(server_count, replica_count) };
        for (region, place) in promoted {
            if let Some(primary) = map.primaries.get_mut(usize::from(region.0)) {
                *primary = Primary::Open(place);
                map.is_plain = false;
            }
        }
        dead.into_iter().for_each(|node| drop(map.lose(node)));
        map
    }

    /// Takes over deaths and promotions from another map of the same servers; `false` if that one
    /// is of an earlier epoch.
    pub fn take_over(&mut self, other: Self) -> bool {
        let is_current = other.epoch >= self.epoch;
        if is_current {
            *self = Self { beside: self.beside.clone(), ..other };
        }
        is_current
    }

    /// Number of regions, replicas included.
    #[inline]
    pub fn region_count(&self) -> usize {
        usize::from(self.server_count) * usize::from(self.replica_count)
    }

    /// Whether regions have replicas.
    #[inline]
    pub fn has_replicas(&self) -> bool {
        self.replica_count > 1
    }

    /// Number of memory servers, dead ones included.
    pub fn server_count(&self) -> u16 {
        self.server_count
    }

    /// Whether every batch may be posted as it is: there are no replicas, and no server has died.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The node that verbs to `region` go to; of a closed region, the one that has died.
    ///
    /// # Panics
    /// If the world has no such region.
    #[inline]
    pub fn primary(&self, region: RegionId) -> NodeId {
        self.host(match self.primaries.get(usize::from(region.0)) {
            Some(&(Primary::Open(place) | Primary::Closed(place))) => place,
            None => region,
        })
    }

    /// The node that answers calls of a memory server: another one if it has died, and a replica of
    /// its region was promoted. Other nodes answer for themselves.
    #[inline]
    pub fn server(&self, node: NodeId) -> NodeId {
        if node.0 < self.server_count { self.primary(RegionId(node.0)) } else { node }
    }

    /// The node whose memory has a region or a replica.
    ///
    /// # Panics
    /// If the world has no such region.
    #[inline]
    pub fn host(&self, region: RegionId) -> NodeId {
        assert!(usize::from(region.0) < self.region_count(), "there is no {region:?}");
        if self.replica_count == 1 {
            return NodeId(region.0);
        }
        let (replica, own) = (region.0 / self.server_count, region.0 % self.server_count);
        NodeId((own + replica) % self.server_count)
    }

    /// The regions and replicas in the memory of a node.
    pub fn regions_on(&self, node: NodeId) -> impl Iterator<Item = RegionId> + '_ {
        let all = (0..self.region_count() as u16).map(RegionId);
        all.filter(move |&region| self.host(region) == node)
    }

    /// The region or replica that verbs to `region` go to; `None` while it is closed. A replica may
    /// be named, too.
    #[inline]
    pub fn place(&self, region: RegionId) -> Option<RegionId> {
        match self.primaries.get(usize::from(region.0)) {
            Some(Primary::Closed(_)) => None,
            Some(&Primary::Open(place)) => Some(place),
            None => Some(region),
        }
    }

    /// The closed regions that have a replica to be promoted.
    pub fn closed(&self) -> impl Iterator<Item = RegionId> + '_ {
        let regions = (0..self.server_count).map(RegionId);
        regions.filter(|&region| {
            self.place(region).is_none() && self.replicas(region).next().is_some()
        })
    }

    /// The replicas that get the writes to a region: all but its primary and those of dead servers.
    /// A replica has none.
    #[inline]
    pub fn replicas(&self, region: RegionId) -> impl Iterator<Item = RegionId> + '_ {
        let primary = self.place(region);
        let count = if region.0 < self.server_count { self.replica_count } else { 0 };
        let all = (0..count).map(move |replica| RegionId(replica * self.server_count + region.0));
        let is_alive = |replica| !self.dead[usize::from(self.host(replica).0)];
        all.filter(move |&replica| Some(replica) != primary && is_alive(replica))
    }

    /// The replicas of these words are written beside them, whatever a batch says. There is one
    /// such range. While its region is closed, the world stands still: see [`Self::is_paused`].
    pub fn write_beside(&mut self, first: GlobalPtr, words: u64) {
        self.beside = first..first.add_words(words);
    }

    /// Whether a memory server has died.
    pub fn is_dead(&self, node: NodeId) -> bool {
        self.dead.get(usize::from(node.0)).is_some_and(|&is_dead| is_dead)
    }

    /// Whether the replicas of the word are written beside it.
    #[inline]
    pub fn is_beside(&self, word: GlobalPtr) -> bool {
        self.beside.contains(&word)
    }

    /// Whether the region of the words that are written beside is closed. Nothing that takes locks
    /// begins then.
    pub fn is_paused(&self) -> bool {
        !self.beside.is_empty() && self.place(self.beside.start.region()).is_none()
    }

    /// A memory server has died: the regions whose primary it was are closed. Returns them.
    pub fn lose(&mut self, node: NodeId) -> Vec<RegionId> {
        let Some(dead) = self.dead.get_mut(usize::from(node.0)) else { return Vec::new() };
        *dead = true;
        self.is_plain = false;
        let regions = (0..self.server_count).map(RegionId);
        let lost: Vec<RegionId> = regions.filter(|&region| self.primary(region) == node).collect();
        for region in &lost {
            let primary = &mut self.primaries[usize::from(region.0)];
            if let Primary::Open(place) = *primary {
                *primary = Primary::Closed(place);
            }
        }
        lost
    }

    /// Makes a replica of a closed region its primary; `false` if none is left.
    pub fn promote(&mut self, region: RegionId) -> bool {
        let heir = self.replicas(region).next();
        if let Some(heir) = heir {
            self.primaries[usize::from(region.0)] = Primary::Open(heir);
        }
        heir.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas(map: &AddressMap, region: u16) -> Vec<u16> {
        map.replicas(RegionId(region)).map(|replica| replica.0).collect()
    }

    #[test]
    fn without_replicas_region_n_is_on_node_n() {
        let map = AddressMap::one_region_per_server(3);
        for n in 0..3 {
            assert_eq!(map.primary(RegionId(n)), NodeId(n));
            assert_eq!(map.place(RegionId(n)), Some(RegionId(n)));
            assert_eq!(replicas(&map, n), []);
        }
        assert!(map.is_plain());
    }

    #[test]
    fn replicas_are_on_the_next_servers() {
        let map = AddressMap::with_replicas(3, 2);
        assert_eq!(map.region_count(), 6);
        assert_eq!([0, 1, 2].map(|region| replicas(&map, region)), [[3], [4], [5]]);
        assert_eq!([3, 4, 5].map(|replica| map.host(RegionId(replica))), [1, 2, 0].map(NodeId));
        assert_eq!(map.regions_on(NodeId(0)).collect::<Vec<_>>(), [0, 5].map(RegionId));
        assert_eq!(replicas(&map, 4), [], "a replica has no replicas");
    }

    #[test]
    fn a_map_can_be_made_after_deaths() {
        let mut map = AddressMap::with_replicas(3, 3);
        map.lose(NodeId(1));
        assert!(map.promote(RegionId(1)));
        map.lose(NodeId(2));
        let promoted = [(RegionId(1), RegionId(4))];
        let again = AddressMap::after_deaths(0, (3, 3), [NodeId(2), NodeId(1)], promoted);
        assert_eq!(again, map);
        assert_eq!((map.place(RegionId(1)), map.place(RegionId(2))), (None, None));
    }

    #[test]
    fn an_earlier_map_is_not_taken_over() {
        let at = |epoch, dead: &[u16]| {
            AddressMap::after_deaths(epoch, (3, 2), dead.iter().map(|&node| NodeId(node)), [])
        };
        let mut map = AddressMap::with_replicas(3, 2);
        map.write_beside(GlobalPtr::new(RegionId(2), 4096), 1);
        assert!(map.take_over(at(5, &[1])));
        assert!(!map.take_over(at(4, &[])), "it does not know of the death");
        assert!(map.is_dead(NodeId(1)));
        assert!(map.take_over(at(6, &[1, 2])));
        assert!(map.is_paused(), "words that are written beside are still known");
    }

    #[test]
    fn the_region_of_a_dead_server_is_closed_until_a_replica_is_promoted() {
        let mut map = AddressMap::with_replicas(3, 3);
        assert_eq!(replicas(&map, 1), [4, 7]);
        assert_eq!(map.lose(NodeId(1)), [RegionId(1)]);
        assert_eq!(map.place(RegionId(1)), None);
        assert_eq!(replicas(&map, 1), [4, 7], "they still get writes");
        assert_eq!(replicas(&map, 0), [6], "its replica on the dead server is gone");
        assert!(map.promote(RegionId(1)));
        assert_eq!(
            (map.place(RegionId(1)), map.primary(RegionId(1))),
            (Some(RegionId(4)), NodeId(2))
        );
        assert_eq!(replicas(&map, 1), [7]);
        assert_eq!(map.lose(NodeId(2)), [RegionId(1), RegionId(2)]);
        assert_eq!(map.primary(RegionId(1)), NodeId(2), "the one that has died");
        assert!(map.promote(RegionId(1)));
        assert_eq!(map.place(RegionId(1)), Some(RegionId(7)));
        map.lose(NodeId(0));
        assert!(!map.promote(RegionId(0)), "nobody is left");
    }
}
