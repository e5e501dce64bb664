//! A database with replicas that begins with what its memory servers have on disk.
//!
//! Each server joins and says what it has found. When all have, the first one decides who is
//! current and announces it in the registry: those read their images and serve, all others serve
//! with empty memory. It makes the replicas equal, waits until all have marked what they have on
//! disk as old, and publishes the root; from then on the others are servers that have returned
//! after their death, and are filled.
//!
//! Decision: docs/decisions/0356-images-of-replicas-know-who-is-current.md

use super::data::{Departure, Image, ServerData};
use super::{marking, published, replicas};
use anyhow::{Context, Result, ensure};
use durability::run_file::Run;
use fabric::{LocalEnv, identity};
use layout::NodeId;
use membership::restart::{NoStart, Start, decide};
use membership::{ClusterMap, DatabaseRoot, Lease, Opening, Registry, RegistryError};
use namdb::host::{Moment, sleep_ms};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use txn::Root;
use txn::server::ServiceCounts;

/// Between two looks at the registry.
const LOOK_MS: u64 = 20;
/// How long memory servers may take to mark their data as old.
const MARK_TIME: Duration = Duration::from_secs(30);
/// How long a server waits for the others before its database begins.
const OPENING_TIME: Duration = Duration::from_secs(10 * 60);
/// How long a server that ends waits for others that end, so that nobody goes on without it.
const END_TOGETHER: Duration = Duration::from_millis(300);

/// How the first memory server begins the database.
pub struct Reopening {
    founder: Box<replicas::Founder>,
    registry: Registry,
    opening: Option<Opening>,
    /// A new database that is not published yet, and its memory servers.
    made: Option<(Root, Vec<u64>)>,
    is_again: bool,
}

/// Why no database can begin: another attempt ends in the same way.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error(
        "{0}; bring the directories in `data` back to one run, or begin with an empty database by `namdb cluster up \
         --accept-loss`, or on several hosts move the files `image` and `opened` of all memory servers away"
    )]
    NoStart(#[from] NoStart),
    #[error(
        "memory server {0} was started again while the database began; stop all memory servers, then start them again"
    )]
    StartedAgain(u16),
}

impl Reopening {
    pub fn new(founder: Box<replicas::Founder>, registry: Registry) -> Self {
        Self { founder, registry, opening: None, made: None, is_again: false }
    }

    /// Whether there was an earlier run, as far as that is known.
    pub fn is_again(&self) -> bool {
        self.is_again
    }

    /// The root to be published, of a database that is complete. All memory servers have joined.
    ///
    /// # Errors
    /// A server does not answer, or [`Refused`].
    pub fn root(&mut self, map: &ClusterMap) -> Result<DatabaseRoot> {
        let found: Vec<_> = map.memory_servers().map(|member| member.found.clone()).collect();
        let start = decide(&found).map_err(Refused::NoStart)?;
        let opening = self.open(map, &start)?;
        let root = self.whole(map, start, &opening)?;
        let late = self.registry.await_marked(&opening, MARK_TIME)?;
        let late = map.memory_servers().filter(|member| late.contains(&member.identity));
        let late: Vec<String> = late.map(ToString::to_string).collect();
        ensure!(
            late.is_empty(),
            "{} has not marked its data as old; its log says why",
            late.join(", ")
        );
        Ok(root)
    }

    /// Creates the database, or makes that of the last run whole.
    fn whole(&mut self, map: &ClusterMap, start: Start, opening: &Opening) -> Result<DatabaseRoot> {
        let servers = opening.servers.clone();
        match start {
            Start::New => {
                let root = match self.made.take() {
                    Some((root, of)) if of == servers => root,
                    _ => self.founder.create(map)?,
                };
                self.made = Some((root.clone(), servers.clone()));
                Ok(published(&root, opening.database, servers, self.founder.cluster.replicas))
            }
            Start::Again { root, run } => {
                self.is_again = true;
                let without = root.without.iter().map(u16::to_string).collect::<Vec<_>>();
                let root = root.next_run(run, servers);
                let differing_bytes = self.founder.equalise(map, &root)?;
                let without = without.join(", ");
                tracing::info!(differing_bytes, without, "replicas compared");
                Ok(root)
            }
        }
    }

    /// Checks that a database that was published is the one that this server was about to publish.
    /// Its root may have changed since.
    ///
    /// # Errors
    /// It is another one.
    pub fn ensure_own(&self, published: &DatabaseRoot) -> Result<()> {
        let opening = self.opening.as_ref();
        ensure_ours(opening.is_some_and(|opening| opening.servers == published.servers))
    }

    /// Announces who begins with what it has.
    fn open(&mut self, map: &ClusterMap, start: &Start) -> Result<Opening> {
        let members: Vec<u64> = map.memory_servers().map(|member| member.identity).collect();
        if let Some(opening) = self.opening.as_ref().filter(|opening| opening.members == members) {
            return Ok(opening.clone());
        }
        let mut servers = members.clone();
        let (database, run) = match start {
            Start::New => (identity::draw()?, 0),
            Start::Again { root, run } => {
                for &number in &root.without {
                    servers[usize::from(number)] = identity::draw()?;
                }
                (root.id, *run)
            }
        };
        let opening = Opening::new(members, servers, database, run);
        if let Some(before) = self.registry.opening()? {
            ensure_same(&before, &opening)?;
        }
        self.registry.set_opening(&opening)?;
        self.opening = Some(opening.clone());
        Ok(opening)
    }
}

/// Servers that have followed an announcement follow no other one: their memory may have been
/// recovered meanwhile, and a server that was started again has the memory from before that.
fn ensure_same(before: &Opening, now: &Opening) -> Result<(), Refused> {
    let has_settled = |member: &u64| before.members.contains(member);
    if !now.members.iter().any(has_settled) {
        return Ok(());
    }
    for (number, member) in (0_u16..).zip(&now.members) {
        let keeps = |opening: &Opening| opening.servers.contains(member);
        if !has_settled(member) || keeps(before) != keeps(now) {
            return Err(Refused::StartedAgain(number));
        }
    }
    Ok(())
}

/// The data of a server with replicas, before and after it serves.
pub struct Replicated {
    data: Arc<ServerData>,
    image: Option<Image>,
    env: LocalEnv,
    /// Number of memory servers of the cluster.
    servers: usize,
    /// Whether the server has begun with what it had.
    keeps: bool,
}

impl Replicated {
    pub fn new(data: Arc<ServerData>, image: Option<Image>, env: LocalEnv, servers: usize) -> Self {
        Self { data, image, env, servers, keeps: false }
    }

    /// Waits until it is known whether the server's image is current, and reads it then. Returns
    /// whether the server may serve; otherwise it ends.
    pub fn settle(
        &mut self,
        services: &ServiceCounts,
        (registry, own): (&Registry, u64),
        stop: &AtomicBool,
    ) -> Result<bool> {
        let settled = await_opening((registry, own), self.servers, stop, OPENING_TIME)?;
        let Some(Settled { keeps, of }) = settled else { return Ok(false) };
        match self.image.take().filter(|_| keeps) {
            Some(image) => {
                image.restore_catalog(services)?;
                self.data.read(image, &self.env)?;
            }
            None if keeps => {}
            None => tracing::info!("the server begins with empty memory, and will be filled"),
        }
        self.keeps = keeps;
        match of {
            Some(run) => self.data.begin(run)?,
            None => marking::follow(registry, &self.data, own)?,
        }
        Ok(true)
    }

    /// Takes note of the newest root.
    pub fn note_newest(data: &ServerData, map: &ClusterMap, own: u64) {
        if let Some(root) = map.root.as_ref().filter(|root| root.has_holder(own)) {
            data.note_newest(root.clone(), map.epoch);
        }
    }

    /// Leaves the cluster, and writes what is in the server's memory if that counts. The server
    /// serves nobody any more.
    ///
    /// It leaves first: others promote replicas while it writes, and the image says whether they
    /// have gone on.
    pub fn end(&self, services: &ServiceCounts, registry: &Registry, lease: Lease) -> Result<()> {
        let own = lease.member().identity;
        // Without the registry the image says that nothing is certain.
        let _ = registry.end_together(own, END_TOGETHER);
        let departed = lease.depart();
        let Some(newest) = self.data.end_replicated() else {
            return departed.map(drop).map_err(Into::into);
        };
        // The image from before is as new as it was only if no database was ever seen.
        let mut has_run = !self.keeps || departed.is_err() || newest.is_some();
        let known = departed.as_ref().ok().map(Option::as_ref);
        if let Some(departure) = departure(known, newest, own) {
            has_run = true;
            if departure.root.has_all(own) {
                self.data.write_replicated(&self.env, services, &departure)?;
            }
        }
        self.data.finish_replicated(has_run)?;
        departed.map(drop).context("the server has not left in order")
    }
}

/// The database whose memory a server has that ends, if there is one. `departed` is the registry's
/// answer, if it gave one, and `newest` what the server has seen before.
fn departure(
    departed: Option<Option<&(DatabaseRoot, u64)>>,
    newest: Option<(DatabaseRoot, u64)>,
    identity: u64,
) -> Option<Departure> {
    let is_other = |root: &DatabaseRoot| {
        newest.as_ref().is_some_and(|(newest, _)| newest.servers != root.servers)
    };
    let answer = departed.flatten().filter(|(root, _)| !is_other(root)).cloned();
    // A registry that has lost the database says nothing about it.
    let (is_certain, found) = (answer.is_some(), answer.or(newest));
    let (root, epoch) = found.filter(|(root, _)| root.has_holder(identity))?;
    Some(Departure { root, epoch, identity, is_certain })
}

/// The way in which a server begins.
struct Settled {
    /// With what it has.
    keeps: bool,
    /// The run of the database that was there already.
    of: Option<Run>,
}

/// Waits at most for `patience` for the announcement whether the server begins with what it has;
/// `None` if it ends.
fn await_opening(
    (registry, own): (&Registry, u64),
    servers: usize,
    stop: &AtomicBool,
    patience: Duration,
) -> Result<Option<Settled>> {
    let began = Moment::now();
    while !stop.load(Relaxed) {
        let map = registry.map();
        if let Ok(map) = &map {
            if map.member(own).is_none() {
                return Ok(None);
            }
            if let Ok(Some(root)) = map.database() {
                let run = Run { database: root.id, number: root.run };
                return Ok(Some(Settled { keeps: root.servers.contains(&own), of: Some(run) }));
            }
            if let Ok(Some(opening)) = registry.opening()
                && opening.members.contains(&own)
            {
                return Ok(Some(Settled { keeps: opening.servers.contains(&own), of: None }));
            }
        }
        ensure!(
            began.instant().elapsed() < patience,
            "the database has not begun for {} s: {}; what this memory server has on disk is as it was",
            patience.as_secs(),
            why_it_waits(map.as_ref(), servers)
        );
        sleep_ms(LOOK_MS);
    }
    Ok(None)
}

/// Why no database has begun yet, and what to do.
fn why_it_waits(map: Result<&ClusterMap, &RegistryError>, servers: usize) -> String {
    let map = match map {
        Ok(map) => map,
        Err(error) => return error.to_string(),
    };
    if let Err(lost) = map.database() {
        return format!("{lost}; stop all memory servers, then start them again");
    }
    let is_missing = |number: &u16| map.memory_server(NodeId(*number)).is_none();
    let missing: Vec<String> =
        (0..servers as u16).filter(is_missing).map(|number| number.to_string()).collect();
    match missing.is_empty() {
        true => "memory server 0 has not said who begins with what; stop all memory servers, then start them again"
            .to_owned(),
        false => format!("number {} has not joined; start all memory servers", missing.join(", ")),
    }
}

/// Checks that the published database is our own.
pub fn ensure_ours(is_ours: bool) -> Result<()> {
    ensure!(
        is_ours,
        "the registry names a database that this memory server has not created; stop all memory servers, then start \
         them again"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::{Addresses, ClusterFile, FabricKind, Member};

    #[test]
    fn who_has_followed_an_announcement_follows_no_other() {
        let opening = |members: &[u64], servers: &[u64]| {
            Opening::new(members.to_vec(), servers.to_vec(), 7, 4)
        };
        let before = opening(&[1, 2, 3], &[1, 90, 3]);
        let is_same = |now: Opening| ensure_same(&before, &now).is_ok();
        assert!(is_same(opening(&[1, 2, 3], &[1, 91, 3])));
        assert!(!is_same(opening(&[1, 2, 3], &[1, 2, 3])), "server 1 has empty memory");
        assert!(!is_same(opening(&[1, 2, 3], &[1, 91, 92])), "server 2 has read its image");
        for servers in [[4, 91, 3], [92, 91, 3]] {
            assert!(!is_same(opening(&[4, 2, 3], &servers)), "server 2 may be recovered");
        }
        assert!(is_same(opening(&[4, 5, 6], &[4, 5, 6])), "nobody is left");
    }

    #[test]
    fn who_waits_for_others_in_vain_ends_and_says_for_whom() {
        let folder = std::env::temp_dir().join(format!("namdb-waits-{}", std::process::id()));
        let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24; 3], 0);
        cluster.directory.clone_from(&folder);
        let registry = Registry::open(&cluster).expect("it is a folder");
        let join = |number| {
            let member = Member::memory_server(NodeId(number), 1 << 24, Addresses::default());
            registry.join(member, Duration::ZERO).expect("the number is free")
        };
        let [zero, one] = [join(0), join(1)];
        let never = AtomicBool::new(false);
        let wait = |own| await_opening((&registry, own), 3, &never, Duration::from_millis(50));
        let own = one.member().identity;
        let refused = wait(own).map(drop).expect_err("one is missing").to_string();
        assert!(refused.contains("number 2 has not joined"), "{refused}");
        let two = join(2);
        let refused = wait(own).map(drop).expect_err("nobody announces").to_string();
        assert!(refused.contains("memory server 0 has not said"), "{refused}");
        let members: Vec<u64> = [&zero, &one, &two].map(|lease| lease.member().identity).into();
        let opening = Opening::new(members.clone(), members, 7, 4);
        registry.set_opening(&opening).expect("it answers");
        let settled = wait(own).expect("it is announced").expect("it is a member");
        assert!(settled.keeps && settled.of.is_none());
        one.leave().expect("it may leave");
        assert!(wait(own).expect("it is no error").is_none(), "it is no member");
        drop((zero, two));
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn a_registry_without_the_database_does_not_make_memory_worthless() {
        let root = DatabaseRoot {
            oracle: layout::GlobalPtr::new(layout::RegionId(0), 4096),
            slots: 8,
            snapshots: membership::OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers: vec![10, 11],
            replicas: 2,
            promoted: Default::default(),
            returned: Default::default(),
            id: 7,
            run: 3,
            without: Default::default(),
        };
        let (own, newest) = (10, Some((root.clone(), 7)));
        let later = (DatabaseRoot { without: [1].into(), ..root.clone() }, 9);
        let of = |(root, epoch): &(DatabaseRoot, u64), is_certain| {
            Some(Departure { root: root.clone(), epoch: *epoch, identity: own, is_certain })
        };
        assert_eq!(departure(Some(Some(&later)), newest.clone(), own), of(&later, true));
        assert_eq!(departure(Some(Some(&later)), None, own), of(&later, true));
        let other = (DatabaseRoot { servers: vec![20, 21], ..root.clone() }, 2);
        for answer in [None, Some(None), Some(Some(&other))] {
            let seen = newest.as_ref().expect("it was set");
            assert_eq!(departure(answer, newest.clone(), own), of(seen, false), "{answer:?}");
            assert_eq!(departure(answer, None, own), None, "it has seen no database");
        }
        // Another server has taken its place.
        let replaced = membership::Returned { identity: 15, stage: membership::FillStage::Whole };
        let replaced = (DatabaseRoot { returned: [(0, replaced)].into(), ..root }, 9);
        assert_eq!(departure(Some(Some(&replaced)), newest, own), None);
    }
}
