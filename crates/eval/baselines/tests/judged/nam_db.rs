//! NAM-DB as printed: where it keeps its promise, and the anomalies that each of its faults causes.

use crate::lists::{self, Client, Ended, Operation};
use baselines::RowKey;
use baselines::nam_db::{
    self, CommitStep, ComputeServer, Design, Fetch, MemoryServer, Placement, Slots, Stop,
    TableSize, Timestamps, Vector,
};
use fabric::{Env, FailurePoint, LocalWorld, WorldConfig, run_now};
use history_judge::{Level, Report, Verdict};
use layout::{NodeId, RegionId, WORD_BYTES};
use sim::{SimConfig, Tearing, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use workload::recording::Recordings;

const SEEDS: u64 = 60;
const SERVERS: u16 = 3;
const COMPUTE_SERVERS: u16 = 3;
const CLIENTS: u32 = 6;
const TRANSACTIONS: u64 = 60;
/// The largest number of elements of a list.
const ELEMENTS_MAX: usize = 40;
const LIST_BYTES: usize = (1 + ELEMENTS_MAX) * WORD_BYTES as usize;
const OVERFLOW_WORDS: u64 = 1 << 14;
/// Versions are kept for at least this time.
const KEPT_NS: u64 = 100_000_000;
const PAUSE_NS: u64 = 20_000;

#[derive(Clone, Copy)]
struct Setup {
    timestamps: Timestamps,
    /// Number of servers with parts of the vector.
    vector_servers: u16,
    /// Number of old versions in the buffer of a list.
    versions: u64,
    draw: Draw,
}

/// Draws the operations of a client's next transaction, from the numbers of client and transaction.
type Draw = fn(&mut Client, u32, u64) -> Vec<Operation>;

const BASIC: Setup = Setup {
    timestamps: Timestamps::BASIC,
    vector_servers: 1,
    versions: 16,
    draw: |client, _, _| client.draw(),
};

/// Two clients append to a list each, and the others read both.
fn write_or_read(_: &mut Client, number: u32, transaction: u64) -> Vec<Operation> {
    let value = i64::from(number) * 1000 + transaction as i64;
    match number {
        0 | 1 if transaction <= ELEMENTS_MAX as u64 => {
            vec![Operation::Append(number.into(), value)]
        }
        _ => vec![Operation::Read(0), Operation::Read(1)],
    }
}

fn key(list: u64) -> RowKey {
    RowKey::new((list % 7) as u32, 0, list)
}

impl Setup {
    fn design(&self) -> Arc<Design> {
        let regions = |count| (0..count).map(RegionId).collect();
        let vector = Vector::new(regions(self.vector_servers), CLIENTS);
        let lists = TableSize { data_bytes: LIST_BYTES, records: 40, versions: self.versions };
        let shape = (OVERFLOW_WORDS, u32::MAX);
        Arc::new(Design::new(vector, regions(SERVERS), Placement::Hashed, shape, &[lists]))
    }

    fn slot(&self, number: u32) -> u32 {
        match self.timestamps.slots {
            Slots::Threads => number,
            Slots::ServersAsDrawn | Slots::ServersInOrder => number % u32::from(COMPUTE_SERVERS),
        }
    }
}

fn elements(content: Option<&[u8]>) -> Vec<i64> {
    let words = content.unwrap_or(&[0; 8]).chunks(WORD_BYTES as usize);
    let words: Vec<i64> =
        words.map(|bytes| i64::from_le_bytes(bytes.try_into().expect("8 bytes"))).collect();
    // The words of two versions may imply more elements than exist.
    words[1..].iter().copied().take(words[0].clamp(0, ELEMENTS_MAX as i64) as usize).collect()
}

fn content(list: &[i64]) -> Vec<u8> {
    let words = std::iter::once(list.len() as i64).chain(list.iter().copied());
    words.flat_map(i64::to_le_bytes).collect()
}

async fn transaction<E: Env>(
    client: &mut nam_db::Client<E>,
    operations: &[Operation],
) -> Result<Ended, Stop> {
    let touched = lists::touched(operations);
    let keys: Vec<RowKey> = touched.iter().map(|&list| key(list)).collect();
    let mut transaction = client.begin().await?;
    let rows = transaction.read(&keys).await?;
    let read = rows.iter().map(|row| elements(row.as_deref()));
    let mut lists: BTreeMap<u64, Vec<i64>> = touched.iter().copied().zip(read).collect();
    let seen = lists::carry_out(operations, &mut lists);
    for (list, elements) in lists {
        if elements.len() > ELEMENTS_MAX {
            return Ok(Ended::Aborted);
        }
        if lists::is_changed(operations, list) {
            transaction.write(key(list), content(&elements));
        }
    }
    Ok(match transaction.commit().await? {
        nam_db::Ended::Committed => Ended::Committed(seen),
        nam_db::Ended::Aborted => Ended::Aborted,
    })
}

async fn transactions<E: Env>(
    mut engine: nam_db::Client<E>,
    mut client: Client,
    (draw, number): (Draw, u32),
) {
    let env = engine.env().clone();
    for transaction_number in 1..=TRANSACTIONS {
        let operations = draw(&mut client, number, transaction_number);
        client.begin(env.now_ns());
        let ended = match transaction(&mut engine, &operations).await {
            Ok(ended) => ended,
            Err(Stop::TooOld) => Ended::Aborted,
            Err(stop) => panic!("{stop}"),
        };
        let is_aborted = matches!(ended, Ended::Aborted);
        client.end(env.now_ns(), &operations, ended);
        if is_aborted {
            env.yield_now().await;
        }
    }
}

/// A run in which, if `dies_at` is set, the fifth client that reaches this step dies there.
fn run(setup: Setup, config: SimConfig, dies_at: Option<CommitStep>) -> (Recordings, String) {
    let (seed, design) = (config.seed, setup.design());
    let words = [design.region_words; SERVERS as usize];
    let world = World::new(config.named("nam-db").with_servers(&words));
    let running = Rc::new(Cell::new(u64::from(CLIENTS) - u64::from(dies_at.is_some())));
    let goes_on = || {
        let running = running.clone();
        move || running.get() > 0
    };
    if let Some(step) = dies_at {
        world.kill_at(step.name(), 5);
    }
    for &region in &design.data {
        let server = MemoryServer::new(&design, region, KEPT_NS);
        for (id, service) in server.services(|_, _| {}) {
            world.register(NodeId(region.0), id, service);
        }
        let (env, goes_on) = (world.service_endpoint(NodeId(region.0)), goes_on());
        world.spawn_on(&env.clone(), async move {
            let run = server.mover.run(env, |_, _| {}, PAUSE_NS, goes_on);
            run.await.expect("its own memory is there");
        });
    }
    let recordings = Recordings::default();
    let homes: Vec<_> = (0..COMPUTE_SERVERS).map(|_| Arc::new(ComputeServer::new(0))).collect();
    for (home, node) in homes.iter().zip(0..) {
        let (home, vector, goes_on) = (home.clone(), design.vector.clone(), goes_on());
        let env = world.endpoint(world.compute_node(node));
        if setup.timestamps.fetch == Fetch::Background {
            world.spawn_on(&env.clone(), async move {
                home.fetch(env, &vector, goes_on).await.expect("the servers are alive");
            });
        }
    }
    for number in 0..CLIENTS {
        let node = number as u16 % COMPUTE_SERVERS;
        let env = world.endpoint(world.compute_node(node));
        let known = (design.clone(), homes[usize::from(node)].clone());
        let slot = (setup.slot(number), 0);
        let engine = nam_db::Client::new(env.clone(), known, setup.timestamps, slot, |_, _| {});
        let client = Client::new(&recordings, seed, number.into());
        let running = running.clone();
        world.spawn_on(&env, async move {
            transactions(engine, client, (setup.draw, number)).await;
            running.set(running.get() - 1);
        });
    }
    assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
    (recordings, world.identity())
}

/// A hostile world in which verbs are atomic: no record is torn, nor is the part of a vector on one
/// server.
fn untorn(seed: u64) -> SimConfig {
    SimConfig { tearing: Tearing::None, ..SimConfig::hostile(seed) }
}

fn reports(setup: Setup, config: impl Fn(u64) -> SimConfig) -> impl Iterator<Item = Report> {
    (0..SEEDS).map(move |seed| {
        let (recordings, identity) = run(setup, config(seed), None);
        lists::judged(&recordings, 40, &identity)
    })
}

/// The number of worlds in which a level is violated.
fn violations(setup: Setup, config: impl Fn(u64) -> SimConfig, level: Level) -> usize {
    reports(setup, config).filter(|report| report.verdict(level) == &Verdict::Violated).count()
}

/// In such worlds one read of a vector on one server is a snapshot, and covers all earlier commits.
#[test]
fn untorn_worlds_see_strong_snapshots() {
    let mut write_skews = 0;
    for (seed, report) in reports(BASIC, untorn).enumerate() {
        let verdict = report.verdict(Level::StrongSnapshot);
        assert_eq!(verdict, &Verdict::Holds, "seed {seed}: {:?}", report.findings);
        write_skews += u64::from(report.verdict(Level::Serializable) == &Verdict::Violated);
    }
    assert!(write_skews > 0, "runs without conflicts prove nothing");
}

/// With both optimizations snapshots lack the commits since the last fetch, and have no other
/// fault.
#[test]
fn untorn_worlds_see_snapshots_with_the_optimizations() {
    let setup = Setup { timestamps: Timestamps::OPTIMIZED, ..BASIC };
    assert_eq!(violations(setup, untorn, Level::Snapshot), 0);
}

/// No server releases the locks of a dead thread, and no snapshot includes half of its commit.
#[test]
fn the_death_of_a_thread_breaks_no_snapshot() {
    // A client that dies after it has published has committed, but cannot record that.
    for &step in CommitStep::ALL.iter().filter(|&&step| step != CommitStep::Published) {
        for seed in 0..SEEDS / 4 {
            let (recordings, identity) = run(BASIC, untorn(seed), Some(step));
            let report = lists::judged(&recordings, 5, &identity);
            assert!(lists::is_snapshot(&report), "{identity}, {step:?}: {:?}", report.findings);
        }
    }
}

/// [ZB17 5.1], as in [ZB17 listing 1]: one write installs header and data, so a concurrent reader
/// takes old data for new, or new for old.
#[test]
fn records_are_torn_by_the_single_install_write() {
    let torn = |seed| SimConfig { tearing: Tearing::AnyOrder, ..SimConfig::hostile(seed) };
    assert!(violations(BASIC, torn, Level::Snapshot) > 0);
}

/// [ZB17 4.2]: readers of a vector on several servers may see the commits of different threads in
/// different orders. The paper says so, and that it is no big problem.
#[test]
fn a_partitioned_vector_gives_incomparable_snapshots() {
    let setup = Setup { vector_servers: SERVERS, draw: write_or_read, ..BASIC };
    let has_fork = |report: &Report| {
        let fork =
            |anomaly: history_judge::Anomaly| anomaly.shape == history_judge::Shape::GNonadjacent;
        report.against(Level::Snapshot).any(|finding| fork(finding.witness.anomaly))
    };
    assert!(reports(setup, untorn).any(|report| has_fork(&report)));
    let on_one_server = Setup { vector_servers: 1, ..setup };
    assert_eq!(violations(on_one_server, untorn, Level::Snapshot), 0);
}

/// [ZB17 4.1] says that this is impossible on one server, because its card does not cache writes.
/// But a read of many words is not atomic: one reader sees slot 0 risen and the last one not,
/// another reader the reverse.
#[test]
fn a_vector_on_one_server_gives_incomparable_snapshots() {
    const SLOTS: u32 = 64;
    let fork = |seed| {
        let config = SimConfig { tearing: Tearing::InOrder, ..SimConfig::hostile(seed) };
        let world = World::new(config.named("vector").with_servers(&[1024]));
        let vector = Rc::new(Vector::new(vec![RegionId(0)], SLOTS));
        for slot in [0, SLOTS - 1] {
            let (env, vector) = (world.endpoint(world.compute_node(0)), vector.clone());
            world.spawn_on(&env.clone(), async move {
                for timestamp in 1..40 {
                    vector.publish(&env, slot, timestamp).await.expect("the server is alive");
                }
            });
        }
        let snapshots = Rc::<std::cell::RefCell<Vec<[u64; 2]>>>::default();
        for reader in 1..4 {
            let (env, vector) = (world.endpoint(world.compute_node(reader)), vector.clone());
            let snapshots = snapshots.clone();
            world.spawn_on(&env.clone(), async move {
                for _ in 0..40 {
                    let read = vector.read(&env).await.expect("the server is alive");
                    snapshots.borrow_mut().push([read[0], read[SLOTS as usize - 1]]);
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        let snapshots = snapshots.borrow();
        snapshots.iter().any(|a| snapshots.iter().any(|b| a[0] < b[0] && a[1] > b[1]))
    };
    assert!((0..SEEDS).any(fork));
}

/// [ZB17 4.2]: a vector that was fetched before the own commit was published lacks it.
#[test]
fn a_fetched_vector_lacks_the_own_commit() {
    let timestamps = Timestamps { fetch: Fetch::Background, ..Timestamps::BASIC };
    let setup = Setup { timestamps, ..BASIC };
    assert_eq!(violations(setup, untorn, Level::Snapshot), 0);
    assert!(violations(setup, untorn, Level::StrongSessionSnapshot) > 0);
}

/// [ZB17 4.2]: threads that share a slot commit in another order than they draw numbers; a thread
/// that writes the larger number makes partly installed commits of the others visible.
#[test]
fn a_slot_that_is_written_as_numbers_were_drawn_covers_what_is_not_installed() {
    let timestamps = Timestamps { slots: Slots::ServersAsDrawn, ..Timestamps::BASIC };
    let setup = Setup { timestamps, ..BASIC };
    assert!(violations(setup, untorn, Level::Snapshot) > 0);
}

/// [ZB17 5.1]: a separate read fetches the data of an old version; another version may have taken
/// its place before.
#[test]
fn data_of_an_old_version_may_be_that_of_a_newer_one() {
    assert!(violations(Setup { versions: 1, ..BASIC }, untorn, Level::Snapshot) > 0);
}

/// A database in this process.
struct Local {
    world: Arc<LocalWorld>,
    design: Arc<Design>,
}

impl Local {
    fn new(setup: Setup, kept_ns: u64) -> Self {
        let design = setup.design();
        let server_bytes = vec![design.region_words * WORD_BYTES; usize::from(SERVERS)];
        let world = LocalWorld::new(&WorldConfig { server_bytes, seed: 1 }).expect("little memory");
        for &region in &design.data {
            for (id, service) in MemoryServer::new(&design, region, kept_ns).services(|_, _| {}) {
                world.register(NodeId(region.0), id, service);
            }
        }
        Self { world, design }
    }

    fn client(&self, number: u32) -> nam_db::Client<impl Env + use<>> {
        let known = (self.design.clone(), Arc::new(ComputeServer::new(0)));
        let env = self.world.endpoint();
        nam_db::Client::new(env, known, Timestamps::BASIC, (number, 0), |_, _| {})
    }
}

/// The versions that the writer displaces go to the overflow region, and an old snapshot finds its
/// version there.
#[test]
fn an_old_snapshot_finds_its_version_in_the_overflow_region_until_it_is_collected() {
    let local = Local::new(Setup { versions: 4, ..BASIC }, 0);
    let (mut reader, mut writer) = (local.client(0), local.client(1));
    let mut append = |value| {
        let ended = run_now(transaction(&mut writer, &[Operation::Append(0, value)]));
        assert!(matches!(ended, Ok(Ended::Committed(_))));
    };
    (0..3).for_each(&mut append);
    let mut snapshot = run_now(reader.begin()).expect("the servers are alive");
    (3..20).for_each(&mut append);
    let rows = run_now(snapshot.read(&[key(0)])).expect("its version is kept");
    assert_eq!(elements(rows[0].as_deref()), [0, 1, 2]);
    let mut other = local.client(2);
    let mut snapshot = run_now(other.begin()).expect("the servers are alive");
    let mut others = local.client(3);
    // Versions of other records fill the overflow region of the same server repeatedly.
    let lists =
        (1..).filter(|&list| local.design.bucket(key(list)).0 == local.design.bucket(key(0)).0);
    (20..30).for_each(&mut append);
    for list in lists.take(30) {
        for value in 0..40 {
            let ended = run_now(transaction(&mut others, &[Operation::Append(list, value)]));
            assert!(matches!(ended, Ok(Ended::Committed(_))));
        }
    }
    assert_eq!(run_now(snapshot.read(&[key(0)])), Err(Stop::TooOld));
}
