//! A client is killed at random moments, round after round: what it has acknowledged is there, what
//! it had not is there completely or not at all, and others can write its rows at once. With
//! replicas a memory server is killed in the same moment.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

mod client;

use super::cluster::Cluster;
use client::{
    Counter, GROUP_ROWS, Rows, SHARED_ROWS, SHARES_ONE_IN, THREADS, last_numbers, start_client,
};
use fabric::verbs::{Choice, Place};
use fabric::{Batch, Fabric};
use layout::SlotId;
use layout::oracle::{LANE_OWNER, LANE_WORDS, OracleLayout};
use membership::ClusterFile;
use namdb::{Db, Isolation, RecordTable, Retry, Session, TransactionError};
use namdb_program::bench::site::{Site, SiteSession};
use namdb_program::servers::cluster_client::ClusterClient;
use namdb_program::servers::cluster_site::{self, SiteQuery};
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::io::BufReader;
use std::time::{Duration, Instant};

/// Number of kills on each fabric; the nightly run sets more.
const KILLS: &str = "NAMDB_TEST_KILLS";
/// Longest time between the kill of a client and that of a memory server.
const BETWEEN_US_MAX: u64 = 5_000;
/// Seed of the moments.
const SEED: &str = "NAMDB_TEST_KILLS_SEED";
/// Time after a kill in which all rows can be written: in the nightly run; and in an emulated
/// machine or beside the other tests of the gate, whose servers poll.
const WRITABLE: Duration = Duration::from_secs(3);
const WRITABLE_IN_A_CROWD: Duration = Duration::from_secs(30);
/// Time after a kill in which all its locks are gone and its slots free.
const RECOVERED: Duration = Duration::from_secs(30);

/// A fabric, and the clients' work over it.
#[derive(Clone, Copy)]
struct Network {
    fabric: &'static str,
    /// Of its clusters, as `cluster up` takes them.
    options: &'static str,
    /// Number of kills before a new cluster. Each client leaves memory behind: what its lanes had
    /// taken and not used. With replicas, all but one of a region's memory servers may die.
    kills_of_a_cluster: u64,
    /// Whether a memory server dies in each round, too.
    kills_servers: bool,
    /// Number of kills, unless the environment says otherwise.
    kills: u64,
    rows: Rows,
    /// Longest life of a client behind its first commit.
    life_ms_max: u64,
}

const SHM: Network = Network {
    fabric: "shm",
    options: "--memory 128M --memory-servers 2",
    kills_of_a_cluster: 25,
    kills_servers: false,
    kills: 6,
    rows: Rows { groups: 16 },
    life_ms_max: 400,
};
const TCP: Network = Network { fabric: "tcp", ..SHM };
const REPLICATED: Network = Network {
    options: "--memory 32M --memory-servers 3 --replicas 3",
    kills_of_a_cluster: 2,
    kills_servers: true,
    kills: 4,
    ..TCP
};
/// An emulated device is a thousand times slower than a real one.
const VERBS: Network =
    Network { fabric: "verbs", kills: 3, rows: Rows { groups: 3 }, life_ms_max: 2_000, ..SHM };

/// The owner of the slots of short visits.
const NAMELESS: u64 = 1;

/// The time that this run allows.
fn writable() -> Duration {
    if std::env::var_os(KILLS).is_some() { WRITABLE } else { WRITABLE_IN_A_CROWD }
}

/// The clients of one cluster, one after another.
struct Rounds {
    _db: Db,
    table: RecordTable<Counter>,
    network: Network,
    session: Session,
    /// The last acknowledged number of each thread.
    acknowledged: [i64; THREADS as usize],
    dice: u64,
    told: Figures,
    /// The memory servers that live.
    servers: Vec<Pid>,
    /// Dropped after the members of it that are here.
    cluster: Cluster,
}

/// The results of the rounds.
#[derive(Debug, Default)]
struct Figures {
    rounds: u64,
    acknowledged: i64,
    /// Transactions that have committed although the client did not say so.
    unacknowledged: i64,
    /// Writes of the survivor whose outcome is unknown.
    unknown: u64,
    longest_wait: Duration,
    waits: Duration,
}

impl Rounds {
    fn start(network: Network, dice: u64) -> Self {
        let Network { fabric, options, kills_servers, .. } = network;
        let name = format!("kills-{fabric}-{kills_servers}");
        let cluster = Cluster::up(&name, &format!("--fabric {fabric} {options}"));
        let servers = cluster.processes("memory");
        let db = namdb::connect(&cluster.file).expect("the cluster runs");
        let table = RecordTable::<Counter>::create(&db, Default::default()).expect("it is new");
        let mut session = db.session();
        for number in network.rows.all() {
            let made = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                txn.insert(table, &Counter::new(number, 0))
            });
            made.expect("nobody else is there");
        }
        let (acknowledged, told) = (Default::default(), Figures::default());
        Self { _db: db, table, network, session, acknowledged, dice, told, servers, cluster }
    }

    fn below(&mut self, bound: u64) -> u64 {
        // Splitmix.
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.dice ^ (self.dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// One client lives and is killed; then its rows must be right, and writable.
    fn round(&mut self) {
        let mut client = start_client(&self.cluster.file, self.network.rows);
        let lines = BufReader::new(client.stdout.take().expect("it is piped"));
        let life_us = self.below(self.network.life_ms_max * 1000);
        let server = self.network.kills_servers.then(|| {
            let place = self.below(self.servers.len() as u64) as usize;
            self.servers.swap_remove(place)
        });
        let is_server_first = self.below(2) == 0;
        let between = Duration::from_micros(self.below(BETWEEN_US_MAX));
        let kill_server = |is_now: bool| {
            if let Some(server) = server.filter(|_| is_now) {
                kill_process(server, Signal::KILL).expect("it runs");
                std::thread::sleep(between);
            }
        };
        let acknowledged = std::thread::scope(|scope| {
            let (first, has_begun) = std::sync::mpsc::channel();
            let reader = scope.spawn(move || last_numbers(lines, &first));
            has_begun.recv_timeout(RECOVERED).expect("the client counts");
            std::thread::sleep(Duration::from_micros(life_us));
            kill_server(is_server_first);
            client.kill().expect("it is there");
            if !is_server_first && server.is_some() {
                std::thread::sleep(between);
            }
            kill_server(!is_server_first);
            client.wait().expect("it was started here");
            reader.join().expect("it does not panic")
        });
        for (last, now) in self.acknowledged.iter_mut().zip(acknowledged) {
            let now = now.unwrap_or(*last);
            self.told.acknowledged += now - *last;
            *last = now;
        }
        let died = Instant::now();
        let seen = self.values();
        self.check(&seen, "right after the kill");
        self.write_all_rows(died);
        let now = self.values();
        self.check(&now, "after the recovery");
        for (last, rows) in
            self.acknowledged.iter_mut().zip(now.chunks(self.network.rows.of_a_thread() as usize))
        {
            let found = rows.iter().max().expect("a thread has rows");
            self.told.unacknowledged += found - *last;
            *last = *found;
        }
        self.told.rounds += 1;
    }

    /// The values of all rows, in one snapshot.
    fn values(&mut self) -> Vec<i64> {
        let (table, rows) = (self.table, self.network.rows);
        let read = self.session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            let rows = rows.all().map(|number| txn.get(table, number));
            let value = |row: Counter| {
                assert_eq!(row, Counter::new(row.number, row.value), "it is whole");
                row.value
            };
            rows.map(|row| Ok(value(row?.expect("it was made")))).collect()
        });
        read.map_err(|error: TransactionError| error).expect("rows can be read")
    }

    /// Each thread has done its last acknowledged transaction, or the next one, and all before it:
    /// every group has the last number that belongs to it, in all rows.
    fn check(&self, values: &[i64], when: &str) {
        let (own, shared) = values.split_at(self.network.rows.first_shared() as usize);
        let mut sums = [0; SHARED_ROWS as usize];
        for (thread, rows) in own.chunks(self.network.rows.of_a_thread() as usize).enumerate() {
            let context = || format!("thread {thread}, {when}, {:?}: {rows:?}", self.told);
            let acknowledged = self.acknowledged[thread];
            let last = *rows.iter().max().expect("a thread has rows");
            assert!((0..=1).contains(&(last - acknowledged)), "{acknowledged}, {}", context());
            for (group, rows) in (0..).zip(rows.chunks(GROUP_ROWS as usize)) {
                let value = (last - (last - group).rem_euclid(self.network.rows.groups)).max(0);
                assert!(rows.iter().all(|row| *row == value), "{acknowledged}, {}", context());
            }
            sums[thread % SHARED_ROWS as usize] += last / SHARES_ONE_IN;
        }
        assert_eq!(shared, sums, "{when}, {:?}", self.told);
    }

    /// The results so far, and the locks that are left.
    fn context(&self) -> String {
        let file = ClusterFile::load(&self.cluster.file, &[]).expect("it was written");
        format!("{:?}, locks: {:?}", self.told, LeftLocks::look(&file))
    }

    /// Writes every row as it is.
    fn write_all_rows(&mut self, died: Instant) {
        let table = self.table;
        for number in self.network.rows.all() {
            loop {
                let write =
                    self.session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                        let counter = txn.get(table, number)?.expect("it was made");
                        txn.update(table, &counter).map(drop)
                    });
                let Err(error) = write.map_err(|error: TransactionError| error) else { break };
                self.told.unknown += u64::from(matches!(error, TransactionError::Unknown));
                assert!(died.elapsed() < writable(), "row {number}: {error}; {}", self.context());
            }
        }
        let wait = died.elapsed();
        assert!(wait < writable(), "{wait:?}, {:?}", self.told);
        self.told.longest_wait = self.told.longest_wait.max(wait);
        self.told.waits += wait;
    }

    /// The numbers of memory server 0 about recovery.
    fn recovered(&self) -> [f64; 3] {
        let status = self.cluster.report("status");
        let servers = status["servers"].as_array().expect("a list");
        let memory =
            servers.iter().find(|server| server["role"] == "memory" && server["number"] == 0);
        let control = memory.and_then(|server| server["control"].as_str()).expect("it runs");
        let metric = |sample: &str| self.cluster.metric(control, sample);
        [
            metric("namdb_recovered_slots_total"),
            metric("namdb_recovered_commits_total{by=\"completed\"}"),
            metric("namdb_recovered_commits_total{by=\"released\"}"),
        ]
    }
}

/// Reads the owners of the slots that are not free.
struct SlotOwners;

impl SiteQuery for SlotOwners {
    type Output = BTreeSet<u64>;

    fn look<S: Site>(self, site: &S) -> anyhow::Result<Self::Output> {
        let session = site.session()?;
        let (database, mut batch) = (session.handle(), Batch::new());
        let root = database.root();
        let lanes = OracleLayout { slots: root.slots }.lane(root.oracle, SlotId(0));
        let lanes = batch.read(lanes, root.slots * LANE_WORDS);
        let batch = session.wait(database.env().execute(batch))?;
        let lanes = batch.words(lanes).chunks(LANE_WORDS as usize);
        let owners = lanes.map(|lane| lane[LANE_OWNER as usize]).filter(|owner| *owner != 0);
        Ok(owners.collect())
    }
}

fn slot_owners(cluster: &Cluster) -> BTreeSet<u64> {
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let client = ClusterClient::visit(file).expect("the cluster runs");
    cluster_site::query(&client, SlotOwners).expect("the memory servers answer")
}

/// Kills clients of one cluster, which must be as before then.
fn kill_clients(network: Network, kills: u64, dice: u64) {
    let mut rounds = Rounds::start(network, dice);
    let mut owners = slot_owners(&rounds.cluster);
    owners.remove(&NAMELESS);
    for _ in 0..kills {
        rounds.round();
    }
    let died = Instant::now();
    let Network { fabric, kills_servers, .. } = network;
    println!("{fabric}, memory servers, too: {kills_servers}: {:?}", rounds.told);
    if !kills_servers {
        let [recovered, completed, released] = rounds.recovered();
        println!("slots {recovered}, completed {completed}, released {released}");
        assert!(recovered >= kills as f64, "each client had slots");
    }
    let file = ClusterFile::load(&rounds.cluster.file, &[]).expect("it was written");
    loop {
        let locks = LeftLocks::look(&file).expect("it answers");
        if locks == Some(0) {
            break;
        }
        assert!(died.elapsed() < RECOVERED, "locks are left: {locks:?}");
    }
    // Under load a slot without a member was seen here once; it must not stay.
    loop {
        // A short visit of a memory server that dies leaves a slot whose owner has no name.
        let found: BTreeSet<u64> =
            slot_owners(&rounds.cluster).into_iter().filter(|owner| *owner != NAMELESS).collect();
        if found == owners {
            break;
        }
        assert!(died.elapsed() < RECOVERED, "the dead own slots: {found:?} instead of {owners:?}");
    }
}

fn acknowledged_numbers_survive_kills(network: Network) {
    let number = |name, default| {
        std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
    };
    let (kills, seed): (u64, u64) = (number(KILLS, network.kills), number(SEED, 1));
    let at_once = network.kills_of_a_cluster;
    for first in (0..kills).step_by(at_once as usize) {
        kill_clients(network, at_once.min(kills - first), seed << 32 | first);
    }
}

#[test]
fn acknowledged_numbers_survive_kills_on_shared_memory() {
    acknowledged_numbers_survive_kills(SHM);
}

#[test]
fn acknowledged_numbers_survive_kills_over_messages() {
    acknowledged_numbers_survive_kills(TCP);
}

#[test]
fn acknowledged_numbers_survive_kills_of_memory_servers() {
    acknowledged_numbers_survive_kills(REPLICATED);
}

/// Needs a device: a guest of `cargo xtask soft-roce` has one.
#[test]
fn acknowledged_numbers_survive_kills_over_verbs() {
    match Place::open(&Choice::default()) {
        Ok(_) => acknowledged_numbers_survive_kills(VERBS),
        Err(reason) if std::env::var_os("NAMDB_SOFT_ROCE").is_none() => {
            println!("skipped: {reason}");
        }
        Err(reason) => panic!("a guest has a device: {reason}"),
    }
}
