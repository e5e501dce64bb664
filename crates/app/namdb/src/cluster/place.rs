//! Membership of this process in a cluster.

use super::{Fault, Regions, root_of};
use crate::database::Db;
use crate::host::{self, sleep_ms, spawn};
use fabric::identity::Hello;
use fabric::shm::{ConnectConfig, connect};
use fabric::{Caller, Secret, run_now};
use membership::detector::Input;
use membership::{
    ClusterFile, ClusterMap, DatabaseRoot, Detector, Eviction, FabricKind, Follower, Lease,
    LeaseClock, Member, Registry, Role, server_addresses,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use txn::{Database, Root};

/// How long to wait for the registry, the memory servers and the database.
const START_TIME: Duration = Duration::from_secs(5);
/// Between two looks whether the lease is lost.
const LEASE_LOOK_MS: u64 = 20;
/// Between two looks at the cluster's members.
const FOLLOW_PAUSE: Duration = Duration::from_millis(200);
/// Number of registry reads after an unreachable memory server, with a pause between two: a process
/// that dies closes its connections a moment before its lease ends.
const LOSS_LOOKS: u32 = 4;
const LOSS_LOOK_MS: u64 = 100;
/// The exit code of a process that has lost its lease, as of the program `namdb`.
const LEASE_LOST_EXIT_CODE: i32 = 4;

/// Membership, and the cluster as it was on joining. The process leaves when this is dropped.
pub(crate) struct Place {
    pub cluster: ClusterFile,
    pub map: ClusterMap,
    /// For each memory server, the compute server that executes operations shipped to it, if any.
    owners: Vec<Option<Member>>,
    pub root: Root,
    pub regions: Regions,
    secret: Secret,
    epoch: Arc<AtomicU64>,
    identity: u64,
    lease: Option<Lease>,
    has_left: Arc<AtomicBool>,
    registry: Registry,
    standing: Arc<Standing>,
    _follower: Follower,
    /// Sends heartbeats until the process has left.
    _detector: Detector,
}

impl Place {
    /// Waits until the memory servers and the database are there, then joins.
    pub fn join(
        cluster: ClusterFile,
        is_shipped: impl FnOnce(usize) -> bool,
    ) -> Result<Self, Fault> {
        let secret = cluster.read_secret()?;
        let registry = Registry::await_open(&cluster, START_TIME)?;
        registry.wait_for_database(cluster.memory.len(), START_TIME)?;
        let lease = registry.join(Member::client(), Duration::ZERO)?;
        let (identity, clock) = (lease.member().identity, lease.clock());
        let map = registry.map()?;
        let database = map.database()?.ok_or("the database is gone")?.clone();
        let epoch = Arc::new(AtomicU64::new(map.epoch));
        let standing = Arc::new(Standing::new(&cluster, identity, database.clone()));
        let _detector = Detector::start(&cluster, &secret, &registry, &lease, (None, &map))?;
        let regions = Regions::new(&database, &map).of_member(&registry, identity)?;
        let follow_all = Follow {
            epoch: epoch.clone(),
            detector: _detector.input(),
            standing: standing.clone(),
            regions: regions.clone(),
        };
        let _follower = follow(&registry, follow_all)?;
        _detector.wake(_follower.waker());
        let has_left = Arc::<AtomicBool>::default();
        watch_lease(clock, has_left.clone(), standing.clone())?;
        let owners = match is_shipped(database.servers.len()) {
            true => map.owners(cluster.fabric).into_iter().map(Option::<&Member>::cloned).collect(),
            false => Vec::new(),
        };
        let (root, lease) = (root_of(&database), Some(lease));
        Ok(Self {
            cluster,
            map,
            owners,
            root,
            regions,
            secret,
            epoch,
            identity,
            lease,
            has_left,
            registry,
            standing,
            _follower,
            _detector,
        })
    }

    pub fn fabric(&self) -> FabricKind {
        self.cluster.fabric
    }

    /// Maps the regions of memory servers on this host, for this number of lanes.
    pub fn map_regions(self, lanes: u32) -> Result<Db, Fault> {
        let hellos = self.hellos(self.map.memory_servers());
        let config = ConnectConfig::new(&self.cluster.directory, self.secret.clone(), hellos);
        let peers = self.hellos(self.peers());
        let world = connect(&ConnectConfig { peers, needs_peers: false, ..config })?;
        let database = Database::open(world.endpoint(), &self.root)
            .as_member(self.identity)
            .nearest_to(self.nearest());
        run_now(database.refresh())?;
        Ok(Db::mapped(database, lanes, self))
    }

    /// Whether the database goes on after the death of a memory server.
    pub fn has_replicas(&self) -> bool {
        self.standing.database.replicas > 1 && self.trouble().is_none()
    }

    /// Why this process can run no further transaction, if it cannot.
    #[inline]
    pub fn trouble(&self) -> Option<&str> {
        self.standing.trouble.get().map(String::as_str)
    }

    /// As [`Place::trouble`], after an operation has not reached a memory server: asks the registry
    /// instead of waiting for the next look.
    pub fn trouble_after_unreachable(&self) -> Option<&str> {
        for look in 0..LOSS_LOOKS {
            if look > 0 {
                sleep_ms(LOSS_LOOK_MS);
            }
            if let Ok(map) = self.registry.map() {
                self.standing.note(&map);
            }
            if self.trouble().is_some() {
                break;
            }
        }
        self.trouble()
    }

    /// The compute servers that execute shipped operations, each once.
    pub fn peers(&self) -> impl Iterator<Item = &Member> {
        let owners = self.owners.iter().flatten().map(|owner| (owner.number, owner));
        owners.collect::<BTreeMap<u16, &Member>>().into_values()
    }

    /// Their nodes, one for each memory server; empty if nothing is shipped.
    #[cfg(feature = "procedures")]
    pub fn owner_nodes(&self) -> Vec<Option<layout::NodeId>> {
        self.owners.iter().map(|owner| owner.as_ref().map(Member::node)).collect()
    }

    /// This process among the members.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The memory server whose copies of tables this process reads.
    pub fn nearest(&self) -> u16 {
        self.map.nearest(self.identity)
    }

    /// Bytes of the smallest memory server.
    pub fn server_bytes(&self) -> u64 {
        let bytes = |member: &Member| match member.role {
            Role::Memory { region_bytes, .. } => Some(region_bytes),
            Role::Compute => None,
        };
        self.map.memory_servers().filter_map(bytes).min().unwrap_or_default()
    }

    /// The memory servers of the database that lived when this process joined. A server that was
    /// started again is one of them when it has the place of the one before.
    fn living_servers(&self) -> impl Iterator<Item = &Member> {
        let servers = self.map.memory_servers();
        servers.filter(|server| self.standing.database.has_holder(server.identity))
    }

    /// The first message to each of these servers.
    fn hellos<'a>(&self, servers: impl Iterator<Item = &'a Member>) -> Vec<Hello> {
        let (cluster, epoch) = (self.cluster.id, self.epoch.load(Ordering::Acquire));
        let program = env!("CARGO_PKG_VERSION");
        servers.map(|member| member.hello(cluster, epoch, self.identity, 0, program)).collect()
    }

    /// This process and the addresses of the memory servers, for a network.
    pub fn caller(&self) -> Result<Caller, Fault> {
        Ok(Caller {
            servers: server_addresses(self.living_servers(), self.cluster.fabric)?,
            cluster: self.cluster.id.0,
            secret: self.secret.clone(),
            epoch: self.epoch.clone(),
            identity: self.identity,
            endpoint: 0,
            program: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.has_left.store(true, Ordering::Release);
        self.regions.end();
        // If the registry is unreachable, the others notice the end of the lease.
        let _ = self.lease.take().map(Lease::leave);
    }
}

/// Whether this process can still run transactions.
struct Standing {
    identity: u64,
    database: DatabaseRoot,
    is_mapped: bool,
    lease_lost: String,
    /// Why it cannot. Once set it stays.
    trouble: OnceLock<String>,
}

impl Standing {
    fn new(cluster: &ClusterFile, identity: u64, database: DatabaseRoot) -> Self {
        let lease_lost = format!(
            "this process has lost its lease of {} s in cluster {}: it did not reach the registry in time; connect again",
            cluster.lease_seconds, cluster.name
        );
        let (is_mapped, trouble) = (cluster.fabric == FabricKind::Shm, OnceLock::new());
        Self { identity, database, is_mapped, lease_lost, trouble }
    }

    /// Takes note of the members; returns whether this process is one.
    fn note(&self, map: &ClusterMap) -> bool {
        let is_member = map.member(self.identity).is_some();
        if !is_member {
            let _ = self.trouble.set(self.why_lost(map.eviction(self.identity)));
        } else if let Err(loss) = map.ensure_whole(&self.database) {
            let _ = self.trouble.set(loss.to_string());
        }
        is_member
    }

    /// The lease is lost. Operations after its end could be mistaken for those of a later member.
    /// Over a network memory servers refuse them, and sessions report the loss. Mapped memory
    /// cannot be taken back, so the process ends.
    fn lose_lease(&self, eviction: Option<&Eviction>) {
        let why = self.why_lost(eviction);
        tracing::error!("{why}");
        if self.is_mapped {
            host::exit_with(&why, LEASE_LOST_EXIT_CODE);
        }
        let _ = self.trouble.set(why);
    }

    fn why_lost(&self, eviction: Option<&Eviction>) -> String {
        match eviction {
            Some(eviction) => format!(
                "{eviction}: it was suspended, or its host was overloaded or cut off; connect again"
            ),
            None => self.lease_lost.clone(),
        }
    }
}

/// The parts of a process that follow the cluster.
struct Follow {
    epoch: Arc<AtomicU64>,
    detector: Input,
    standing: Arc<Standing>,
    regions: Regions,
}

/// Follows the cluster: its epoch, its members, and the places of its regions.
fn follow(registry: &Registry, follow: Follow) -> std::io::Result<Follower> {
    let Follow { epoch, detector, standing, regions } = follow;
    registry.follow(FOLLOW_PAUSE, move |map| {
        detector.note(map);
        regions.note(map);
        // A former member must not learn the epoch with which memory servers would accept it.
        if standing.note(map) {
            epoch.fetch_max(map.epoch, Ordering::AcqRel);
        }
    })
}

/// Watches the lease until the process leaves.
fn watch_lease(
    clock: LeaseClock,
    has_left: Arc<AtomicBool>,
    standing: Arc<Standing>,
) -> std::io::Result<()> {
    let watch = move || {
        while !has_left.load(Ordering::Acquire) {
            // A process that leaves lets its lease end.
            if clock.left() == Some(Duration::ZERO) && !has_left.load(Ordering::Acquire) {
                return standing.lose_lease(clock.eviction());
            }
            sleep_ms(LEASE_LOOK_MS);
        }
    };
    spawn("namdb-lease", watch).map(drop)
}
