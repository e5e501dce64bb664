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
//! A server that has died may *return*, with empty memory. All that it had, its own region
//! included, are replicas then, and are filled with copies before they count. Its own memory cannot
//! be named by the number of its region, which leads to the primary, so it has another one as a
//! replica: the number of all regions and replicas plus its own.
//!
//! Decisions: docs/decisions/0315-replicas-are-written-ahead-of-the-primary.md,
//! docs/decisions/0354-a-returned-server-is-filled-and-counts-after-a-standstill.md

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

/// The use of a memory server's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// All that was written since the server is there.
    Whole,
    /// The server has died.
    Gone,
    /// The server has returned. Nobody but who fills it reads or writes it.
    Empty,
    /// As before, and it is about to be filled: no change of the catalog begins.
    Awaited,
    /// It gets all writes, and nobody else reads it. The world stands still until it is whole.
    Filling,
}

/// The nodes of every region of a world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressMap {
    server_count: u16,
    /// Places of each region's contents, the region itself included.
    replica_count: u16,
    /// Indexed by the server's region.
    primaries: Box<[Primary]>,
    /// Indexed by the server.
    contents: Box<[Contents]>,
    /// Whether a server's memory is [`Contents::Filling`].
    is_filling: bool,
    /// Whether a server is about to be filled, or being filled.
    defers_changes: bool,
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
            contents: vec![Contents::Whole; usize::from(server_count)].into(),
            is_filling: false,
            defers_changes: false,
            is_plain: replica_count == 1,
            beside: GlobalPtr::NULL..GlobalPtr::NULL,
            epoch: 0,
        }
    }

    /// The map at an epoch: these memory servers have died, and these replicas were promoted, each
    /// region with its place. Those that have returned since are in `returned`.
    ///
    /// # Panics
    /// If there are fewer servers than replicas.
    pub fn after_deaths(
        epoch: u64,
        (server_count, replica_count): (u16, u16),
        dead: impl IntoIterator<Item = NodeId>,
        promoted: impl IntoIterator<Item = (RegionId, RegionId)>,
        returned: impl IntoIterator<Item = (NodeId, Contents)>,
    ) -> Self {
        let mut map = Self { epoch, ..Self::with_replicas(server_count, replica_count) };
        for (region, place) in promoted {
            if let Some(primary) = map.primaries.get_mut(usize::from(region.0)) {
                *primary = Primary::Open(place);
                map.is_plain = false;
            }
        }
        dead.into_iter().for_each(|node| drop(map.lose(node)));
        for (node, contents) in returned {
            map.contents[usize::from(node.0)] = contents;
            map.is_filling |= contents == Contents::Filling;
            map.defers_changes |= matches!(contents, Contents::Awaited | Contents::Filling);
        }
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
        let region = self.located(region);
        assert!(usize::from(region.0) < self.region_count(), "there is no {region:?}");
        if self.replica_count == 1 {
            return NodeId(region.0);
        }
        let (replica, own) = (region.0 / self.server_count, region.0 % self.server_count);
        NodeId((own + replica) % self.server_count)
    }

    /// The region or replica of the memory that `region` names: another number only if it names a
    /// server's own memory as a replica.
    #[inline]
    pub fn located(&self, region: RegionId) -> RegionId {
        let count = self.server_count * self.replica_count;
        let is_home =
            self.replica_count > 1 && (count..count + self.server_count).contains(&region.0);
        RegionId(if is_home { region.0 - count } else { region.0 })
    }

    /// Whether a region of this number exists and its primary is in the memory of a node.
    pub fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        let primary = self.primaries.get(usize::from(region.0));
        primary.is_some_and(|&it| matches!(it, Primary::Open(place) if self.host(place) == node))
    }

    /// The name of a replica by its place, which is not that of a primary.
    fn replica_at(&self, place: RegionId) -> RegionId {
        let count = self.server_count * self.replica_count;
        RegionId(if place.0 < self.server_count { count + place.0 } else { place.0 })
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
            None => Some(self.located(region)),
        }
    }

    /// The closed regions that have a replica to be promoted.
    pub fn closed(&self) -> impl Iterator<Item = RegionId> + '_ {
        let regions = (0..self.server_count).map(RegionId);
        regions.filter(|&region| {
            self.place(region).is_none() && self.replicas(region).next().is_some()
        })
    }

    /// The replicas of a region that have all of it: not its primary, nor those of servers that
    /// have died or are not whole yet. A replica has none.
    #[inline]
    pub fn replicas(&self, region: RegionId) -> impl Iterator<Item = RegionId> + '_ {
        self.replicas_with(region, |contents| contents == Contents::Whole)
    }

    /// The replicas that get the writes to a region: those that have all of it, and those that are
    /// being filled.
    #[inline]
    pub fn written(&self, region: RegionId) -> impl Iterator<Item = RegionId> + '_ {
        self.replicas_with(region, |contents| {
            matches!(contents, Contents::Whole | Contents::Filling)
        })
    }

    #[inline]
    fn replicas_with(
        &self,
        region: RegionId,
        is_wanted: impl Fn(Contents) -> bool,
    ) -> impl Iterator<Item = RegionId> {
        let primary = self.place(region);
        let count = if region.0 < self.server_count { self.replica_count } else { 0 };
        let all = (0..count).map(move |replica| RegionId(replica * self.server_count + region.0));
        let is_there = move |place| is_wanted(self.contents[usize::from(self.host(place).0)]);
        let others = all.filter(move |&place| Some(place) != primary && is_there(place));
        others.map(|place| self.replica_at(place))
    }

    /// The regions that a server which has returned is to be filled with, and the names of their
    /// replicas there.
    pub fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        if matches!(self.contents_of(node), None | Some(Contents::Gone | Contents::Whole)) {
            return Vec::new();
        }
        let places = self.regions_on(node);
        places.map(|at| (RegionId(at.0 % self.server_count), self.replica_at(at))).collect()
    }

    /// The replicas of these words are written beside them, whatever a batch says. There is one
    /// such range. While its region is closed, the world stands still: see [`Self::is_paused`].
    pub fn write_beside(&mut self, first: GlobalPtr, words: u64) {
        self.beside = first..first.add_words(words);
    }

    /// Whether a memory server has died.
    pub fn is_dead(&self, node: NodeId) -> bool {
        self.contents_of(node) == Some(Contents::Gone)
    }

    /// Whether a memory server gets writes.
    pub fn is_used(&self, node: NodeId) -> bool {
        matches!(self.contents_of(node), Some(Contents::Whole | Contents::Filling))
    }

    /// Whether a memory server has all that was written since.
    pub fn is_whole(&self, node: NodeId) -> bool {
        self.contents_of(node) == Some(Contents::Whole)
    }

    /// The use of a memory server's memory; `None` if there is no such server.
    pub fn contents_of(&self, node: NodeId) -> Option<Contents> {
        self.contents.get(usize::from(node.0)).copied()
    }

    /// Whether the replicas of the word are written beside it.
    #[inline]
    pub fn is_beside(&self, word: GlobalPtr) -> bool {
        self.beside.contains(&word)
    }

    /// Whether the region of the words that are written beside is closed, or a server is being
    /// filled. Nothing that takes locks begins then.
    pub fn is_paused(&self) -> bool {
        let is_closed = || self.place(self.beside.start.region()).is_none();
        self.is_filling || !self.beside.is_empty() && is_closed()
    }

    /// Whether no change of the catalog may begin, because a server is about to be filled. The
    /// world does not stand still before those under way have ended: they may take long.
    pub fn defers_changes(&self) -> bool {
        self.defers_changes
    }

    /// A memory server has died: the regions whose primary it was are closed. Returns them. A
    /// server that is being filled is given up, and begun again when they are open.
    pub fn lose(&mut self, node: NodeId) -> Vec<RegionId> {
        let Some(contents) = self.contents.get_mut(usize::from(node.0)) else { return Vec::new() };
        *contents = Contents::Gone;
        self.give_up_filling();
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
            self.primaries[usize::from(region.0)] = Primary::Open(self.located(heir));
        }
        heir.is_some()
    }

    /// A memory server that has died is back, with nothing in its memory; `false` if it has not
    /// died, or was the primary of a region that is still closed.
    pub fn take_back(&mut self, node: NodeId) -> bool {
        let is_needed = || (0..self.server_count).any(|n| self.primary(RegionId(n)) == node);
        let is_back = self.is_dead(node) && !is_needed();
        if is_back {
            self.contents[usize::from(node.0)] = Contents::Empty;
        }
        is_back
    }

    /// A server is about to be filled: no change of the catalog begins any more. `false` if the
    /// server has not returned, or a region is closed.
    pub fn defer_changes(&mut self, node: NodeId) -> bool {
        let is_open = |n| self.place(RegionId(n)).is_some();
        let begins =
            self.contents_of(node) == Some(Contents::Empty) && (0..self.server_count).all(is_open);
        if begins {
            self.contents[usize::from(node.0)] = Contents::Awaited;
            self.defers_changes = true;
        }
        begins
    }

    /// The last part of filling a server begins: it gets all writes, and the world stands still.
    /// `false` if the server has not returned, a region is closed, or changes of the catalog were
    /// not deferred.
    pub fn begin_filling(&mut self, node: NodeId) -> bool {
        let is_open = |n| self.place(RegionId(n)).is_some();
        let is_awaited = self.contents_of(node) == Some(Contents::Awaited);
        let begins = is_awaited && (0..self.server_count).all(is_open);
        if begins {
            self.contents[usize::from(node.0)] = Contents::Filling;
            self.is_filling = true;
        }
        begins
    }

    /// The server that is being filled has all of its regions: it counts as their replica, and the
    /// world goes on. `false` if it was given up meanwhile.
    pub fn end_filling(&mut self, node: NodeId) -> bool {
        let ends = self.contents_of(node) == Some(Contents::Filling);
        if ends {
            self.contents[usize::from(node.0)] = Contents::Whole;
            self.give_up_filling();
        }
        ends
    }

    /// Servers that are being filled get no writes any more, the world goes on, and changes of the
    /// catalog may begin.
    pub fn give_up_filling(&mut self) {
        let begun = |it: &Contents| matches!(it, Contents::Awaited | Contents::Filling);
        let filling = self.contents.iter_mut().filter(|it| begun(it));
        filling.for_each(|contents| *contents = Contents::Empty);
        self.is_filling = false;
        self.defers_changes = false;
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
        let again = AddressMap::after_deaths(0, (3, 3), [NodeId(2), NodeId(1)], promoted, []);
        assert_eq!(again, map);
        assert_eq!((map.place(RegionId(1)), map.place(RegionId(2))), (None, None));
    }

    #[test]
    fn an_earlier_map_is_not_taken_over() {
        let at = |epoch, dead: &[u16]| {
            let dead = dead.iter().map(|&node| NodeId(node));
            AddressMap::after_deaths(epoch, (3, 2), dead, [], [])
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

    #[test]
    fn a_server_that_returns_counts_when_it_is_whole() {
        let mut map = AddressMap::with_replicas(3, 2);
        let home = RegionId(6 + 1);
        assert!(!map.take_back(NodeId(1)), "it has not died");
        map.lose(NodeId(1));
        assert!(!map.take_back(NodeId(1)), "its region is closed");
        assert!(map.promote(RegionId(1)));
        assert!(!map.begin_filling(NodeId(1)), "it has not returned");
        assert!(map.take_back(NodeId(1)) && !map.is_dead(NodeId(1)));
        assert_eq!(map.unfilled(NodeId(1)), [(RegionId(1), home), (RegionId(0), RegionId(3))]);
        assert_eq!((replicas(&map, 0), replicas(&map, 1)), (vec![], vec![]));
        assert!(!map.begin_filling(NodeId(1)), "changes of the catalog may be under way");
        assert!(map.defer_changes(NodeId(1)) && map.defers_changes() && !map.is_paused());
        assert!(map.begin_filling(NodeId(1)) && map.is_paused());
        let written =
            |map: &AddressMap, region| -> Vec<RegionId> { map.written(RegionId(region)).collect() };
        assert_eq!((written(&map, 0), written(&map, 1)), (vec![RegionId(3)], vec![home]));
        assert_eq!((replicas(&map, 0), replicas(&map, 1)), (vec![], vec![]), "nobody reads them");
        assert!(map.end_filling(NodeId(1)) && !map.is_paused() && !map.end_filling(NodeId(1)));
        assert!(!map.defers_changes());
        assert_eq!((replicas(&map, 0), replicas(&map, 1)), (vec![3], vec![home.0]));
        assert_eq!((map.place(home), map.host(home)), (Some(RegionId(1)), NodeId(1)));
        assert_eq!(map.place(RegionId(1)), Some(RegionId(4)), "the one that was promoted");
        assert_eq!(map.lose(NodeId(2)), [RegionId(1), RegionId(2)]);
        assert!(map.promote(RegionId(1)) && map.promote(RegionId(2)));
        assert_eq!(map.place(RegionId(1)), Some(RegionId(1)), "it is at home again");
        assert_eq!(map.server(NodeId(1)), NodeId(1));
        assert!(
            map.has_primary(NodeId(1), RegionId(1)) && !map.has_primary(NodeId(2), RegionId(1))
        );
        assert!(!map.has_primary(NodeId(1), home), "calls name regions, not replicas");
    }

    #[test]
    #[should_panic(expected = "there is no RegionId(3)")]
    fn a_plain_world_has_no_home_replicas() {
        AddressMap::with_replicas(3, 1).host(RegionId(3));
    }

    #[test]
    fn a_map_knows_who_has_returned() {
        let promoted = [(RegionId(1), RegionId(4))];
        let returned =
            |contents| AddressMap::after_deaths(7, (3, 2), [], promoted, [(NodeId(1), contents)]);
        let empty = returned(Contents::Empty);
        assert!(!empty.is_dead(NodeId(1)) && !empty.is_whole(NodeId(1)) && !empty.is_paused());
        assert_eq!(empty.primary(RegionId(1)), NodeId(2));
        let awaited = returned(Contents::Awaited);
        assert!(awaited.defers_changes() && !awaited.is_paused());
        assert_eq!(awaited.written(RegionId(0)).count(), 0, "it is not written yet");
        let filling = returned(Contents::Filling);
        assert!(filling.defers_changes() && filling.is_paused());
        assert_eq!(filling.written(RegionId(0)).count(), 1);
        let whole = returned(Contents::Whole);
        assert!(whole.is_whole(NodeId(1)) && !whole.is_paused() && !whole.defers_changes());
        assert_eq!(whole.replicas(RegionId(1)).collect::<Vec<_>>(), [RegionId(7)]);
    }

    #[test]
    fn a_death_ends_the_filling_of_a_server() {
        let mut map = AddressMap::with_replicas(3, 3);
        map.lose(NodeId(1));
        assert!(map.promote(RegionId(1)) && map.take_back(NodeId(1)));
        assert!(map.defer_changes(NodeId(1)) && map.begin_filling(NodeId(1)));
        map.lose(NodeId(2));
        assert!(!map.end_filling(NodeId(1)), "it is not whole, and gets no writes");
        assert!(!map.defers_changes(), "changes go on");
        assert!(!map.is_paused(), "there are no words that stand still");
        assert!(!map.defer_changes(NodeId(1)), "regions are closed");
        assert!(map.promote(RegionId(1)) && map.promote(RegionId(2)));
        assert_eq!(map.primary(RegionId(1)), NodeId(0));
        assert!(map.defer_changes(NodeId(1)) && map.begin_filling(NodeId(1)));
        map.lose(NodeId(1));
        assert!(!map.end_filling(NodeId(1)), "it has died again");
    }
}
