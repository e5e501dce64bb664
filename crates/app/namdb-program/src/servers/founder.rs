//! Creates the database on the empty regions, or takes over the one that they have from images, and
//! publishes its root.
//!
//! Decisions:
//! - docs/decisions/0092-the-first-memory-server-creates-the-database.md
//! - docs/decisions/0105-a-caller-creates-the-database-over-rdma.md

use super::data::ServerData;
use super::reopening::{Refused, Reopening, ensure_ours};
use super::{all_servers, published, replicas, verbs};
use anyhow::{Context, Result};
use fabric::{LocalWorld, run_now};
use membership::{ClusterFile, ClusterMap, DatabaseRoot, Registry};
use namdb::host::{Moment, sleep_ms, spawn};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use txn::{Database, Root};

/// Wait for the other memory servers before a warning is logged.
const JOIN_WAIT_MAX: Duration = Duration::from_secs(60);
/// Interval between attempts.
const RETRY_TIME: Duration = Duration::from_secs(1);
/// Interval at which the server checks whether it must stop.
const POLL_MS: u64 = 20;

/// How the first memory server creates the database.
pub enum Founder {
    /// With this process's processor.
    Here(Arc<LocalWorld>),
    /// As a caller of the memory servers, because their regions have replicas.
    ByMessages(Box<replicas::Founder>),
    /// As a caller through the RDMA card.
    ByRdma(Box<verbs::Founder>),
}

/// The data of the first memory server, where the cluster keeps data.
#[derive(Clone, Default)]
pub struct Kept {
    pub data: Option<Arc<ServerData>>,
    /// The root of the database whose image the server has read.
    pub restored: Option<DatabaseRoot>,
    /// Why the images of the memory servers are no database, once that is known.
    pub mismatch: Arc<OnceLock<String>>,
}

/// Creates the database and publishes it once all memory servers have joined, however long that
/// takes, until `stop` is set. If the images of the memory servers are not of one database, sets
/// `stop` itself.
pub fn found(
    founder: Founder,
    cluster: &ClusterFile,
    registry: &Registry,
    stop: &'static AtomicBool,
    kept: Kept,
) -> Result<()> {
    let servers = cluster.memory.len();
    let mut reopening = None;
    let make: Make = match founder {
        Founder::ByMessages(founder) if kept.data.is_some() => {
            reopening = Some(Reopening::new(founder, registry.clone()));
            Box::new(|_| anyhow::bail!("a database with data on disk is reopened"))
        }
        _ if kept.restored.is_some() => {
            let root = kept.restored.as_ref().map(namdb::root_of).expect("it was just looked at");
            Box::new(move |_| Ok(root.clone()))
        }
        Founder::Here(world) => {
            let config = namdb::database_config(cluster.oracle, cluster.transaction_time_ms);
            let nodes = all_servers(servers);
            let database = run_now(Database::create(world.endpoint(), nodes, config));
            let root = database.context("cannot create the database")?.root();
            Box::new(move |_| Ok(root.clone()))
        }
        Founder::ByMessages(founder) => Box::new(move |map| founder.create(map)),
        Founder::ByRdma(founder) => Box::new(move |map| founder.create(map)),
    };
    let (replicas, registry) = (cluster.replicas, registry.clone());
    let mut founding = Founding { make, made: None, servers, replicas, registry, kept, reopening };
    let work = move || founding.announce_until(stop, JOIN_WAIT_MAX, RETRY_TIME);
    spawn("founder", work).context("no thread can be started")?;
    Ok(())
}

/// Creates the database when all memory servers have joined.
type Make = Box<dyn FnMut(&ClusterMap) -> Result<Root> + Send>;

/// A database that is not published yet.
struct Founding {
    make: Make,
    /// The created database and the identities of its memory servers.
    made: Option<(Root, Vec<u64>)>,
    /// Number of memory servers that the cluster will have.
    servers: usize,
    /// Places of each region.
    replicas: u16,
    registry: Registry,
    kept: Kept,
    /// With replicas and data on disk.
    reopening: Option<Reopening>,
}

impl Founding {
    /// Retries until it succeeds: a memory server may be late, and the registry may be unreachable
    /// for a while.
    fn announce_until(&mut self, stop: &AtomicBool, join_wait: Duration, retry: Duration) {
        while !stop.load(Relaxed) {
            match self.announce(join_wait) {
                Ok(()) => {
                    match self.is_again() {
                        true => tracing::info!("database opened with the data of its last run"),
                        false => tracing::info!("database created"),
                    }
                    return;
                }
                Err(_) if self.kept.mismatch.get().is_some() => stop.store(true, Relaxed),
                Err(error) => {
                    tracing::warn!("the database is not created yet; retrying: {error:#}")
                }
            }
            let start = Moment::now();
            while start.instant().elapsed() < retry && !stop.load(Relaxed) {
                sleep_ms(POLL_MS);
            }
        }
    }

    /// Whether the database has the data of an earlier run.
    fn is_again(&self) -> bool {
        self.kept.restored.is_some() || self.reopening.as_ref().is_some_and(Reopening::is_again)
    }

    /// Publishes the database's root once all memory servers have joined.
    fn announce(&mut self, join_wait: Duration) -> Result<()> {
        let map = self.registry.wait_for_memory_servers(self.servers, join_wait, &mut |_| {})?;
        let identities: Vec<u64> = map.memory_servers().map(|member| member.identity).collect();
        // Fails if a part of an earlier database is still in use.
        let published_before = map.database()?;
        if let Some(reopening) = &mut self.reopening {
            // The answer to the last attempt was lost: programs use the database by now.
            if let Some(root) = published_before {
                return reopening.ensure_own(root);
            }
            let ours = reopening.root(&map).inspect_err(|error| {
                if let Some(refused) = error.downcast_ref::<Refused>() {
                    let _ = self.kept.mismatch.set(refused.to_string());
                }
            })?;
            return reopening.ensure_own(&self.registry.set_root(&ours)?);
        }
        self.ensure_one_database(&map)?;
        let root = match self.made.take() {
            Some((root, servers)) if servers == identities => root,
            _ => (self.make)(&map)?,
        };
        // Only images of servers with replicas tell the databases apart; others tell the runs.
        let ours = published(&root, 0, identities.clone(), self.replicas);
        self.made = Some((root, identities));
        let set_root = || Ok(self.registry.set_root(&ours)?);
        let announced = match &self.kept.data {
            Some(data) => data.publish(&ours, set_root)?,
            None => set_root()?,
        };
        ensure_ours(announced == ours)
    }

    /// Checks that either all memory servers have the contents of one database from their images,
    /// or none has any.
    fn ensure_one_database(&self, map: &ClusterMap) -> Result<()> {
        let life = self.kept.restored.as_ref().and_then(DatabaseRoot::life);
        let Some(other) = map.memory_servers().find(|member| member.restored() != life) else {
            return Ok(());
        };
        let number = other.number;
        let has = match (life, other.restored()) {
            (Some(_), None) => {
                format!("memory server 0 has data, and memory server {number} has none")
            }
            (None, Some(_)) => {
                format!("memory server {number} has data, and memory server 0 has none")
            }
            _ => {
                format!("memory servers 0 and {number} have data of different runs of the database")
            }
        };
        let sentence = format!(
            "{has}: bring the directories in `data` back to one run, or begin with an empty database by `namdb \
             cluster up --accept-loss`"
        );
        let _ = self.kept.mismatch.set(sentence.clone());
        anyhow::bail!(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{GlobalPtr, NodeId, RegionId};
    use membership::{Addresses, FabricKind, Lease, Member, OracleKind};
    use std::sync::atomic::AtomicU32;

    /// A registry in its own folder.
    struct World {
        registry: Registry,
        folder: std::path::PathBuf,
    }

    impl World {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("namdb-{name}-{}", std::process::id()));
            let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24; 2], 0);
            cluster.directory.clone_from(&folder);
            Self { registry: Registry::open(&cluster).expect("it is a folder"), folder }
        }

        fn join(&self, number: u16) -> Lease {
            let member = Member::memory_server(NodeId(number), 1 << 24, Addresses::default());
            self.registry.join(member, Duration::ZERO).expect("the number is free")
        }

        /// A database whose root is at `offset`, with the number of times it was created.
        fn founding(&self, offset: u64) -> (Founding, Arc<AtomicU32>) {
            let made = Arc::<AtomicU32>::default();
            let times = made.clone();
            let root = Root {
                oracle: GlobalPtr::new(RegionId(0), offset),
                slots: 64,
                copies: Vec::new(),
                servers: all_servers(2),
                config: namdb::database_config(OracleKind::DoubleCollect, 1000),
            };
            let make = Box::new(move |_: &ClusterMap| {
                times.fetch_add(1, Relaxed);
                Ok(root.clone())
            });
            let registry = self.registry.clone();
            let kept = Kept::default();
            (
                Founding {
                    make,
                    made: None,
                    servers: 2,
                    replicas: 1,
                    registry,
                    kept,
                    reopening: None,
                },
                made,
            )
        }

        fn begins_at(&self) -> Option<GlobalPtr> {
            let map = self.registry.map().expect("it answers");
            map.database().ok().flatten().map(|root| root.oracle)
        }
    }

    impl Drop for World {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_memory_server_that_is_late_is_waited_for() {
        let world = World::new("late");
        let _zero = world.join(0);
        let (mut founding, made) = world.founding(4096);
        let refused = founding.announce(SHORT).expect_err("one is missing").to_string();
        assert!(refused.contains("there are 1 of 2 memory servers, without number 1"), "{refused}");
        let never = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                sleep_ms(200);
                world.join(1)
            });
            founding.announce_until(&never, SHORT, SHORT);
            late.join().expect("it joins").leave().expect("it may leave");
        });
        assert_eq!(made.load(Relaxed), 1);
    }

    #[test]
    fn who_is_told_to_stop_tries_no_more() {
        let world = World::new("stopped");
        let (mut founding, made) = world.founding(4096);
        founding.announce_until(&AtomicBool::new(true), SHORT, SHORT);
        assert_eq!((made.load(Relaxed), world.begins_at()), (0, None));
    }

    #[test]
    fn an_answer_that_was_lost_is_no_other_database_and_anothers_is() {
        let world = World::new("twice");
        let leases = [world.join(0), world.join(1)];
        let (mut founding, made) = world.founding(4096);
        for _ in 0..2 {
            founding.announce(SHORT).expect("it is ours");
        }
        assert_eq!((made.load(Relaxed), world.begins_at().map(GlobalPtr::offset)), (1, Some(4096)));
        let (mut other, _) = world.founding(8192);
        let refused = other.announce(SHORT).expect_err("it is not theirs").to_string();
        assert!(refused.contains("has not created"), "{refused}");
        let [zero, one] = leases;
        zero.leave().expect("it may leave");
        let _successor = world.join(0);
        let refused = other.announce(SHORT).expect_err("one part lives").to_string();
        assert!(refused.contains("the database is lost with memory server 0"), "{refused}");
        one.leave().expect("it may leave");
        let _successor = world.join(1);
        other.announce(SHORT).expect("nothing is left of the earlier one");
        assert_eq!(world.begins_at().map(GlobalPtr::offset), Some(8192));
    }
}
