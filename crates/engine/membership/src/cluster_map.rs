//! The cluster map: the cluster at an epoch.
//!
//! Decision: docs/decisions/0093-a-death-concerns-only-the-dead-member.md

use crate::cluster_file::{ClusterId, FabricKind};
use crate::detector::machine::Rule;
use crate::error::RegistryError;
use crate::eviction::Eviction;
use crate::member::Member;
use crate::root::{DatabaseRoot, FillStage};
use fabric::{AddressMap, ServerAddress};
use layout::{NodeId, RegionId};
use std::collections::BTreeMap;

/// The members of a cluster at an epoch. Two maps of one epoch have the same members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterMap {
    pub cluster: ClusterId,
    /// Number of membership changes so far; 0 before the first server has joined.
    pub epoch: u64,
    /// Memory servers, then compute servers, each ordered by number.
    pub members: Vec<Member>,
    /// Identities of the last 64 servers that left in order. Any other former member has died, or
    /// counts as dead.
    pub left: Vec<u64>,
    /// The last 16 members that the failure detector has evicted, the latest at the end.
    pub evicted: Vec<Eviction>,
    /// The root of the last database created; [`ClusterMap::database`] says whether it still
    /// exists.
    pub root: Option<DatabaseRoot>,
    /// For members, the epoch up to which each has drained: it holds no lock of a region whose
    /// server had died then, and knows that it has died.
    pub drained: BTreeMap<u64, u64>,
}

impl ClusterMap {
    /// The memory servers, ordered by number.
    pub fn memory_servers(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_memory_server())
    }

    /// The compute servers, ordered by number.
    pub fn compute_servers(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.is_memory_server())
    }

    /// For each memory server, returns the compute server that executes operations shipped to the
    /// owner of its rows: one on the same host, round-robin, or any one if there is none on its
    /// host. `None` if no compute server accepts calls over `fabric`.
    pub fn owners(&self, fabric: FabricKind) -> Vec<Option<&Member>> {
        let all: Vec<&Member> =
            self.compute_servers().filter(|member| member.takes_calls(fabric)).collect();
        let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
        let mut owners = Vec::new();
        for server in self.memory_servers() {
            let near = |member: &&Member| member.host == server.host;
            let near: Vec<&Member> = all.iter().copied().filter(near).collect();
            let those = if near.is_empty() { &all } else { &near };
            let turn = turns.entry(&server.host).or_default();
            owners.push(turn.checked_rem(those.len()).map(|place| those[place]));
            *turn += 1;
        }
        owners
    }

    /// Returns the number of the memory server that is nearest to a member: one on its host, or any
    /// one if there is none, round-robin. The first one if `identity` is not a member.
    pub fn nearest(&self, identity: u64) -> u16 {
        let Some(member) = self.member(identity) else { return 0 };
        let on_host = self.memory_servers().filter(|server| server.host == member.host);
        let on_host: Vec<u16> = on_host.map(|server| server.number).collect();
        if on_host.is_empty() {
            let count = self.memory_servers().count().max(1);
            return (usize::from(member.number) % count) as u16;
        }
        let beside = self.compute_servers().filter(|other| other.host == member.host);
        let turn = beside.take_while(|other| other.identity != identity).count();
        on_host[turn % on_host.len()]
    }

    /// Returns the memory server of a node.
    pub fn memory_server(&self, node: NodeId) -> Option<&Member> {
        self.memory_servers().find(|member| member.number == node.0)
    }

    /// Returns the member with this identity.
    pub fn member(&self, identity: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.identity == identity)
    }

    /// Returns why the process with this identity was evicted, if it was.
    pub fn eviction(&self, identity: u64) -> Option<&Eviction> {
        self.evicted.iter().find(|eviction| eviction.identity == identity)
    }

    /// Returns the database, if one was created. If all its memory servers are gone, it no longer
    /// exists, and a new one may be created.
    ///
    /// # Errors
    /// [`RegistryError::DatabaseLost`] if some of its memory servers are gone and others are not.
    pub fn database(&self) -> Result<Option<&DatabaseRoot>, RegistryError> {
        let Some(root) = &self.root else { return Ok(None) };
        if self.coordinator(root).is_none() {
            return Ok(None);
        }
        self.ensure_whole(root).map(|()| Some(root))
    }

    /// Why the newest database is lost, if it is. If all its memory servers left in order, it has
    /// ended and is not lost; a new one is created once others have joined.
    pub fn loss(&self) -> Option<RegistryError> {
        let root = self.root.as_ref()?;
        let is_ended = root.holders().all(|identity| self.left.contains(&identity));
        match self.database() {
            Ok(None) if is_ended || self.memory_servers().next().is_some() => None,
            _ => self.ensure_whole(root).err(),
        }
    }

    /// The root of a database as it is in this map, if it is still the newest one.
    fn root_now<'a>(&'a self, root: &'a DatabaseRoot) -> &'a DatabaseRoot {
        self.root.as_ref().filter(|now| now.servers == root.servers).unwrap_or(root)
    }

    /// Returns where the regions of a database are: those of dead memory servers are closed, or a
    /// replica was promoted.
    pub fn address_map(&self, root: &DatabaseRoot) -> AddressMap {
        let root = self.root_now(root);
        let is_alive = |identity: u64| self.member(identity).is_some();
        let dead = (0_u16..).zip(root.holders()).filter(|(_, holder)| !is_alive(*holder));
        let dead = dead.map(|(number, _)| NodeId(number));
        let promoted = root.promoted.iter();
        let promoted = promoted.map(|(&region, &place)| (RegionId(region), RegionId(place)));
        let returned = root.returned.iter().filter(|(_, returned)| is_alive(returned.identity));
        let returned = returned.map(|(&number, it)| (NodeId(number), it.stage.contents()));
        let size = (root.servers.len() as u16, root.replicas);
        AddressMap::after_deaths(self.epoch, size, dead, promoted, returned)
    }

    /// Returns the memory server of a database that recovers the dead and promotes replicas: the
    /// first one that lives and has its part.
    pub fn coordinator(&self, root: &DatabaseRoot) -> Option<&Member> {
        let root = self.root_now(root);
        let is_whole = |identity: &u64| {
            let returned = root.returned.values().find(|it| it.identity == *identity);
            returned.is_none_or(|it| it.stage == FillStage::Whole)
        };
        root.holders().filter(is_whole).find_map(|identity| self.member(identity))
    }

    /// Where the memory servers of a database with replicas are reached.
    pub fn holder_addresses(&self, root: &DatabaseRoot) -> Vec<ServerAddress> {
        let holders = self.root_now(root).holders();
        let living = holders.filter_map(|identity| self.member(identity));
        living.filter_map(|member| member.server_address(FabricKind::Tcp).ok()).collect()
    }

    /// The memory servers with a number of the database whose predecessor has died, and that are
    /// not in its place yet.
    pub fn newcomers<'a>(&'a self, root: &'a DatabaseRoot) -> impl Iterator<Item = &'a Member> {
        let root = self.root_now(root);
        let is_new = move |member: &&Member| {
            let mut holders = root.holders();
            let before = holders.nth(usize::from(member.number));
            before.is_some_and(|holder| self.member(holder).is_none())
        };
        self.memory_servers().filter(is_new)
    }

    /// Which evidence evicts a member: silence, unless part of the database would be lost with it.
    pub fn rule(&self, member: &Member) -> Rule {
        let is_last = || self.last_replicas(member).next().is_some();
        match member.is_memory_server() && (self.has_one_replica() || is_last()) {
            true => Rule::Proof,
            false => Rule::Lease,
        }
    }

    /// Whether all that memory servers have is there once.
    fn has_one_replica(&self) -> bool {
        self.root.as_ref().is_none_or(|root| root.replicas == 1)
    }

    /// The regions of the database that no other memory server has.
    pub fn last_replicas(&self, member: &Member) -> impl Iterator<Item = RegionId> {
        let map = self.root.as_ref().filter(|root| root.has_holder(member.identity));
        let map = map.map(|root| self.address_map(root));
        map.into_iter().flat_map(|before| {
            let mut after = before.clone();
            after.lose(member.node());
            let is_there = |map: &AddressMap, region| {
                map.place(region).is_some() || map.replicas(region).next().is_some()
            };
            let is_last =
                |region: &RegionId| is_there(&before, *region) && !is_there(&after, *region);
            (0..before.server_count()).map(RegionId).filter(is_last).collect::<Vec<_>>()
        })
    }

    /// Checks that each region of a database is on a living memory server.
    ///
    /// # Errors
    /// [`RegistryError::DatabaseLost`] if one is not: that part of the data is lost, and a
    /// successor does not bring it back.
    pub fn ensure_whole(&self, root: &DatabaseRoot) -> Result<(), RegistryError> {
        let map = self.address_map(root);
        let is_lost =
            |region: RegionId| map.place(region).is_none() && map.replicas(region).next().is_none();
        let regions = (0..map.server_count()).map(RegionId);
        let lost: Vec<String> =
            regions.filter(|region| is_lost(*region)).map(|region| region.0.to_string()).collect();
        match lost.is_empty() {
            true => Ok(()),
            false => Err(RegistryError::DatabaseLost { lost: lost.join(", ") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_file::OracleKind;
    use crate::member::Addresses;
    use layout::{GlobalPtr, RegionId};

    fn map(memory: &[&str], compute: &[(&str, bool)]) -> ClusterMap {
        let at = |host: &str, member: Member| Member { host: host.to_owned(), ..member };
        let memory = (0_u16..).zip(memory).map(|(number, host)| {
            at(host, Member::memory_server(NodeId(number), 1 << 20, Addresses::default()))
        });
        let compute = (0_u16..).zip(compute).map(|(number, (host, takes_calls))| {
            let tcp = takes_calls.then(|| "127.0.0.1:1".to_owned());
            at(host, Member::compute_server(number, Addresses { tcp, ..Addresses::default() }))
        });
        let members = memory.chain(compute).collect();
        let (left, evicted, drained) = Default::default();
        ClusterMap { cluster: ClusterId(1), epoch: 1, members, left, evicted, root: None, drained }
    }

    fn root(servers: Vec<u64>) -> DatabaseRoot {
        DatabaseRoot {
            oracle: GlobalPtr::new(RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers,
            replicas: 1,
            promoted: BTreeMap::new(),
            returned: BTreeMap::new(),
            id: 7,
            run: 0,
            without: Default::default(),
        }
    }

    fn owners(memory: &[&str], compute: &[(&str, bool)]) -> Vec<Option<u16>> {
        let map = map(memory, compute);
        map.owners(FabricKind::Tcp).iter().map(|owner| owner.map(|one| one.number)).collect()
    }

    #[test]
    fn memory_servers_are_owned_by_compute_servers_of_their_hosts_by_turns() {
        let of_two = [("a", true), ("a", false), ("b", true), ("a", true), ("b", true)];
        let owned = owners(&["a", "b", "a", "b", "a"], &of_two);
        assert_eq!(owned, [Some(0), Some(2), Some(3), Some(4), Some(0)]);
        // No compute server on the host: any one will do.
        assert_eq!(owners(&["c", "c", "d"], &of_two), [Some(0), Some(2), Some(0)]);
        assert_eq!(owners(&["a", "b"], &[("a", false)]), [None, None]);
        let by_verbs = map(&["a"], &of_two);
        assert_eq!(by_verbs.owners(FabricKind::Verbs), [None]);
    }

    #[test]
    fn compute_servers_are_near_memory_servers_of_their_hosts_by_turns() {
        let nearest = |memory: &[&str], compute: &[(&str, bool)]| {
            let map = map(memory, compute);
            let of = |member: &Member| map.nearest(member.identity);
            map.compute_servers().map(of).collect::<Vec<u16>>()
        };
        let of_two = [("a", true), ("a", false), ("b", true), ("a", true), ("b", true)];
        assert_eq!(nearest(&["a", "b", "a", "b"], &of_two), [0, 2, 1, 0, 3]);
        // No memory server on the host: members share all of them.
        assert_eq!(nearest(&["c", "c"], &of_two), [0, 1, 0, 1, 0]);
        assert_eq!(map(&["a", "b"], &of_two).nearest(0), 0, "a visitor");
    }
    #[test]
    fn a_database_is_lost_unless_all_its_memory_servers_left_in_order() {
        let mut map = map(&["a", "a"], &[]);
        let servers: Vec<u64> = map.memory_servers().map(|member| member.identity).collect();
        map.root = Some(root(servers.clone()));
        assert_eq!(map.loss(), None);
        map.members.pop();
        let lost = |lost: &str| Some(RegistryError::DatabaseLost { lost: lost.to_owned() });
        assert_eq!(map.loss(), lost("1"));
        map.members.pop();
        assert_eq!((map.loss(), map.database()), (lost("0, 1"), Ok(None)));
        map.left = servers;
        assert_eq!(map.loss(), None, "it was ended in order");
    }

    #[test]
    fn silence_evicts_memory_servers_unless_part_of_the_database_goes_with_them() {
        let mut map = map(&["a", "a", "a"], &[("a", true)]);
        let all = map.clone();
        let rules = |map: &ClusterMap| -> Vec<Rule> {
            map.members.iter().map(|member| map.rule(member)).collect()
        };
        use Rule::{Lease, Proof};
        assert_eq!(rules(&map), [Proof, Proof, Proof, Lease], "there is no database");
        let servers = map.memory_servers().map(|member| member.identity).collect();
        map.root = Some(DatabaseRoot { replicas: 2, ..root(servers) });
        assert_eq!(rules(&map), [Lease; 4]);
        map.members.remove(1);
        assert_eq!(rules(&map), [Proof, Proof, Lease], "each has the last replica of a region");
        let regions = |number: usize| -> Vec<u16> {
            map.last_replicas(&map.members[number]).map(|region| region.0).collect()
        };
        assert_eq!([regions(0), regions(1)], [[0], [1]]);
        map.root.as_mut().expect("it is set").replicas = 3;
        assert_eq!(rules(&map), [Lease; 3]);
        map.root.as_mut().expect("it is set").replicas = 1;
        map.members = all.members;
        assert_eq!(rules(&map), [Proof, Proof, Proof, Lease]);
    }
}
