//! Joins a cluster whose memory servers have the tables, as a client that runs transactions from
//! this process.
//!
//! With mapped regions (`shm`), sessions work as in an in-process database. Over a network, each
//! session has its own connections.

use crate::Oracle;
use crate::database::Db;
use crate::host::{Moment, sleep_ms, spawn};
use fabric::DynEnv;
use fabric::identity::Hello;
use fabric::patience::Patience;
use fabric::remote::{AnyTransport, Engine};
use fabric::shm::{ConnectConfig, connect};
use fabric::tcp::{TcpConfig, TcpTransport, TlsKeys};
use fabric::verbs::{self, VerbsConfig, VerbsShare};
use fabric::{Caller, run_now};
use folder_benchmark::Stored;
use layout::NodeId;
use membership::cluster_file::OracleKind;
use membership::{
    ClusterFile, ClusterMap, DatabaseRoot, FabricKind, Follower, Lease, LeaseClock, Member,
    Registry, server_addresses,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use txn::{Database, DatabaseConfig, Lane, Root};

/// Maximal wait for the memory servers and the database.
const JOIN_WAIT_MAX: Duration = Duration::from_secs(10);
/// Interval at which the registry is polled for the database.
const DATABASE_POLL_MS: u64 = 10;
/// Interval at which the lease is checked.
const LEASE_POLL_MS: u64 = 20;
/// Interval at which the cluster's members are read.
const MEMBERS_POLL: Duration = Duration::from_millis(200);
/// Maximal time for collecting this process's garbage when it leaves.
const LEAVE_NS: u64 = 1_000_000_000;
/// Exit code of a process that has lost its lease; the program `namdb` uses the same.
const LEASE_LOST_EXIT_CODE: i32 = 4;

/// An error of a file, the registry, the network or a memory server. The caller only needs its
/// text.
pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// A cluster that this process has joined, by the way it reaches memory.
pub(super) enum Joined {
    /// The regions are mapped into this process.
    Mapped(Box<Mapped>),
    /// The regions are reached over a network.
    Remote(Arc<Remote>),
}

impl Joined {
    /// Joins the cluster of this file in order to call the procedures of a folder.
    pub fn open(file: &Path, stored: &Stored) -> Result<Self, Fault> {
        let membership = Membership::join(ClusterFile::load(file, &[])?, stored)?;
        let network = match membership.cluster.fabric {
            FabricKind::Shm => return Ok(Self::Mapped(Box::new(Mapped::open(membership)?))),
            FabricKind::Tcp => Network::by_messages(&membership)?,
            FabricKind::Verbs => Network::by_card(&membership)?,
        };
        Ok(Self::Remote(Arc::new(Remote { network, endpoints: AtomicU64::new(0), membership })))
    }
}

/// Membership in the cluster, and the cluster's state at the time of joining. Dropping it leaves
/// the cluster.
struct Membership {
    cluster: ClusterFile,
    map: ClusterMap,
    /// Per memory server, the compute server that executes calls shipped to it; `None` if none
    /// does.
    owners: Vec<Option<Member>>,
    root: Root,
    epoch: Arc<AtomicU64>,
    identity: u64,
    lease: Mutex<Option<Lease>>,
    has_left: Arc<AtomicBool>,
    _follower: Follower,
}

impl Membership {
    /// Waits for memory servers and database, and joins. If the lease is lost, the process exits:
    /// the cluster no longer counts it as a member, and others may reuse what it owns.
    fn join(cluster: ClusterFile, stored: &Stored) -> Result<Self, Fault> {
        let registry = Registry::open(&cluster)?;
        wait_for_database(&registry, cluster.memory.len())?;
        let lease = registry.join(Member::client(), Duration::ZERO)?;
        let (identity, clock) = (lease.member().identity, lease.clock());
        let map = registry.map()?;
        let root = map.database()?.ok_or("the database is gone")?.clone();
        let epoch = Arc::new(AtomicU64::new(map.epoch));
        let newest = epoch.clone();
        let note = move |map: &ClusterMap| {
            // A process that is no longer a member must not continue under the members' new epoch.
            if map.member(identity).is_some() {
                newest.fetch_max(map.epoch, Ordering::AcqRel);
            }
        };
        let _follower = registry.follow(MEMBERS_POLL, note)?;
        let has_left = Arc::new(AtomicBool::new(false));
        exit_when_lease_ends(clock, has_left.clone(), cluster.lease_seconds)?;
        let (root, lease) = (engine_root(&root), Mutex::new(Some(lease)));
        let owners = match stored.is_shipped(root.servers.len()) {
            true => map.owners(cluster.fabric).into_iter().map(Option::<&Member>::cloned).collect(),
            false => Vec::new(),
        };
        Ok(Self { cluster, map, owners, root, epoch, identity, lease, has_left, _follower })
    }

    /// The compute servers in `owners`, without duplicates.
    fn peers(&self) -> impl Iterator<Item = &Member> {
        let owners = self.owners.iter().flatten().map(|owner| (owner.number, owner));
        owners.collect::<BTreeMap<u16, &Member>>().into_values()
    }

    /// The memory server whose copies of tables this process reads.
    fn nearest(&self) -> u16 {
        self.map.nearest(self.identity)
    }

    /// The nodes of `owners`, in the same order.
    fn owner_nodes(&self) -> Vec<Option<NodeId>> {
        self.owners.iter().map(|owner| owner.as_ref().map(Member::node)).collect()
    }

    /// The first message to each of these servers.
    fn hellos<'a>(&self, servers: impl Iterator<Item = &'a Member>) -> Vec<Hello> {
        let hello = |member: &Member| Hello {
            node: member.node(),
            cluster: self.cluster.id.0,
            epoch: self.epoch.load(Ordering::Acquire),
            server: member.identity,
            key: member.key(),
            caller: self.identity,
            endpoint: 0,
            process: std::process::id(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
        };
        servers.map(hello).collect()
    }

    /// Identifies this process to the servers, with the servers' addresses.
    fn caller(&self) -> Result<Caller, Fault> {
        Ok(Caller {
            servers: server_addresses(self.map.memory_servers(), self.cluster.fabric)?,
            cluster: self.cluster.id.0,
            epoch: self.epoch.clone(),
            identity: self.identity,
            endpoint: 0,
            program: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.has_left.store(true, Ordering::Release);
        let lease = self.lease.get_mut().ok().and_then(Option::take);
        // If this fails, the members notice the departure when the lease ends.
        lease.map(Lease::leave);
    }
}

fn wait_for_database(registry: &Registry, servers: usize) -> Result<(), Fault> {
    registry.wait_for_memory_servers(servers, JOIN_WAIT_MAX, &mut |_| {})?;
    let start = Moment::now();
    while registry.map()?.database()?.is_none() {
        if start.instant().elapsed() >= JOIN_WAIT_MAX {
            return Err(
                "all memory servers have joined, but memory server 0 has not created the database; look into its log"
                    .into(),
            );
        }
        sleep_ms(DATABASE_POLL_MS);
    }
    Ok(())
}

fn exit_when_lease_ends(
    clock: LeaseClock,
    has_left: Arc<AtomicBool>,
    seconds: u64,
) -> Result<(), Fault> {
    let watch = move || {
        while !has_left.load(Ordering::Acquire) {
            if clock.left() == Some(Duration::ZERO) && !has_left.load(Ordering::Acquire) {
                tracing::error!(
                    "this process has lost its lease of {seconds} s in the cluster and exits"
                );
                std::process::exit(LEASE_LOST_EXIT_CODE);
            }
            sleep_ms(LEASE_POLL_MS);
        }
    };
    spawn("lease watch", watch)?;
    Ok(())
}

/// Converts the registry's entry of the database for the engine.
fn engine_root(root: &DatabaseRoot) -> Root {
    let oracle = match root.snapshots {
        OracleKind::Frozen => Oracle::Frozen,
        OracleKind::DoubleCollect => Oracle::DoubleCollect,
    };
    Root {
        oracle: root.oracle,
        slots: root.slots,
        // The servers of a cluster start no collector.
        copies: Vec::new(),
        servers: (0..root.servers.len() as u16).map(NodeId).collect(),
        config: DatabaseConfig {
            oracle,
            transaction_time_max_ns: root.transaction_time_ms * 1_000_000,
            ..DatabaseConfig::default()
        },
    }
}

/// Memory servers of this host whose regions are mapped.
pub(super) struct Mapped {
    /// The database, used like one of this process.
    pub db: Db,
    membership: Membership,
}

impl Mapped {
    fn open(membership: Membership) -> Result<Self, Fault> {
        let hellos = membership.hellos(membership.map.memory_servers());
        let config = ConnectConfig::new(&membership.cluster.directory, hellos);
        let peers = membership.hellos(membership.peers());
        let world = connect(&ConnectConfig { peers, needs_peers: false, ..config })?;
        let database =
            Database::open(world.endpoint(), &membership.root).nearest_to(membership.nearest());
        run_now(database.refresh())?;
        Ok(Self { db: Db::of(database), membership })
    }

    /// The nodes to which calls are shipped, per memory server.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        self.membership.owner_nodes()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // If this fails, the slots are reclaimed when the lease ends.
        let _ = run_now(self.db.handle().leave(LEAVE_NS));
    }
}

/// Memory servers that are reached over a network.
pub(super) struct Remote {
    network: Network,
    endpoints: AtomicU64,
    membership: Membership,
}

impl Remote {
    /// The nodes to which calls are shipped, per memory server.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        self.membership.owner_nodes()
    }
}

enum Network {
    Messages(TcpConfig, Option<TlsKeys>),
    Card(VerbsShare),
}

impl Network {
    fn by_messages(membership: &Membership) -> Result<Self, Fault> {
        let peers = server_addresses(membership.peers(), membership.cluster.fabric)?;
        let config =
            TcpConfig { peers, needs_peers: false, ..TcpConfig::new(membership.caller()?) };
        let keys = membership.cluster.tls.as_ref().map(|tls| -> Result<TlsKeys, Fault> {
            let read = |path: &Path| {
                std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
            };
            let (ca, certificate, key) = (read(&tls.ca)?, read(&tls.certificate)?, read(&tls.key)?);
            Ok(TlsKeys::from_pem(&ca, &certificate, &key)?)
        });
        Ok(Self::Messages(config, keys.transpose()?))
    }

    fn by_card(membership: &Membership) -> Result<Self, Fault> {
        let settings = &membership.cluster.verbs;
        let (device, port) = (settings.device.clone(), settings.port);
        let choice = verbs::Choice { device, port, gid_index: settings.gid_index };
        let (caller, peers) = (
            membership.caller()?,
            server_addresses(membership.peers(), membership.cluster.fabric)?,
        );
        let config = VerbsConfig::new(verbs::Place::open(&choice)?, caller);
        let config = VerbsConfig { peers, needs_peers: false, ..config };
        Ok(Self::Card(VerbsShare::new(config, settings.queue_pairs_max)))
    }

    fn connect(&self, endpoint: u64) -> Result<AnyTransport, Fault> {
        let (config, keys) = match self {
            Self::Card(share) => return Ok(share.connect()?.into()),
            Self::Messages(config, keys) => (config, keys),
        };
        let mut config = config.clone();
        config.caller.endpoint = endpoint;
        Ok(match keys.clone() {
            None => TcpTransport::connect(config)?.into(),
            Some(keys) => TcpTransport::connect_encrypted(config, keys)?.into(),
        })
    }
}

/// A thread's connections, the engine that drives them, and its lane.
pub(super) struct RemoteSession {
    lane: Option<Lane<DynEnv>>,
    pub database: Database<DynEnv>,
    pub engine: Engine<AnyTransport>,
    /// Dropping the last reference leaves the cluster.
    _remote: Arc<Remote>,
}

impl RemoteSession {
    /// Opens this thread's connections.
    pub fn open(remote: &Arc<Remote>) -> Result<Self, Fault> {
        let endpoint = remote.endpoints.fetch_add(1, Ordering::Relaxed);
        let engine = Engine::new(remote.network.connect(endpoint)?, Patience::default())?;
        let Membership { root, .. } = &remote.membership;
        let database = Database::open(DynEnv::new(engine.endpoint()), root)
            .nearest_to(remote.membership.nearest());
        engine.block_on(database.refresh())?;
        Ok(Self { lane: None, database, engine, _remote: remote.clone() })
    }

    /// Takes the lane for one transaction.
    pub fn lane(&mut self) -> Result<Lane<DynEnv>, Fault> {
        match self.lane.take() {
            Some(lane) => Ok(lane),
            None => Ok(self.engine.block_on(self.database.lane())?),
        }
    }

    /// Returns the lane at rest, so that garbage collection does not wait for it.
    pub fn give_back(&mut self, mut lane: Lane<DynEnv>) {
        // If this fails, collection waits at most the maximal duration of a transaction.
        let _ = self.engine.block_on(lane.rest());
        self.lane = Some(lane);
    }
}

impl Drop for RemoteSession {
    fn drop(&mut self) {
        self.lane = None;
        // If this fails, the slots are reclaimed when the lease ends.
        let _ = self.engine.block_on(self.database.leave(LEAVE_NS));
    }
}
