//! A process' place in a cluster: its membership, and what it knows of the memory servers.

use super::{LOOK_PAUSE, PROGRAM, log};
use crate::output;
use anyhow::{Result, ensure};
use fabric::identity::{self, Hello};
use layout::NodeId;
use membership::{ClusterFile, ClusterMap, Follower, Lease, LeaseClock, Member, Registry, Role};
use namdb::host::{Moment, sleep_ms};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use txn::Root;

/// How long to wait for the memory servers and the database.
const COMPANY_S: u64 = 10;
/// Between two looks whether the database is there.
const LOOK_MS: u64 = 10;
/// Between two looks whether the lease is lost.
const LEASE_LOOK_MS: u64 = 50;

/// Membership, and the cluster as it was on joining.
pub struct Place {
    /// The cluster's configuration.
    pub cluster: ClusterFile,
    /// Who was there.
    pub map: ClusterMap,
    /// Where the database begins.
    pub root: Root,
    /// The epoch as it is now.
    pub epoch: Arc<AtomicU64>,
    /// As memory servers know this process.
    identity: u64,
    /// None of a visitor, whom nobody misses, and of one who has left.
    lease: Mutex<Option<Lease>>,
    /// The lease is no longer needed.
    has_left: Arc<AtomicBool>,
    _follower: Follower,
}

impl Place {
    /// Joins, once all memory servers are there and the database is made; `epoch` follows the cluster's from then
    /// on. The process ends when its lease is lost.
    pub fn join(cluster: ClusterFile, member: Member, epoch: &Arc<AtomicU64>) -> Result<Self> {
        let registry = Registry::open(&cluster)?;
        let patience = match usize::from(member.number) < cluster.compute.len() {
            // A predecessor that died keeps the number for as long as its lease.
            true => Duration::from_secs(cluster.lease_seconds + 1),
            false => Duration::ZERO,
        };
        let lease = registry.join(member, patience)?;
        let identity = lease.member().identity;
        let place = Self::open(cluster, &registry, identity, Some(lease), epoch.clone())?;
        end_with_lease(&place)?;
        Ok(place)
    }

    /// Looks on without being a member: to read, and to call services. Nobody notices, so nobody waits for the
    /// visitor's end, and a visit is short.
    pub fn visit(cluster: ClusterFile) -> Result<Self> {
        let registry = Registry::open(&cluster)?;
        Self::open(cluster, &registry, identity::draw()?, None, Arc::default())
    }

    fn open(
        cluster: ClusterFile,
        registry: &Registry,
        identity: u64,
        lease: Option<Lease>,
        epoch: Arc<AtomicU64>,
    ) -> Result<Self> {
        let patience = Duration::from_secs(COMPANY_S);
        registry.wait_for_memory_servers(cluster.memory.len(), patience, &mut |_| {})?;
        let map = wait_for_database(registry)?;
        let root = map.database()?.map(super::opened).expect("it was waited for");
        epoch.fetch_max(map.epoch, Ordering::AcqRel);
        let newest = epoch.clone();
        let is_visitor = lease.is_none();
        let note = move |map: &ClusterMap| {
            // A process that is a member no more does not get the right to go on from those who are.
            if is_visitor || map.member(identity).is_some() {
                newest.fetch_max(map.epoch, Ordering::AcqRel);
            }
        };
        let follower = registry.follow(LOOK_PAUSE, note)?;
        let (lease, has_left) = (Mutex::new(lease), Arc::default());
        Ok(Self { cluster, map, root, epoch, identity, lease, has_left, _follower: follower })
    }

    /// This process, as memory servers know it.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// How long the membership lasts; none of a visitor.
    pub fn lease_clock(&self) -> Option<LeaseClock> {
        self.lease.lock().expect("no holder panics").as_ref().map(Lease::clock)
    }

    /// Ends the membership.
    pub fn leave(&self) -> Result<()> {
        let Some(lease) = self.lease.lock().expect("no holder panics").take() else {
            return Ok(());
        };
        ensure!(!lease.is_lost(), "{}", lost(&self.cluster));
        self.has_left.store(true, Ordering::Release);
        Ok(lease.leave()?)
    }

    /// What each memory server is told first.
    pub fn hellos(&self) -> Vec<Hello> {
        self.map.memory_servers().map(|member| self.hello(member)).collect()
    }

    fn hello(&self, member: &Member) -> Hello {
        Hello {
            node: NodeId(member.number),
            cluster: self.cluster.id.0,
            epoch: self.epoch.load(Ordering::Acquire),
            server: member.identity,
            key: region_key(member),
            caller: self.identity,
            endpoint: 0,
            process: std::process::id(),
            program: PROGRAM.to_owned(),
        }
    }
}

/// The key to a memory server's region.
pub fn region_key(member: &Member) -> u64 {
    match member.role {
        Role::Memory { region_key, .. } => region_key,
        Role::Compute => unreachable!("asked of memory servers only"),
    }
}

/// Ends this process once its lease is lost: whatever it did from then on could be taken for the work of a
/// member that it no longer is.
fn end_with_lease(place: &Place) -> Result<()> {
    let Some(clock) = place.lease_clock() else { return Ok(()) };
    let has_left = place.has_left.clone();
    let sentence = lost(&place.cluster);
    let watch = move || {
        while !has_left.load(Ordering::Acquire) {
            sleep_ms(LEASE_LOOK_MS);
            if clock.left() == Some(Duration::ZERO) && !has_left.load(Ordering::Acquire) {
                match log::is_started() {
                    true => tracing::error!("{sentence}"),
                    false => output::say(&format!("namdb: {sentence}")),
                }
                std::process::exit(2);
            }
        }
    };
    std::thread::Builder::new().name("lease watch".to_owned()).spawn(watch)?;
    Ok(())
}

fn lost(cluster: &ClusterFile) -> String {
    format!(
        "this process has lost its lease of {} s, and with it its place in cluster {}: the registry could not be \
         reached in time, or this process did not run; start it again",
        cluster.lease_seconds, cluster.name
    )
}

/// Waits until the first memory server has said where the database begins.
fn wait_for_database(registry: &Registry) -> Result<ClusterMap> {
    let start = Moment::now();
    loop {
        let map = registry.map()?;
        if map.database()?.is_some() {
            return Ok(map);
        }
        ensure!(
            start.elapsed_s() < COMPANY_S as f64,
            "all memory servers are there, and no database after {COMPANY_S} s; look at what memory server 0 says"
        );
        sleep_ms(LOOK_MS);
    }
}
