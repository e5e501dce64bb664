//! A process' place in a cluster: its membership, and what it knows of the memory servers.

use super::error::ServerError;
use super::health::Health;
use super::lease_watch::{LeaseTime, watch};
use super::{LOOK_PAUSE, PROGRAM};
use crate::output;
use anyhow::{Context, Result, bail};
use fabric::identity::{self, Admission, Hello};
use membership::{ClusterFile, ClusterMap, Follower, Lease, LeaseClock, Member, Registry};
use namdb::host::{Moment, sleep_ms, spawn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use txn::Root;

/// How long to wait for the memory servers and the database.
const COMPANY_TIME: Duration = Duration::from_secs(10);
/// Between two looks whether the database is there.
const LOOK_MS: u64 = 10;

/// Membership, and the cluster as it was on joining. Whoever drops it leaves the cluster.
pub struct Place {
    /// The cluster's configuration.
    pub cluster: ClusterFile,
    /// Who was there.
    pub map: ClusterMap,
    /// Where the database begins.
    pub root: Root,
    /// The epoch as it is now.
    pub epoch: Arc<AtomicU64>,
    /// As servers know this process.
    identity: u64,
    /// Connections of this process so far: a second one of the same number would replace the first.
    pub endpoints: Arc<AtomicU64>,
    /// None of a visitor, whom nobody misses, and of one who has left.
    lease: Mutex<Option<Lease>>,
    /// The lease is no longer needed.
    has_left: Arc<AtomicBool>,
    registry: Registry,
    _follower: Follower,
}

impl Place {
    /// Waits until all memory servers are there and the database is made, and joins then: who joins makes an epoch,
    /// and so does who leaves because there is nothing to join for. `epoch` follows the cluster's from then on, and
    /// `health` what becomes of lease and database. The process ends when its lease is lost.
    pub fn join(
        cluster: ClusterFile,
        member: Member,
        epoch: &Arc<AtomicU64>,
        health: &Arc<Health>,
    ) -> Result<Self> {
        Self::join_and_admit(cluster, member, epoch, health, None)
    }

    /// As [`Place::join`], for a process that others call: `admission` follows the cluster, too, so that nobody is served
    /// who is a member no more.
    pub fn join_and_admit(
        cluster: ClusterFile,
        member: Member,
        epoch: &Arc<AtomicU64>,
        health: &Arc<Health>,
        admission: Option<Arc<Admission>>,
    ) -> Result<Self> {
        let registry = Registry::await_open(&cluster, COMPANY_TIME)?;
        wait_for_database(&registry, cluster.memory.len(), COMPANY_TIME)?;
        let is_named = usize::from(member.number) < cluster.compute.len();
        let (patience, who) = match is_named {
            // A predecessor that died keeps the number for as long as its lease.
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
        let opened = Self::open(cluster, &registry, identity, follow);
        let place = match opened {
            Ok(place) => place,
            Err(error) => {
                // What went wrong first says more.
                let _ = lease.leave();
                return Err(error);
            }
        };
        let time = LeaseTime::new(lease.clock(), place.cluster.lease_seconds);
        *place.lease.lock().expect("no holder panics") = Some(lease);
        end_with_lease(time.clone(), place.has_left.clone(), lost)?;
        health.joined(time);
        Ok(place)
    }

    /// Looks on without being a member: to read, and to call services. Nobody notices, so nobody waits for the
    /// visitor's end, and a visit is short. What is not there is not waited for.
    pub fn visit(cluster: ClusterFile) -> Result<Self> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let registry = Registry::await_open(&cluster, Duration::ZERO)?;
        wait_for_database(&registry, cluster.memory.len(), Duration::ZERO)?;
        let health = Arc::new(Health::new(&NEVER));
        Self::open(cluster, &registry, identity::draw()?, (Arc::default(), health, None))
    }

    /// Learns of the cluster as it is, and follows it from now on.
    fn open(
        cluster: ClusterFile,
        registry: &Registry,
        identity: u64,
        (epoch, health, admission): (Arc<AtomicU64>, Arc<Health>, Option<Arc<Admission>>),
    ) -> Result<Self> {
        let map = registry.map()?;
        let database = map.database()?.context("the database is gone")?.clone();
        let root = super::opened(&database);
        epoch.fetch_max(map.epoch, Ordering::AcqRel);
        let newest = epoch.clone();
        let is_visitor = map.member(identity).is_none();
        let note = move |map: &ClusterMap| {
            // A process that is a member no more does not get the right to go on from those who are.
            if is_visitor || map.member(identity).is_some() {
                newest.fetch_max(map.epoch, Ordering::AcqRel);
            }
            health.note_database(map.ensure_whole(&database));
            if let Some(admission) = &admission {
                admission.advance(map.epoch, map.members.iter().map(|one| one.identity).collect());
            }
        };
        let follower = registry.follow(LOOK_PAUSE, note)?;
        let (lease, has_left) = (Mutex::default(), Arc::default());
        let registry = registry.clone();
        Ok(Self {
            cluster,
            map,
            root,
            epoch,
            identity,
            endpoints: Arc::default(),
            lease,
            has_left,
            registry,
            _follower: follower,
        })
    }

    /// This process, as memory servers know it.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The memory server whose copies of tables this process reads.
    pub fn nearest(&self) -> u16 {
        self.map.nearest(self.identity)
    }

    /// The cluster as it is now.
    pub fn current_map(&self) -> Result<ClusterMap> {
        Ok(self.registry.map()?)
    }

    /// Whether members have come or gone since this place was taken.
    pub fn is_outdated(&self) -> Result<bool> {
        Ok(self.current_map()?.epoch != self.map.epoch)
    }

    /// How long the membership lasts; none of a visitor.
    pub fn lease_clock(&self) -> Option<LeaseClock> {
        self.lease.lock().expect("no holder panics").as_ref().map(Lease::clock)
    }

    /// Ends the membership. Nothing of this process may be under way at a memory server any more.
    pub fn leave(&self) -> Result<()> {
        let Some(lease) = self.lease.lock().expect("no holder panics").take() else {
            return Ok(());
        };
        self.has_left.store(true, Ordering::Release);
        Ok(lease.leave()?)
    }

    /// What servers are told first, by a connection of this process that has this number.
    pub fn hellos<'a>(
        &self,
        servers: impl IntoIterator<Item = &'a Member>,
        endpoint: u64,
    ) -> Vec<Hello> {
        servers.into_iter().map(|member| self.hello(member, endpoint)).collect()
    }

    fn hello(&self, member: &Member, endpoint: u64) -> Hello {
        Hello {
            node: member.node(),
            cluster: self.cluster.id.0,
            epoch: self.epoch.load(Ordering::Acquire),
            server: member.identity,
            key: member.key(),
            caller: self.identity,
            endpoint,
            process: std::process::id(),
            program: PROGRAM.to_owned(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            output::say(&format!("namdb: the cluster was not left in order: {error:#}"));
        }
    }
}

/// Ends this process once its lease is lost: whatever it did from then on could be taken for the work of a
/// member that it no longer is.
fn end_with_lease(lease: LeaseTime, has_left: Arc<AtomicBool>, lost: ServerError) -> Result<()> {
    let watcher = move || {
        if watch(&lease, &has_left) {
            crate::end(&lost.into());
        }
    };
    spawn("lease watch", watcher).context("no thread can be started")?;
    Ok(())
}

/// Waits until all memory servers are there and the first one has said where the database begins.
fn wait_for_database(registry: &Registry, servers: usize, patience: Duration) -> Result<()> {
    registry.wait_for_memory_servers(servers, patience, &mut |_| {})?;
    let start = Moment::now();
    while registry.map()?.database()?.is_none() {
        if start.instant().elapsed() >= patience {
            bail!(
                "all memory servers are there, and no database after {} s; look at what memory server 0 says",
                patience.as_secs()
            );
        }
        sleep_ms(LOOK_MS);
    }
    Ok(())
}
