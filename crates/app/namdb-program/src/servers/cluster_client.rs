//! A process's connection to a cluster: its membership and the memory servers.

use super::error::ServerError;
use super::health::Health;
use super::lease_watch::{LeaseTime, watch};
use super::{MEMBERS_POLL, PROGRAM, detection};
use crate::output;
use anyhow::{Context, Result};
use fabric::Secret;
use fabric::identity::{self, Admission, Hello};
use layout::{NodeId, RegionId};
use membership::detector::{Input, View};
use membership::{
    ClusterFile, ClusterMap, DatabaseRoot, Detector, FillStage, Follower, Lease, LeaseClock,
    Member, Registry,
};
use namdb::Regions;
use namdb::host::spawn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use txn::{Database, EngineEnv, LockHolders, Root};

/// Maximal wait for the memory servers and the database.
const JOIN_WAIT_MAX: Duration = Duration::from_secs(10);

/// The database of a cluster, as a process opens it.
#[derive(Clone)]
pub struct Opening {
    root: Root,
    /// The memory server whose copies of tables are read.
    nearest: u16,
    holders: Arc<LockHolders>,
    /// The process, if it is a member: it owns the slots of its lanes. Those of a visitor have no
    /// owner with a name, and are never recovered.
    member: Option<u64>,
}

impl Opening {
    /// Opens the database from `env`.
    pub fn open<E: EngineEnv>(&self, env: E) -> Database<E> {
        let database = Database::open(env, &self.root).nearest_to(self.nearest);
        let database = database.counted_in(self.holders.clone());
        match self.member {
            Some(identity) => database.as_member(identity),
            None => database,
        }
    }
}

/// Parts of a process that follow the cluster's map. The admission is that of callers, if others
/// call this process.
type Follow = (Arc<AtomicU64>, Arc<Health>, Option<Arc<Admission>>);

/// A cluster as seen by a member or a visitor. Dropping it leaves the cluster.
pub struct ClusterClient {
    /// The cluster's configuration.
    pub cluster: ClusterFile,
    /// The cluster map at the time of joining.
    pub map: ClusterMap,
    /// The cluster's secret.
    pub secret: Secret,
    /// The database's root.
    pub root: Root,
    /// The root as the registry has it.
    pub published: DatabaseRoot,
    /// Where its regions are.
    pub regions: Regions,
    /// The current epoch.
    pub epoch: Arc<AtomicU64>,
    /// This process's identity for the servers.
    identity: u64,
    /// Whether it is that of a member, and not of a visitor.
    is_member: bool,
    /// The member on whose behalf a visitor acts: when it is none any more, the memory servers must
    /// refuse the visitor.
    visits_for: Option<u64>,
    /// Number of connections opened so far: a second connection with the same number would replace
    /// the first.
    pub endpoints: Arc<AtomicU64>,
    /// `None` for a visitor, which no member waits for, and after leaving.
    lease: Mutex<Option<Lease>>,
    /// `None` for a visitor, and after leaving.
    detector: Mutex<Option<Detector>>,
    /// Set once the lease is no longer needed.
    has_left: Arc<AtomicBool>,
    registry: Registry,
    follower: Follower,
}

impl ClusterClient {
    /// Waits until all memory servers have joined and the database exists, then joins: joining or
    /// leaving changes the epoch, so the process must not join in vain. From then on `epoch`
    /// follows the cluster's, and `health` the state of lease and database. The process exits if
    /// its lease is lost.
    pub fn join(
        cluster: ClusterFile,
        member: Member,
        epoch: &Arc<AtomicU64>,
        health: &Arc<Health>,
    ) -> Result<Self> {
        Self::join_and_admit(cluster, member, epoch, health, None)
    }

    /// Like [`ClusterClient::join`], for a process that others call: `admission` follows the
    /// cluster, too, so that former members are no longer served.
    pub fn join_and_admit(
        cluster: ClusterFile,
        member: Member,
        epoch: &Arc<AtomicU64>,
        health: &Arc<Health>,
        admission: Option<Arc<Admission>>,
    ) -> Result<Self> {
        let registry = Registry::await_open(&cluster, JOIN_WAIT_MAX)?;
        registry.wait_for_database(cluster.memory.len(), JOIN_WAIT_MAX)?;
        let is_named = usize::from(member.number) < cluster.compute.len();
        let (patience, who) = match is_named {
            // A dead predecessor keeps its number until its lease ends.
            true => {
                let patience = Duration::from_secs(cluster.lease_seconds + 1);
                (patience, format!("compute server {}", member.number))
            }
            false => (Duration::ZERO, "this process".to_owned()),
        };
        let lost = ServerError::lease_lost(&cluster, who, "start it again");
        let lease = registry.join(member, patience)?;
        let identity = lease.member().identity;
        let follow = (epoch.clone(), health.clone(), admission);
        let detector = cluster
            .read_secret()
            .map_err(anyhow::Error::from)
            .and_then(|secret| detection::start(&cluster, &secret, &registry, &lease, None));
        let opened = detector.and_then(|detector| {
            let input = Some(detector.input());
            Ok((Self::open(cluster, &registry, (identity, None), (follow, input))?, detector))
        });
        let client = match opened {
            Ok((client, detector)) => {
                detector.wake(client.follower.waker());
                *client.detector.lock().expect("no holder panics") = Some(detector);
                client
            }
            Err(error) => {
                // The first error is more informative.
                let _ = lease.leave();
                return Err(error);
            }
        };
        let clock = lease.clock();
        let time = LeaseTime::new(clock.clone(), client.cluster.lease_seconds);
        *client.lease.lock().expect("no holder panics") = Some(lease);
        exit_when_lease_ends((time.clone(), clock), client.has_left.clone(), lost)?;
        health.joined(time);
        Ok(client)
    }

    /// Connects without becoming a member, to read and to call services. No member waits for a
    /// visitor's end, so a visit must be short. It does not wait for missing servers.
    pub fn visit(cluster: ClusterFile) -> Result<Self> {
        Self::visit_as(cluster, None)
    }

    /// As [`ClusterClient::visit`], on behalf of a member.
    pub fn visit_for(cluster: ClusterFile, member: u64) -> Result<Self> {
        Self::visit_as(cluster, Some(member))
    }

    fn visit_as(cluster: ClusterFile, visits_for: Option<u64>) -> Result<Self> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let registry = Registry::await_open(&cluster, Duration::ZERO)?;
        registry.wait_for_database(cluster.memory.len(), Duration::ZERO)?;
        let health = Arc::new(Health::new(&NEVER));
        let follow = (Arc::default(), health, None);
        let who = (identity::draw()?, visits_for);
        Self::open(cluster, &registry, who, (follow, None))
    }

    /// Reads the current cluster map and follows its changes.
    fn open(
        cluster: ClusterFile,
        registry: &Registry,
        (identity, visits_for): (u64, Option<u64>),
        (follow, detector): (Follow, Option<Input>),
    ) -> Result<Self> {
        let (epoch, health, admission) = follow;
        let (secret, map) = (cluster.read_secret()?, registry.map()?);
        let database = map.database()?.context("the database is gone")?.clone();
        let (root, published) = (namdb::root_of(&database), database.clone());
        epoch.fetch_max(map.epoch, Ordering::AcqRel);
        let newest = epoch.clone();
        let is_visitor = map.member(identity).is_none();
        let regions = Regions::new(&database, &map);
        let regions = match is_visitor {
            true => regions,
            false => regions.of_member(registry, identity).context("no thread can be started")?,
        };
        let places = regions.clone();
        let note = move |map: &ClusterMap| {
            if let Some(detector) = &detector {
                detector.note(map);
            }
            // A process that is no longer a member must not continue under the members' new epoch.
            let is_allowed = match is_visitor {
                true => visits_for.is_none_or(|member| map.member(member).is_some()),
                false => map.member(identity).is_some(),
            };
            if is_allowed {
                newest.fetch_max(map.epoch, Ordering::AcqRel);
            }
            places.note(map);
            health.note_database(map.ensure_whole(&database));
            if let Some(admission) = &admission {
                admission.advance(map.epoch, map.members.iter().map(|one| one.identity).collect());
            }
        };
        let follower = registry.follow(MEMBERS_POLL, note)?;
        let (lease, detector, has_left) = Default::default();
        let registry = registry.clone();
        Ok(Self {
            cluster,
            map,
            secret,
            root,
            published,
            regions,
            epoch,
            identity,
            is_member: !is_visitor,
            visits_for,
            endpoints: Arc::default(),
            lease,
            detector,
            has_left,
            registry,
            follower,
        })
    }

    /// The database, for this process to open.
    pub fn opening(&self) -> Opening {
        let member = self.is_member.then_some(self.identity);
        let holders = self.regions.holders().clone();
        Opening { root: self.root.clone(), nearest: self.nearest(), holders, member }
    }

    /// The memory servers of the database that lived when this was opened. A server that was
    /// started again is one of them when it has the place of the one before.
    pub fn living_servers(&self) -> impl Iterator<Item = &Member> {
        let servers = self.map.memory_servers();
        servers.filter(|server| self.published.has_holder(server.identity))
    }

    /// This process's identity for the memory servers.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The memory server whose copies of tables this process reads.
    pub fn nearest(&self) -> u16 {
        self.map.nearest(self.identity)
    }

    pub fn current_map(&self) -> Result<ClusterMap> {
        Ok(self.registry.map()?)
    }

    /// Records that a replica has taken the place of a closed region, as the member `by` promotes
    /// it; false if that is not so.
    pub fn promote(&self, region: (RegionId, RegionId), by: u64) -> Result<bool> {
        Ok(self.registry.promote(&self.published.servers, region, by)?)
    }

    /// Records that a memory server is in the place of one that has died, as the member `by`
    /// promotes; false if that is not so.
    pub fn take_back(&self, server: (NodeId, u64), by: u64) -> Result<bool> {
        Ok(self.registry.take_back(&self.published.servers, server, by)?)
    }

    /// Records the next stage of a fill, as the member `by`; false if it was given up.
    pub fn advance_fill(
        &self,
        node: NodeId,
        stages: (FillStage, FillStage),
        by: u64,
    ) -> Result<bool> {
        Ok(self.registry.advance_fill(&self.published.servers, node, stages, by)?)
    }

    /// Takes over a newer map before the follower does, for a visitor.
    pub fn note(&self, map: &ClusterMap) {
        if self.visits_for.is_none_or(|member| map.member(member).is_some()) {
            self.epoch.fetch_max(map.epoch, Ordering::AcqRel);
        }
        self.regions.note(map);
    }

    /// Evicts a member that has not drained for `silent_ms` milliseconds, as the member `by`.
    pub fn evict_undrained(&self, identity: u64, silent_ms: u64, by: u64) -> Result<()> {
        self.registry.evict_undrained(identity, silent_ms, by)?;
        Ok(())
    }

    /// Whether members have joined or left since this was opened.
    pub fn is_outdated(&self) -> Result<bool> {
        Ok(self.current_map()?.epoch != self.map.epoch)
    }

    /// Remaining time of the membership; `None` for a visitor.
    pub fn lease_clock(&self) -> Option<LeaseClock> {
        self.lease.lock().expect("no holder panics").as_ref().map(Lease::clock)
    }

    /// The numbers of this process's failure detector; `None` for a visitor.
    pub fn detector_view(&self) -> Option<Arc<View>> {
        let detector = self.detector.lock().expect("no holder panics");
        detector.as_ref().map(|detector| detector.view().clone())
    }

    /// Leaves the cluster. No verb of this process may be in progress.
    pub fn leave(&self) -> Result<()> {
        let Some(lease) = self.lease.lock().expect("no holder panics").take() else {
            return Ok(());
        };
        self.has_left.store(true, Ordering::Release);
        let left = lease.leave();
        // Heartbeats until nobody waits for them.
        drop(self.detector.lock().expect("no holder panics").take());
        Ok(left?)
    }

    /// The first messages to the servers on this process's connection number `endpoint`.
    pub fn hellos<'a>(
        &self,
        servers: impl IntoIterator<Item = &'a Member>,
        endpoint: u64,
    ) -> Vec<Hello> {
        let (cluster, epoch) = (self.cluster.id, self.epoch.load(Ordering::Acquire));
        let hello =
            |member: &Member| member.hello(cluster, epoch, self.identity, endpoint, PROGRAM);
        servers.into_iter().map(hello).collect()
    }
}

impl Drop for ClusterClient {
    fn drop(&mut self) {
        self.regions.end();
        if let Err(error) = self.leave() {
            output::say(&format!("namdb: cannot leave the cluster: {error:#}"));
        }
    }
}

/// Exits once the lease is lost: the cluster no longer counts the process as a member, and others
/// may reuse what it owns.
fn exit_when_lease_ends(
    (lease, clock): (LeaseTime, LeaseClock),
    has_left: Arc<AtomicBool>,
    lost: ServerError,
) -> Result<()> {
    let watcher = move || {
        if watch(&lease, &has_left) {
            crate::end(&lost.unless_evicted(clock.eviction()).into());
        }
    };
    spawn("lease watch", watcher).context("no thread can be started")?;
    Ok(())
}
