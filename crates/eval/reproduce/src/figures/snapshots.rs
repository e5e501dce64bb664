//! Beside [ZB17 7.2, figure 7]: the snapshots that an oracle returns while only timestamp
//! transactions run.
//!
//! Every client records the vector that each of its transactions begins with, and the number that
//! it publishes. Two vectors are comparable if one of them is nowhere smaller than the other; two
//! incomparable ones are a long fork. In addition, the judge of histories sees each vector as a
//! transaction that reads all slots, and each number as one that writes a slot.
//!
//! The words of a verb take up to a nanosecond each here, about the speed of PCIe, and arrive in
//! any order: a card splits a read into several over PCIe, and guarantees no order of them.

use crate::world::{network, settings_on};
use baselines::nam_db::{
    Client, ComputeServer, Design, Fetch, Placement, Slots, Timestamps, Vector,
};
use fabric::random::SplitMix64;
use fabric::{DynEnv, Env};
use history_judge::history::{Ended, HistoryBuilder, Step};
use history_judge::{Level, Outcome, Report, judge};
use layout::{NodeId, RegionId};
use sim::{AsEndpoint, Endpoint, Interval, Machines, SimConfig, Tearing, World};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use txn::{Database, DatabaseConfig, Isolation, Lane, Oracle};

/// Number of machines of compute servers.
const COMPUTES: u16 = 7;
/// Number of our compute servers per such machine, each with lanes, a fetcher and two slots of its
/// own.
const OURS_EACH: u16 = 3;
const WORDS: u64 = 1 << 20;
/// Slots of our vector: two for each compute server, and one for the process that makes the
/// database.
const OUR_SLOTS: u32 = (2 * (COMPUTES * OURS_EACH) as u32 + 1).next_multiple_of(8);
/// Random additional time of verbs.
const NOISE: Interval = Interval::new(0, 200);
const WARM_NS: u64 = 20_000;
/// After this time every transaction that began in the window has ended.
const REST_NS: u64 = 200_000;

/// A way to take snapshots.
#[derive(Clone, Copy, Debug)]
pub(super) enum SnapshotSource {
    /// Ours: a collector freezes vectors, and each compute server fetches them once.
    Ours,
    /// The vector as printed, over this many servers. Each transaction writes a slot of the vector.
    Printed { timestamps: Timestamps, servers: u16, is_at_one_moment: bool },
}

/// The records of the clients.
#[derive(Default)]
struct Log {
    transactions: Vec<Recorded>,
}

/// A timestamp transaction.
struct Recorded {
    client: i64,
    ended_ns: u64,
    vector: Arc<[u64]>,
    slot: u32,
    number: u64,
}

/// The results.
pub(super) struct Snapshots {
    /// Timestamp transactions per second.
    pub per_s: f64,
    /// Number of snapshots.
    pub taken: usize,
    /// Number of distinct snapshots.
    pub distinct: usize,
    /// Number of distinct snapshots that are not comparable with at least one other.
    pub incomparable: usize,
    report: Report,
}

impl Snapshots {
    /// The judge's verdict on a level.
    pub fn verdict(&self, level: Level) -> String {
        self.report.verdict(level).to_string()
    }

    /// The anomalies, as text.
    pub fn anomalies(&self) -> String {
        let against = self.report.against(Level::Snapshot);
        let names = against.map(|finding| finding.witness.anomaly.to_string());
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// Runs timestamp transactions of `per_server` clients on each compute server.
pub(super) fn taken(seed: u64, way: SnapshotSource, per_server: u32, window_ns: u64) -> Snapshots {
    let log = Rc::new(RefCell::new(Log::default()));
    let world = world(seed, way);
    let from_ns = match way {
        SnapshotSource::Ours => start_ours(&world, per_server, (window_ns, &log)),
        SnapshotSource::Printed { timestamps, servers, .. } => {
            start_printed(&world, (timestamps, servers), per_server, (window_ns, &log))
        }
    };
    world.run_for(WARM_NS + window_ns + REST_NS);
    drop(world);
    let transactions = &log.borrow().transactions;
    let window = from_ns..from_ns + window_ns;
    let counted = transactions.iter().filter(|one| window.contains(&one.ended_ns)).count();
    let distinct: BTreeSet<&Arc<[u64]>> = transactions.iter().map(|one| &one.vector).collect();
    Snapshots {
        per_s: counted as f64 * 1e9 / window_ns as f64,
        taken: transactions.len(),
        distinct: distinct.len(),
        incomparable: incomparable(
            &distinct.into_iter().map(|vector| &**vector).collect::<Vec<_>>(),
        ),
        report: judged(transactions),
    }
}

fn world(seed: u64, way: SnapshotSource) -> World {
    let (servers, tearing) = match way {
        SnapshotSource::Ours => (1, Tearing::AnyOrder),
        SnapshotSource::Printed { servers, is_at_one_moment, .. } => {
            (servers, if is_at_one_moment { Tearing::None } else { Tearing::AnyOrder })
        }
    };
    let machines = Machines::apart(servers + COMPUTES);
    let network = network("connect-ib-2xfdr", super::oracle::PORTS);
    let settings = settings_on(machines, seed, network, (servers, COMPUTES), WORDS);
    let word_ns = u64::from(tearing != Tearing::None);
    World::new(SimConfig {
        parts_at_once: false,
        tearing,
        word_ns,
        read_ns: NOISE,
        write_ns: NOISE,
        ..settings
    })
}

/// Starts clients of this engine. Returns the time at which the window opens.
fn start_ours(world: &World, per_server: u32, (window_ns, log): (u64, &Rc<RefCell<Log>>)) -> u64 {
    let nodes = world.serve(txn::server::services);
    let admin = world.endpoint(world.compute_node(0));
    let (oracle, slots) = (Oracle::Frozen, OUR_SLOTS);
    let config = DatabaseConfig { oracle, slots, shares_slot: true, ..Default::default() };
    let database = world.load(&admin, Database::create(admin.clone().into_dyn(), nodes, config));
    let database = database.expect("the server is empty");
    let mut lanes = Vec::new();
    let homes: Vec<_> = (0..COMPUTES * OURS_EACH)
        .map(|home| {
            database.elsewhere(world.endpoint(world.compute_node(home / OURS_EACH)).into_dyn())
        })
        .collect();
    for home in &homes {
        world.load(home.env(), home.refresh()).expect("the server answers");
        for _ in 0..per_server.div_ceil(OURS_EACH.into()) {
            let here = home.with_env(world.endpoint(home.env().endpoint().node()).into_dyn());
            lanes.push(world.load(here.env(), here.lane()).expect("there are slots"));
        }
        home.rely_on_collector();
    }
    let collector = database.elsewhere(world.service_endpoint(NodeId(0)).into_dyn());
    world.spawn_on(&collector.env().clone(), async move {
        collector.collect_vectors(|| true).await.expect("its memory is there");
    });
    for home in homes {
        world.spawn_on(&home.env().clone(), async move {
            home.fetch_vectors(|| true).await.expect("the oracle's memory is there");
        });
    }
    let from_ns = world.now_ns() + WARM_NS;
    for (client, lane) in (0..).zip(lanes) {
        let (env, log) = (lane.env().clone(), log.clone());
        world.spawn_on(&env, ours(lane, client, (from_ns + window_ns, log)));
    }
    from_ns
}

async fn ours(mut lane: Lane<DynEnv>, client: i64, (until_ns, log): (u64, Rc<RefCell<Log>>)) {
    start_apart(lane.env(), client).await;
    while lane.env().now_ns() < until_ns {
        let transaction = lane.begin(Isolation::Snapshot).await.expect("the oracle is there");
        let vector = transaction.snapshot().counters().into();
        let timestamp = transaction.publish_timestamp().await.expect("the oracle is there");
        let (slot, number) = (timestamp.slot().0.into(), timestamp.counter());
        let ended_ns = lane.env().now_ns();
        let recorded = Recorded { client, ended_ns, vector, slot, number };
        log.borrow_mut().transactions.push(recorded);
    }
}

/// The same with the protocol as printed.
fn start_printed(
    world: &World,
    (timestamps, servers): (Timestamps, u16),
    per_server: u32,
    (window_ns, log): (u64, &Rc<RefCell<Log>>),
) -> u64 {
    let slots = match timestamps.slots {
        Slots::Threads => u32::from(COMPUTES) * per_server,
        Slots::ServersAsDrawn | Slots::ServersInOrder => COMPUTES.into(),
    };
    let is_endless =
        timestamps.slots == Slots::ServersInOrder && timestamps.fetch == Fetch::Background;
    assert!(!is_endless, "most transactions would take no time, and so none would pass");
    let vector = Vector::new((0..servers).map(RegionId).collect(), slots);
    let design = Design::new(vector, vec![RegionId(0)], Placement::Hashed, (0, 1), &[]);
    let design = Arc::new(design);
    let from_ns = world.now_ns() + WARM_NS;
    for compute in 0..COMPUTES {
        let home = Arc::new(ComputeServer::new(0));
        if timestamps.fetch == Fetch::Background {
            let env = world.endpoint(world.compute_node(compute));
            let (home, design) = (home.clone(), design.clone());
            world.spawn_on(&env.clone(), async move {
                home.fetch(env, &design.vector, || true).await.expect("the oracle is there");
            });
        }
        for thread in 0..per_server {
            let env = world.endpoint(world.compute_node(compute));
            let client = u32::from(compute) * per_server + thread;
            let slot = if slots > COMPUTES.into() { client } else { compute.into() };
            let known = (design.clone(), home.clone());
            let engine = Client::new(env.clone(), known, timestamps, (slot, 0), |_, _| {});
            let log = (from_ns + window_ns, log.clone());
            world.spawn_on(&env, printed(engine, client.into(), log));
        }
    }
    from_ns
}

async fn printed(
    mut engine: Client<Endpoint>,
    client: i64,
    (until_ns, log): (u64, Rc<RefCell<Log>>),
) {
    start_apart(engine.env(), client).await;
    while engine.env().now_ns() < until_ns {
        let done = engine.timestamp_transaction().await;
        let (vector, slot, number) = done.expect("the oracle is there");
        let ended_ns = engine.env().now_ns();
        let recorded = Recorded { client, ended_ns, vector, slot, number };
        log.borrow_mut().transactions.push(recorded);
    }
}

/// Starts the client at a time of its own, because clients that begin together would stay in step.
async fn start_apart(env: &impl Env, client: i64) {
    env.sleep_ns(SplitMix64::new(client as u64).draw() % (WARM_NS / 2)).await;
}

/// The number of these vectors that are not comparable with at least one other.
fn incomparable(vectors: &[&[u64]]) -> usize {
    let mut is_in_fork = vec![false; vectors.len()];
    for one in 0..vectors.len() {
        for other in one + 1..vectors.len() {
            if (is_in_fork[one] && is_in_fork[other])
                || are_comparable(vectors[one], vectors[other])
            {
                continue;
            }
            (is_in_fork[one], is_in_fork[other]) = (true, true);
        }
    }
    is_in_fork.into_iter().filter(|is| *is).count()
}

fn are_comparable(one: &[u64], other: &[u64]) -> bool {
    let counter = |vector: &[u64], slot| vector.get(slot).copied().unwrap_or(0);
    let (mut is_before, mut is_behind) = (true, true);
    for slot in 0..one.len().max(other.len()) {
        let (one, other) = (counter(one, slot), counter(other, slot));
        is_before &= one <= other;
        is_behind &= one >= other;
    }
    is_before || is_behind
}

/// The judge's report. Numbers that no transaction has drawn were in the vector before.
fn judged(transactions: &[Recorded]) -> Report {
    let slots = transactions.iter().map(|one| one.vector.len()).max().unwrap_or(0);
    let mut before = vec![u64::MAX; slots];
    for one in transactions {
        let first = &mut before[one.slot as usize];
        *first = (*first).min(one.number - 1);
    }
    let mut builder = HistoryBuilder::new();
    let keys: Vec<_> = (0..slots).map(|slot| builder.integer_key(slot as i64)).collect();
    for one in transactions {
        let ended = Ended { process: Some(one.client), invoked: None, completed: None, line: 0 };
        builder.begin(Outcome::Committed);
        for ((&counter, &before), &key) in one.vector.iter().zip(&before).zip(&keys) {
            let seen = match counter <= before {
                true => Step::ReadInitial,
                false => Step::ReadValue(counter as i64),
            };
            builder.step(key, seen, None).expect("all are registers");
        }
        builder.end(ended);
        builder.begin(Outcome::Committed);
        let (key, number) = (keys[one.slot as usize], one.number as i64);
        builder.step(key, Step::Write(number), Some(number)).expect("all are registers");
        builder.end(ended);
    }
    judge(&builder.finish()).expect("each number is drawn once")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomparable_vectors_are_counted() {
        assert!(are_comparable(&[1, 2], &[1, 2, 0]) && are_comparable(&[1, 2], &[1, 2, 3]));
        assert!(!are_comparable(&[1, 2], &[2, 1]));
        assert_eq!(incomparable(&[&[0, 0], &[1, 0], &[0, 1], &[1, 1], &[2, 2]]), 2);
        assert_eq!(incomparable(&[&[0, 0], &[1, 0], &[1, 1]]), 0);
    }

    #[test]
    fn ours_are_comparable_at_full_rate_and_printed_ones_fork() {
        for seed in 1..4 {
            let ours = taken(seed, SnapshotSource::Ours, 64, 10_000);
            assert!(ours.distinct > 5 && ours.per_s > 1e6, "{} {}", ours.distinct, ours.per_s);
            assert_eq!(ours.incomparable, 0);
            assert_eq!(ours.verdict(Level::StrongSessionSnapshot), "holds");
        }
        let timestamps = Timestamps { fetch: Fetch::Background, slots: Slots::Threads };
        let way = SnapshotSource::Printed { timestamps, servers: 4, is_at_one_moment: true };
        let partitioned = taken(1, way, 20, 10_000);
        assert!(partitioned.incomparable > 1, "{}", partitioned.incomparable);
        assert_eq!(partitioned.verdict(Level::Snapshot), "violated");
        assert!(partitioned.anomalies().contains("G-nonadjacent"), "{}", partitioned.anomalies());
    }
}
