//! The memory servers of a cluster, which have the tables: joined as a client that runs transactions from this process.
//!
//! Where regions are mapped (`shm`) sessions are as in a database of this process. Over a network each session has connections of its own.

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

/// How long to wait for the memory servers and the database.
const COMPANY_TIME: Duration = Duration::from_secs(10);
/// Between two looks whether the database is there.
const LOOK_MS: u64 = 10;
/// Between two looks whether the lease is lost.
const LEASE_LOOK_MS: u64 = 20;
/// How often the cluster's members are looked at.
const FOLLOW_PAUSE: Duration = Duration::from_millis(200);
/// Whoever leaves collects its garbage for so long at most.
const LEAVE_NS: u64 = 1_000_000_000;
/// The exit code of a process that may not go on, as of the program `namdb`.
const PLACE_LOST: i32 = 4;

/// Whatever may be wrong with files, registries, networks and memory servers; sentences of it are all that is wanted.
pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// A cluster that was joined.
pub(super) enum Joined {
    /// Regions are mapped.
    Mapped(Box<Mapped>),
    /// A network reaches them.
    Remote(Arc<Remote>),
}

impl Joined {
    /// Joins the cluster of a file, to call the procedures of a folder.
    pub fn open(file: &Path, stored: &Stored) -> Result<Self, Fault> {
        let place = Place::join(ClusterFile::load(file, &[])?, stored)?;
        let network = match place.cluster.fabric {
            FabricKind::Shm => return Ok(Self::Mapped(Box::new(Mapped::open(place)?))),
            FabricKind::Tcp => Network::by_messages(&place)?,
            FabricKind::Verbs => Network::by_card(&place)?,
        };
        Ok(Self::Remote(Arc::new(Remote { network, endpoints: AtomicU64::new(0), place })))
    }
}

/// Membership, and the cluster as it was on joining. Whoever drops it leaves the cluster.
struct Place {
    cluster: ClusterFile,
    map: ClusterMap,
    /// Of each memory server, the compute server that carries out what is shipped to it, if anything is.
    owners: Vec<Option<Member>>,
    root: Root,
    epoch: Arc<AtomicU64>,
    identity: u64,
    lease: Mutex<Option<Lease>>,
    has_left: Arc<AtomicBool>,
    _follower: Follower,
}

impl Place {
    /// Waits for memory servers and database, and joins. The process ends if its lease is lost: whatever it did from then on could be taken
    /// for the work of a member that it no longer is.
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
            // A process that is a member no more does not get the right to go on from those who are.
            if map.member(identity).is_some() {
                newest.fetch_max(map.epoch, Ordering::AcqRel);
            }
        };
        let _follower = registry.follow(FOLLOW_PAUSE, note)?;
        let has_left = Arc::new(AtomicBool::new(false));
        end_with_lease(clock, has_left.clone(), cluster.lease_seconds)?;
        let (root, lease) = (opened(&root), Mutex::new(Some(lease)));
        let owners = match stored.is_shipped(root.servers.len()) {
            true => map.owners(cluster.fabric).into_iter().map(Option::<&Member>::cloned).collect(),
            false => Vec::new(),
        };
        Ok(Self { cluster, map, owners, root, epoch, identity, lease, has_left, _follower })
    }

    /// Those of [`Place::owners`], each once.
    fn peers(&self) -> impl Iterator<Item = &Member> {
        let owners = self.owners.iter().flatten().map(|owner| (owner.number, owner));
        owners.collect::<BTreeMap<u16, &Member>>().into_values()
    }

    /// The memory server whose copies of tables this process reads.
    fn nearest(&self) -> u16 {
        self.map.nearest(self.identity)
    }

    /// By what these servers are reached, as [`Place::owners`] has them.
    fn owner_nodes(&self) -> Vec<Option<NodeId>> {
        self.owners.iter().map(|owner| owner.as_ref().map(Member::node)).collect()
    }

    /// What each of these servers is told first.
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

    /// Who connects, and where to.
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

impl Drop for Place {
    fn drop(&mut self) {
        self.has_left.store(true, Ordering::Release);
        let lease = self.lease.get_mut().ok().and_then(Option::take);
        // Who cannot say good-bye is missed when the lease ends.
        lease.map(Lease::leave);
    }
}

fn wait_for_database(registry: &Registry, servers: usize) -> Result<(), Fault> {
    registry.wait_for_memory_servers(servers, COMPANY_TIME, &mut |_| {})?;
    let start = Moment::now();
    while registry.map()?.database()?.is_none() {
        if start.instant().elapsed() >= COMPANY_TIME {
            return Err(
                "all memory servers are there, and no database; look at what memory server 0 says"
                    .into(),
            );
        }
        sleep_ms(LOOK_MS);
    }
    Ok(())
}

fn end_with_lease(clock: LeaseClock, has_left: Arc<AtomicBool>, seconds: u64) -> Result<(), Fault> {
    let watch = move || {
        while !has_left.load(Ordering::Acquire) {
            if clock.left() == Some(Duration::ZERO) && !has_left.load(Ordering::Acquire) {
                tracing::error!(
                    "this process has lost its lease of {seconds} s in the cluster, and ends"
                );
                std::process::exit(PLACE_LOST);
            }
            sleep_ms(LEASE_LOOK_MS);
        }
    };
    spawn("lease watch", watch)?;
    Ok(())
}

/// What the registry says of the database, as the engine needs it.
fn opened(root: &DatabaseRoot) -> Root {
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

/// Memory servers of this host, whose regions are mapped.
pub(super) struct Mapped {
    /// The database, as if it were of this process.
    pub db: Db,
    place: Place,
}

impl Mapped {
    fn open(place: Place) -> Result<Self, Fault> {
        let hellos = place.hellos(place.map.memory_servers());
        let config = ConnectConfig::new(&place.cluster.directory, hellos);
        let peers = place.hellos(place.peers());
        let world = connect(&ConnectConfig { peers, needs_peers: false, ..config })?;
        let database = Database::open(world.endpoint(), &place.root).nearest_to(place.nearest());
        run_now(database.refresh())?;
        Ok(Self { db: Db::of(database), place })
    }

    /// Of each memory server, by what the owner of what is there is called.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        self.place.owner_nodes()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Slots that are not given back are found when the lease is gone.
        let _ = run_now(self.db.handle().leave(LEAVE_NS));
    }
}

/// Memory servers that a network reaches.
pub(super) struct Remote {
    network: Network,
    endpoints: AtomicU64,
    place: Place,
}

impl Remote {
    /// Of each memory server, by what the owner of what is there is called.
    pub fn owners(&self) -> Vec<Option<NodeId>> {
        self.place.owner_nodes()
    }
}

enum Network {
    Messages(TcpConfig, Option<TlsKeys>),
    Card(VerbsShare),
}

impl Network {
    fn by_messages(place: &Place) -> Result<Self, Fault> {
        let peers = server_addresses(place.peers(), place.cluster.fabric)?;
        let config = TcpConfig { peers, needs_peers: false, ..TcpConfig::new(place.caller()?) };
        let keys = place.cluster.tls.as_ref().map(|tls| -> Result<TlsKeys, Fault> {
            let read = |path: &Path| {
                std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
            };
            let (ca, certificate, key) = (read(&tls.ca)?, read(&tls.certificate)?, read(&tls.key)?);
            Ok(TlsKeys::from_pem(&ca, &certificate, &key)?)
        });
        Ok(Self::Messages(config, keys.transpose()?))
    }

    fn by_card(place: &Place) -> Result<Self, Fault> {
        let settings = &place.cluster.verbs;
        let (device, port) = (settings.device.clone(), settings.port);
        let choice = verbs::Choice { device, port, gid_index: settings.gid_index };
        let (caller, peers) =
            (place.caller()?, server_addresses(place.peers(), place.cluster.fabric)?);
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
pub(super) struct Seat {
    lane: Option<Lane<DynEnv>>,
    pub database: Database<DynEnv>,
    pub engine: Engine<AnyTransport>,
    /// It is left when all seats are gone.
    _remote: Arc<Remote>,
}

impl Seat {
    /// Connects this thread.
    pub fn open(remote: &Arc<Remote>) -> Result<Self, Fault> {
        let endpoint = remote.endpoints.fetch_add(1, Ordering::Relaxed);
        let engine = Engine::new(remote.network.connect(endpoint)?, Patience::default())?;
        let Place { root, .. } = &remote.place;
        let database =
            Database::open(DynEnv::new(engine.endpoint()), root).nearest_to(remote.place.nearest());
        engine.block_on(database.refresh())?;
        Ok(Self { lane: None, database, engine, _remote: remote.clone() })
    }

    /// A lane for a transaction, to be given back.
    pub fn lane(&mut self) -> Result<Lane<DynEnv>, Fault> {
        match self.lane.take() {
            Some(lane) => Ok(lane),
            None => Ok(self.engine.block_on(self.database.lane())?),
        }
    }

    /// Takes the lane back, at rest: whoever collects garbage does not wait for it.
    pub fn give_back(&mut self, mut lane: Lane<DynEnv>) {
        // One that cannot say so is not waited for longer than a transaction may take.
        let _ = self.engine.block_on(lane.rest());
        self.lane = Some(lane);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.lane = None;
        // Slots that are not given back are found when the lease is gone.
        let _ = self.engine.block_on(self.database.leave(LEAVE_NS));
    }
}
