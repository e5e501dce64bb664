//! A client is killed at random moments, round after round: what it has acknowledged is there, what
//! it had not is there completely or not at all, and others can write its rows at once.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use membership::ClusterFile;
use namdb::{Db, Isolation, RecordTable, Retry, Session, TransactionError, record};
use namdb_program::bench::site::{Site, SiteSession};
use namdb_program::servers::cluster_client::ClusterClient;
use namdb_program::servers::cluster_site::{self, SiteQuery};
use namdb_program::servers::left_locks::LeftLocks;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of kills on each fabric; the nightly run sets more.
const KILLS: &str = "NAMDB_TEST_KILLS";
const KILLS_OF_THE_GATE: u64 = 6;
/// Number of kills before a new cluster. Each client leaves memory behind: what its lanes had taken
/// and not used.
const KILLS_OF_A_CLUSTER: u64 = 25;
const MEMORY: &str = "128M";
/// Seed of the moments, and the client's cluster.
const SEED: &str = "NAMDB_TEST_KILLS_SEED";
const FILE: &str = "NAMDB_TEST_KILLS_FILE";
/// Threads of the client. Each writes rows of its own, and one that it shares with others.
const THREADS: i64 = 4;
/// Rows that one transaction writes, and how many such groups a thread has. Transaction n writes
/// group n mod 16.
const GROUP_ROWS: i64 = 12;
const GROUPS: i64 = 16;
const OWN_ROWS: i64 = GROUPS * GROUP_ROWS;
const SHARED_ROWS: i64 = 2;
/// Every fourth transaction writes the shared row, so that threads seldom wait for each other.
const SHARES_ONE_IN: i64 = 4;
const FIRST_SHARED: i64 = THREADS * OWN_ROWS;
/// Longest life of a client.
const LIFE_MS_MAX: u64 = 400;
/// Time after a kill in which all rows can be written: in the nightly run, and beside the other
/// tests of the gate, whose servers poll.
const WRITABLE: Duration = Duration::from_secs(3);
const WRITABLE_IN_A_CROWD: Duration = Duration::from_secs(30);
/// Time after a kill in which all its locks are gone and its slots free.
const RECOVERED: Duration = Duration::from_secs(30);
/// First word of the line that a client writes when a transaction has committed; the thread and its
/// number follow.
const ACKNOWLEDGED: &str = "acknowledged";

/// The time that this run allows.
fn writable() -> Duration {
    if std::env::var_os(KILLS).is_some() { WRITABLE } else { WRITABLE_IN_A_CROWD }
}

record! {
    struct Counter in "counter" {
        key { number: i64 }
        value: i64,
        /// Makes commits longer, so that kills meet them.
        note: String[1000],
    }
}

impl Counter {
    fn new(number: i64, value: i64) -> Self {
        Self { number, value, note: format!("{value:>1000}") }
    }
}

/// The client's side, this program started again: counts until it is killed. Does nothing in an
/// ordinary run of the tests.
#[test]
fn client() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let db = namdb::connect(file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open(&db).expect("the table is there");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut session = db.session();
            scope.spawn(move || {
                let mut number = last_number(&mut session, table, thread);
                loop {
                    write_group(&mut session, table, thread, number + 1).expect("it commits");
                    number += 1;
                    let line = format!("{ACKNOWLEDGED} {thread} {number}\n");
                    std::io::stdout().write_all(line.as_bytes()).expect("the parent reads");
                }
            });
        }
    });
}

/// The number of the thread's last transaction.
fn last_number(session: &mut Session, table: RecordTable<Counter>, thread: i64) -> i64 {
    let read = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let mut last = 0;
        for group in 0..GROUPS {
            let row = txn.get(table, thread * OWN_ROWS + group * GROUP_ROWS)?;
            last = last.max(row.expect("it was made").value);
        }
        Ok::<_, TransactionError>(last)
    });
    read.expect("rows can be read")
}

/// The transaction of a thread with this number, which it writes to a group of rows; every fourth
/// one adds 1 to the row that the thread shares.
fn write_group(
    session: &mut Session,
    table: RecordTable<Counter>,
    thread: i64,
    value: i64,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let first = thread * OWN_ROWS + value % GROUPS * GROUP_ROWS;
        for number in first..first + GROUP_ROWS {
            txn.update(table, &Counter::new(number, value))?;
        }
        if value % SHARES_ONE_IN == 0 {
            let number = FIRST_SHARED + thread % SHARED_ROWS;
            let value = txn.get(table, number)?.expect("it was made").value + 1;
            txn.update(table, &Counter::new(number, value))?;
        }
        Ok(())
    })
}

/// The clients of one cluster, one after another.
struct Rounds {
    _db: Db,
    table: RecordTable<Counter>,
    session: Session,
    /// The last acknowledged number of each thread.
    acknowledged: [i64; THREADS as usize],
    dice: u64,
    told: Figures,
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
    longest_wait: Duration,
    waits: Duration,
}

impl Rounds {
    fn start(fabric: &str, dice: u64) -> Self {
        let options = format!("--fabric {fabric} --memory {MEMORY} --memory-servers 2");
        let cluster = Cluster::up(&format!("kills-{fabric}"), &options);
        let db = namdb::connect(&cluster.file).expect("the cluster runs");
        let table = RecordTable::<Counter>::create(&db, Default::default()).expect("it is new");
        let mut session = db.session();
        for number in 0..FIRST_SHARED + SHARED_ROWS {
            let made = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                txn.insert(table, &Counter::new(number, 0))
            });
            made.expect("nobody else is there");
        }
        let (acknowledged, told) = (Default::default(), Figures::default());
        Self { _db: db, table, session, acknowledged, dice, told, cluster }
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
        let mut client = start_client(&self.cluster.file);
        let lines = BufReader::new(client.stdout.take().expect("it is piped"));
        let life_us = self.below(LIFE_MS_MAX * 1000);
        let acknowledged = std::thread::scope(|scope| {
            let (first, has_begun) = std::sync::mpsc::channel();
            let reader = scope.spawn(move || last_numbers(lines, &first));
            has_begun.recv_timeout(RECOVERED).expect("the client counts");
            std::thread::sleep(Duration::from_micros(life_us));
            client.kill().expect("it is there");
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
        for (last, rows) in self.acknowledged.iter_mut().zip(now.chunks(OWN_ROWS as usize)) {
            let found = rows.iter().max().expect("a thread has rows");
            self.told.unacknowledged += found - *last;
            *last = *found;
        }
        self.told.rounds += 1;
    }

    /// The values of all rows, in one snapshot.
    fn values(&mut self) -> Vec<i64> {
        let table = self.table;
        let read = self.session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            let rows = (0..FIRST_SHARED + SHARED_ROWS).map(|number| txn.get(table, number));
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
        let (own, shared) = values.split_at(FIRST_SHARED as usize);
        let mut sums = [0; SHARED_ROWS as usize];
        for (thread, rows) in own.chunks(OWN_ROWS as usize).enumerate() {
            let context = || format!("thread {thread}, {when}, {:?}: {rows:?}", self.told);
            let acknowledged = self.acknowledged[thread];
            let last = *rows.iter().max().expect("a thread has rows");
            assert!((0..=1).contains(&(last - acknowledged)), "{acknowledged}, {}", context());
            for (group, rows) in (0..).zip(rows.chunks(GROUP_ROWS as usize)) {
                let value = (last - (last - group).rem_euclid(GROUPS)).max(0);
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
        for number in 0..FIRST_SHARED + SHARED_ROWS {
            loop {
                let write =
                    self.session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                        let counter = txn.get(table, number)?.expect("it was made");
                        txn.update(table, &counter).map(drop)
                    });
                let Err(error) = write.map_err(|error: TransactionError| error) else { break };
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

/// Reads the number of free slots.
struct FreeSlots;

impl SiteQuery for FreeSlots {
    type Output = u32;

    fn look<S: Site>(self, site: &S) -> anyhow::Result<u32> {
        let session = site.session()?;
        let database = session.handle();
        Ok(session.wait(database.slots())?.free)
    }
}

fn free_slots(cluster: &Cluster) -> u32 {
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let client = ClusterClient::visit(file).expect("the cluster runs");
    cluster_site::query(&client, FreeSlots).expect("the memory servers answer")
}

fn start_client(file: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test runs"));
    command.args(["--exact", "kills::client"]).env(FILE, file);
    command.stdout(Stdio::piped()).spawn().expect("a test starts again")
}

/// The last number that each thread has acknowledged until the client died; says when the first has
/// come.
fn last_numbers(
    lines: BufReader<ChildStdout>,
    first: &std::sync::mpsc::Sender<()>,
) -> [Option<i64>; THREADS as usize] {
    let mut last = [None; THREADS as usize];
    for line in lines.lines() {
        let line = line.expect("it is text");
        let Some(numbers) = line.strip_prefix(ACKNOWLEDGED) else { continue };
        let mut numbers =
            numbers.split_whitespace().map(|word| word.parse::<i64>().expect("number"));
        let thread = numbers.next().expect("the thread") as usize;
        let value = numbers.next().expect("the value");
        assert!(last[thread] < Some(value), "thread {thread} counts upwards");
        last[thread] = Some(value);
        let _ = first.send(());
    }
    last
}

/// Kills clients of one cluster, which must be as before then.
fn kill_clients(fabric: &str, kills: u64, dice: u64) {
    let mut rounds = Rounds::start(fabric, dice);
    let free = free_slots(&rounds.cluster);
    for _ in 0..kills {
        rounds.round();
    }
    let died = Instant::now();
    let [slots, completed, released] = rounds.recovered();
    let told = &rounds.told;
    println!("{fabric}: {told:?}, slots {slots}, completed {completed}, released {released}");
    let file = ClusterFile::load(&rounds.cluster.file, &[]).expect("it was written");
    loop {
        let locks = LeftLocks::look(&file).expect("it answers");
        if locks == Some(0) {
            break;
        }
        assert!(died.elapsed() < RECOVERED, "locks are left: {locks:?}");
    }
    assert!(slots >= kills as f64, "each client had slots");
    assert_eq!(free_slots(&rounds.cluster), free, "no slot is lost");
}

fn acknowledged_numbers_survive_kills(fabric: &str) {
    let number = |name, default| {
        std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
    };
    let (kills, seed): (u64, u64) = (number(KILLS, KILLS_OF_THE_GATE), number(SEED, 1));
    for first in (0..kills).step_by(KILLS_OF_A_CLUSTER as usize) {
        kill_clients(fabric, KILLS_OF_A_CLUSTER.min(kills - first), seed << 32 | first);
    }
}

#[test]
fn acknowledged_numbers_survive_kills_on_shared_memory() {
    acknowledged_numbers_survive_kills("shm");
}

#[test]
fn acknowledged_numbers_survive_kills_over_messages() {
    acknowledged_numbers_survive_kills("tcp");
}
