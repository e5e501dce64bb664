//! Joining, leaving, and reading the cluster map.
//!
//! Every change reads record and entries at one moment, computes the next record, and replaces the
//! record if nobody else has. So two servers never get one number, epochs only grow, and the first
//! reader that notices the end of a lease records it for all.
//!
//! Decision: docs/decisions/0066-membership-is-one-record-replaced-by-compare-and-swap.md

use crate::clock::{self, Moment};
use crate::cluster_file::{ClusterFile, ClusterId, RegistryKind};
use crate::cluster_map::ClusterMap;
use crate::detector::Evidence;
use crate::detector::machine::Rule;
use crate::error::RegistryError;
use crate::etcd_store::EtcdStore;
use crate::eviction::Eviction;
use crate::file_store::FileStore;
use crate::follower::Follower;
use crate::lease::Lease;
use crate::member::{Member, Program};
use crate::record::{Reader, Record, Seen};
use crate::root::{DatabaseRoot, FillStage, Returned};
use crate::store::{Change, EntryChange, Hold, Renewal, Store};
use layout::{NodeId, RegionId};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of attempts at a change while others change the record: each failure means that
/// another change succeeded.
const CHANGE_ATTEMPTS_MAX: u32 = 1000;
/// Maximum pause between two attempts; it grows by this step, times a number that differs between
/// processes.
const CHANGE_PAUSE_MAX: Duration = Duration::from_millis(50);
const CHANGE_PAUSE_STEP: Duration = Duration::from_micros(100);
/// Interval at which a missing registry is looked for.
const FIND_PAUSE: Duration = Duration::from_millis(10);

/// Where the servers of a cluster find each other. Clones share the registry.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    cluster: ClusterId,
    name: String,
    program: Program,
    lease_time: Duration,
    /// Number of compute servers in the cluster file; their numbers are reserved.
    named: u16,
}

impl Registry {
    /// Opens the registry of a cluster, and waits for its first response.
    ///
    /// # Errors
    /// It is unreachable, or belongs to another cluster, or servers of another version have joined.
    pub fn open(cluster: &ClusterFile) -> Result<Self, RegistryError> {
        Self::open_as(cluster, Program::this())
    }

    /// Like [`Registry::open`], but creates nothing: `None` if no server has started, or all
    /// servers were stopped and their files removed.
    ///
    /// # Errors
    /// Those of [`Registry::open`].
    pub fn find(cluster: &ClusterFile) -> Result<Option<Self>, RegistryError> {
        let is_there = match cluster.registry.kind {
            RegistryKind::File => FileStore::is_in(&cluster.directory),
            RegistryKind::Etcd => true,
        };
        is_there.then(|| Self::open(cluster)).transpose()
    }

    /// Like [`Registry::find`], but waits for a missing registry.
    ///
    /// # Errors
    /// Those of [`Registry::open`], and [`RegistryError::NotRunning`].
    pub fn await_open(cluster: &ClusterFile, patience: Duration) -> Result<Self, RegistryError> {
        let deadline = Moment::now() + patience;
        loop {
            if let Some(registry) = Self::find(cluster)? {
                return Ok(registry);
            }
            if deadline.is_past() {
                let place = cluster.directory.display().to_string();
                let name = cluster.name.clone();
                return Err(RegistryError::NotRunning { name, place, after: patience });
            }
            clock::sleep(FIND_PAUSE);
        }
    }

    /// Removes the files of a registry without members; false if it has members. Keys in etcd stay.
    ///
    /// # Errors
    /// If the files cannot be read or removed.
    pub fn clear(&self) -> Result<bool, RegistryError> {
        match &self.shared.store {
            Store::File(store) => store.clear(),
            Store::Etcd(_) => Ok(self.map()?.members.is_empty()),
        }
    }

    /// Like [`Registry::open`], for a program of another version.
    pub fn open_as(cluster: &ClusterFile, program: Program) -> Result<Self, RegistryError> {
        let lease_time = Duration::from_secs(cluster.lease_seconds);
        let store = match cluster.registry.kind {
            RegistryKind::File => Store::File(FileStore::open(&cluster.directory)?),
            RegistryKind::Etcd => Store::Etcd(EtcdStore::new(cluster)?),
        };
        let name = cluster.name.clone();
        let (id, named) = (cluster.id, cluster.compute.len() as u16);
        let shared = Arc::new(Shared { store, cluster: id, name, program, lease_time, named });
        let registry = Self { shared };
        registry.see()?;
        Ok(registry)
    }

    /// Makes a server a member, with its number in the cluster file if that is free. A server that
    /// stopped without leaving keeps its number until its lease ends; its successor waits for that,
    /// at most `patience`.
    ///
    /// # Panics
    /// If the member has joined before: a server needs a new identity at each start.
    pub fn join(&self, mut member: Member, patience: Duration) -> Result<Lease, RegistryError> {
        member.program.clone_from(&self.shared.program);
        let deadline = Moment::now() + patience;
        for attempt in 0..CHANGE_ATTEMPTS_MAX {
            let seen = self.see_number_for(&mut member, deadline)?;
            assert!(!seen.has(member.identity), "a server gets a new identity at each start");
            let mut members = seen.record.members.clone();
            members.push(member.identity);
            let text =
                serde_json::to_string(&member).expect("a member is made of texts and numbers");
            let hold = self.shared.store.hold()?;
            let entry = EntryChange::Put { name: &member.entry(), text: &text, hold: &hold };
            let is_done = self.change(&seen, &seen.record.next(members), entry)?;
            // If the response to a change was lost, repeating the change fails although it
            // succeeded.
            if is_done || self.see()?.has(member.identity) {
                return self.keep(member, hold);
            }
            self.release(&hold);
            self.pause(attempt);
        }
        Err(self.contended())
    }

    /// Waits until there is a free number for a joining server.
    fn see_number_for(
        &self,
        newcomer: &mut Member,
        deadline: Moment,
    ) -> Result<Seen, RegistryError> {
        loop {
            let seen = self.see()?;
            match seen.number_for(newcomer, self.shared.named) {
                Ok(number) => {
                    newcomer.number = number;
                    return Ok(seen);
                }
                Err(taken) if deadline.is_past() => return Err(taken),
                Err(_) => clock::sleep(self.shared.store.poll()),
            }
        }
    }

    fn keep(&self, member: Member, hold: Hold) -> Result<Lease, RegistryError> {
        match self.renew(&hold, &member)? {
            Renewal::Until(until) => Lease::keep(self.clone(), member, hold, until),
            Renewal::Gone => Err(RegistryError::LeaseLost { member: member.to_string() }),
        }
    }

    /// Makes a member that the failure detector considers dead a former one, by one
    /// compare-and-swap: of many that try, one succeeds. Returns whether it was this one; false if
    /// it is no member any more. The epoch of `eviction` is filled in here. `by` is the identity of
    /// the member that evicts.
    ///
    /// # Errors
    /// The registry is unreachable; the member may be evicted nevertheless. Or its silence is not
    /// enough to evict it. Or `by` is no member any more: others have judged it meanwhile, and a
    /// server that the network has cut off from all others considers all of them dead.
    pub fn evict(&self, eviction: &Eviction, by: u64) -> Result<bool, RegistryError> {
        for attempt in 0..CHANGE_ATTEMPTS_MAX {
            // Read without recording ended leases, which would remove the member without a reason.
            let seen = self.read()?;
            if !seen.has(eviction.identity) {
                return Ok(false);
            }
            if seen.member(by).is_none() {
                let (by, member) = (eviction.by.clone(), eviction.member.clone());
                return Err(RegistryError::EvictorGone { by, member });
            }
            if eviction.evidence == Evidence::Silence {
                ensure_spare(&seen, eviction)?;
                if seen.record.is_unfilled(by) {
                    let (by, member) = (eviction.by.clone(), eviction.member.clone());
                    return Err(RegistryError::EvictorUnfilled { by, member });
                }
            }
            // Without a lease it has no entry any more.
            let entry = seen.member(eviction.identity).map(Member::entry);
            let entry = match &entry {
                Some(name) => EntryChange::Remove { name },
                None => EntryChange::None,
            };
            let record = seen.record.evicting(eviction.clone());
            if self.change(&seen, &record, entry)? {
                return Ok(true);
            }
            self.pause(attempt);
        }
        Err(self.contended())
    }

    /// Evicts a member that has not drained for `silent_ms` milliseconds; false if it is no member.
    /// `by` is the identity of the member that evicts, perhaps itself.
    ///
    /// # Errors
    /// The registry is unreachable; the member may be evicted nevertheless. Or `by` is no member.
    pub fn evict_undrained(
        &self,
        identity: u64,
        silent_ms: u64,
        by: u64,
    ) -> Result<bool, RegistryError> {
        let Some(member) = self.map()?.member(identity).map(ToString::to_string) else {
            return Ok(false);
        };
        let eviction = Eviction {
            identity,
            member,
            // It is filled in later.
            epoch: 0,
            by: "the memory server that promotes replicas".to_owned(),
            evidence: Evidence::Undrained,
            silent_ms,
        };
        self.evict(&eviction, by)
    }

    /// Returns the current map. Removing members whose lease has ended starts a new epoch.
    pub fn map(&self) -> Result<ClusterMap, RegistryError> {
        Ok(self.see()?.into_map())
    }

    /// Waits until memory servers 0 to `count - 1` have joined. Calls `progress` with the map at
    /// each change.
    pub fn wait_for_memory_servers(
        &self,
        count: usize,
        patience: Duration,
        progress: &mut dyn FnMut(&ClusterMap),
    ) -> Result<ClusterMap, RegistryError> {
        let deadline = Moment::now() + patience;
        let mut epoch = None;
        loop {
            let map = self.map()?;
            if epoch != Some(map.epoch) {
                epoch = Some(map.epoch);
                progress(&map);
            }
            let is_there = |number: &usize| {
                map.memory_servers().any(|member| usize::from(member.number) == *number)
            };
            let missing: Vec<String> = (0..count)
                .filter(|number| !is_there(number))
                .map(|number| number.to_string())
                .collect();
            if missing.is_empty() {
                return Ok(map);
            }
            if deadline.is_past() {
                let found = count - missing.len();
                if let Some(loss) = map.loss() {
                    return Err(loss);
                }
                if found == 0 {
                    let (name, place) = (self.shared.name.clone(), self.place().to_owned());
                    return Err(RegistryError::NotRunning { name, place, after: patience });
                }
                let missing = missing.join(", ");
                return Err(RegistryError::TooFewServers {
                    found,
                    wanted: count,
                    missing,
                    after: patience,
                });
            }
            clock::sleep(self.shared.store.poll());
        }
    }

    /// Waits until memory servers 0 to `count - 1` have joined and the first one has published the
    /// database's root. `patience` covers both.
    pub fn wait_for_database(&self, count: usize, patience: Duration) -> Result<(), RegistryError> {
        let deadline = Moment::now() + patience;
        // With replicas it exists without some of its memory servers.
        if let Ok(Some(_)) = self.map()?.database() {
            return Ok(());
        }
        self.wait_for_memory_servers(count, patience, &mut |_| {})?;
        while self.map()?.database()?.is_none() {
            if deadline.is_past() {
                let name = self.shared.name.clone();
                return Err(RegistryError::NoDatabase { name, after: patience });
            }
            clock::sleep(self.shared.store.poll());
        }
        Ok(())
    }

    /// Starts a new epoch without a change of members, and returns it.
    pub fn bump_epoch(&self) -> Result<u64, RegistryError> {
        let record = self.change_until(|seen| {
            let members = seen.record.members.clone();
            Ok(Next::Replace(Box::new(seen.record.next(members)), None))
        })?;
        Ok(record.epoch)
    }

    /// Sets the database's root, once: if a database exists on living memory servers, its root is
    /// returned and nothing changes.
    pub fn set_root(&self, root: &DatabaseRoot) -> Result<DatabaseRoot, RegistryError> {
        let record = self.change_until(|seen| {
            if seen.record.root.as_ref().is_some_and(|root| root.holders().any(|id| seen.has(id))) {
                return Ok(Next::Keep);
            }
            for (number, identity) in (0_u16..).zip(&root.servers) {
                if !seen.has(*identity) && !root.without.contains(&number) {
                    return Err(RegistryError::NoSuchServer { number });
                }
            }
            let root = Some(root.clone());
            let record = Record { root, opening: None, ..seen.record.clone() };
            Ok(Next::Replace(Box::new(record), None))
        })?;
        Ok(record.root.expect("it was there, or is now"))
    }

    /// Records that a memory server serves nobody any more, and waits until this is so for all that
    /// keep the database, at most for `patience`: then nobody goes on without the others.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn end_together(&self, identity: u64, patience: Duration) -> Result<(), RegistryError> {
        self.change_until(|seen| {
            if !seen.has(identity) || seen.record.ended.contains(&identity) {
                return Ok(Next::Keep);
            }
            let mut record = seen.record.clone();
            record.ended.insert(identity);
            Ok(Next::Replace(Box::new(record), None))
        })?;
        let deadline = Moment::now() + patience;
        loop {
            let record = self.see()?.record;
            let holders = record.root.iter().flat_map(|root| root.whole_holders().into_values());
            let mut living = holders.filter(|holder| record.members.contains(holder));
            if living.all(|holder| record.ended.contains(&holder)) || deadline.is_past() {
                return Ok(());
            }
            clock::sleep(self.shared.store.poll());
        }
    }

    /// Records that a member has drained up to an epoch.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn set_drained(&self, identity: u64, epoch: u64) -> Result<(), RegistryError> {
        self.change_until(|seen| {
            let known = seen.record.drained.get(&identity);
            if !seen.has(identity) || known.is_some_and(|&known| known >= epoch) {
                return Ok(Next::Keep);
            }
            let mut record = seen.record.clone();
            record.drained.insert(identity, epoch);
            Ok(Next::Replace(Box::new(record), None))
        })?;
        Ok(())
    }

    /// Starts an epoch in which a replica has taken the place of a closed region of the database
    /// with these memory servers. Returns whether the region has this place now: nothing changes if
    /// it is open, if `by` is not the member that promotes, or if that database has ended.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn promote(
        &self,
        servers: &[u64],
        (region, place): (RegionId, RegionId),
        by: u64,
    ) -> Result<bool, RegistryError> {
        let record = self.change_until(|seen| {
            let map = seen.map();
            let root = map.root.as_ref().filter(|root| root.servers == servers);
            let may = root.is_some_and(|root| {
                let is_coordinator = map.coordinator(root).is_some_and(|one| one.identity == by);
                // A database that is lost must not go on: its servers write it to disk as it is.
                let is_whole = map.ensure_whole(root).is_ok();
                let addresses = map.address_map(root);
                is_coordinator && is_whole && addresses.closed().any(|closed| closed == region)
            });
            if !may {
                return Ok(Next::Keep);
            }
            let mut next = seen.record.next(seen.record.members.clone());
            if let Some(root) = &mut next.root {
                root.promoted.insert(region.0, place.0);
            }
            Ok(Next::Replace(Box::new(next), None))
        })?;
        let root = record.root.filter(|root| root.servers == servers);
        Ok(root.is_some_and(|root| root.promoted.get(&region.0) == Some(&place.0)))
    }

    /// Starts an epoch in which a memory server that has joined is in the place of one that has
    /// died, and empty. Returns whether it is there now: nothing changes if the other one lives, if
    /// a region of the database with these memory servers is closed, or if `by` does not promote.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn take_back(
        &self,
        servers: &[u64],
        (node, identity): (NodeId, u64),
        by: u64,
    ) -> Result<bool, RegistryError> {
        self.change_fill(servers, by, |map, root| {
            let is_new = map.newcomers(root).any(|one| one.identity == identity);
            let is_back = is_new && map.address_map(root).take_back(node);
            is_back.then_some((node, Returned { identity, stage: FillStage::Empty }))
        })
    }

    /// Starts an epoch in which the fill of a server that has returned goes from one stage to the
    /// next, or back. Returns whether it is there now: nothing changes if it was given up.
    ///
    /// # Errors
    /// The registry is unreachable.
    pub fn advance_fill(
        &self,
        servers: &[u64],
        node: NodeId,
        (from, to): (FillStage, FillStage),
        by: u64,
    ) -> Result<bool, RegistryError> {
        self.change_fill(servers, by, |map, root| {
            let returned = root.returned.get(&node.0).filter(|it| it.stage == from)?;
            let is_closed = map.address_map(root).closed().next().is_some();
            (!is_closed).then_some((node, Returned { stage: to, ..*returned }))
        })
    }

    fn change_fill(
        &self,
        servers: &[u64],
        by: u64,
        change: impl Fn(&ClusterMap, &DatabaseRoot) -> Option<(NodeId, Returned)>,
    ) -> Result<bool, RegistryError> {
        let mut wanted = None;
        let record = self.change_until(|seen| {
            let map = seen.map();
            let root = map.root.as_ref().filter(|root| root.servers == servers);
            let is_mine =
                |root: &&DatabaseRoot| map.coordinator(root).is_some_and(|one| one.identity == by);
            let changed = root.filter(is_mine).and_then(|root| change(&map, root));
            let Some((node, returned)) = changed else { return Ok(Next::Keep) };
            wanted = Some((node, returned));
            let mut next = seen.record.next(seen.record.members.clone());
            if let Some(root) = &mut next.root {
                root.returned.insert(node.0, returned);
                if returned.stage == FillStage::Whole {
                    root.without.remove(&node.0);
                }
            }
            Ok(Next::Replace(Box::new(next), None))
        })?;
        let root = record.root.filter(|root| root.servers == servers);
        Ok(wanted.is_some_and(|(node, returned)| {
            root.is_some_and(|root| root.returned.get(&node.0) == Some(&returned))
        }))
    }

    /// How long a server that recovers the dead waits between two looks at the map.
    pub fn watch_pause(&self) -> Duration {
        self.shared.store.watch_pause()
    }

    /// Starts a thread that calls `changed` with the current map, and with every new one.
    pub fn follow(
        &self,
        pause: Duration,
        changed: impl FnMut(&ClusterMap) + Send + 'static,
    ) -> std::io::Result<Follower> {
        Follower::start(self.clone(), pause, changed)
    }

    pub(crate) fn remove(&self, member: &Member) -> Result<Record, RegistryError> {
        self.change_until(|seen| {
            if !seen.has(member.identity) {
                return Ok(Next::Keep);
            }
            let record = seen.record.without(member.identity);
            Ok(Next::Replace(Box::new(record), Some(member.entry())))
        })
    }

    pub(crate) fn release(&self, hold: &Hold) {
        self.shared.store.release(hold);
    }

    pub(crate) fn renew(&self, hold: &Hold, member: &Member) -> Result<Renewal, RegistryError> {
        self.shared.store.renew(hold, member)
    }

    /// Between two looks at the record.
    pub(crate) fn poll(&self) -> Duration {
        self.shared.store.poll()
    }

    pub(crate) fn lease_time(&self) -> Duration {
        self.shared.lease_time
    }

    pub(crate) fn place(&self) -> &str {
        self.shared.store.place()
    }

    fn read(&self) -> Result<Seen, RegistryError> {
        let Shared { store, cluster, name, program, .. } = &*self.shared;
        let reader = Reader { cluster: *cluster, name, program, place: store.place() };
        reader.see(store.read()?)
    }

    /// Reads the state, and records the end of leases.
    pub(crate) fn see(&self) -> Result<Seen, RegistryError> {
        for attempt in 0..CHANGE_ATTEMPTS_MAX {
            let seen = self.read()?;
            let Some(record) = seen.without_expired() else { return Ok(seen) };
            if !self.change(&seen, &record, EntryChange::None)? {
                self.pause(attempt);
            }
        }
        Err(self.contended())
    }

    /// Makes an idempotent change: retries until the record is as it should be.
    pub(crate) fn change_until(
        &self,
        mut next: impl FnMut(&Seen) -> Result<Next, RegistryError>,
    ) -> Result<Record, RegistryError> {
        for attempt in 0..CHANGE_ATTEMPTS_MAX {
            let seen = self.see()?;
            let (record, removed) = match next(&seen)? {
                Next::Keep => return Ok(seen.record),
                Next::Replace(record, removed) => (record, removed),
            };
            let entry = match &removed {
                Some(name) => EntryChange::Remove { name },
                None => EntryChange::None,
            };
            if self.change(&seen, &record, entry)? {
                return Ok(*record);
            }
            self.pause(attempt);
        }
        Err(self.contended())
    }

    fn change(
        &self,
        seen: &Seen,
        record: &Record,
        entry: EntryChange<'_>,
    ) -> Result<bool, RegistryError> {
        assert!(record.epoch >= seen.record.epoch, "epochs only grow");
        let change = Change { seen: seen.text.as_deref(), record: &record.text(), entry };
        self.shared.store.change(&change)
    }

    /// Backs off after a failed attempt.
    fn pause(&self, attempt: u32) {
        let step = CHANGE_PAUSE_STEP * (1 + std::process::id() % 8);
        clock::sleep((step * attempt).min(CHANGE_PAUSE_MAX));
    }

    fn contended(&self) -> RegistryError {
        let place = self.place().to_owned();
        RegistryError::Contended { place, attempts: CHANGE_ATTEMPTS_MAX }
    }
}

/// Refuses to evict a silent memory server whose part of the database would be lost with it: others
/// may have been evicted since it was judged.
fn ensure_spare(seen: &Seen, eviction: &Eviction) -> Result<(), RegistryError> {
    let map = seen.map();
    let Some(member) = map.member(eviction.identity) else { return Ok(()) };
    if map.rule(member) == Rule::Lease {
        return Ok(());
    }
    let regions: Vec<String> =
        map.last_replicas(member).map(|region| region.0.to_string()).collect();
    let (member, regions) = (member.to_string(), regions.join(", "));
    Err(RegistryError::LastReplica { member, regions })
}

/// The next step of a change.
pub(crate) enum Next {
    /// Nothing to do: the record is as it should be.
    Keep,
    /// Write another record, and remove an entry.
    Replace(Box<Record>, Option<String>),
}
