//! RSI: where it keeps its promise, and the anomalies that its faults cause.

use crate::lists::{self, Client, Ended, Operation};
use baselines::rsi::{self, CommitStep, Oracle, Record, Records, timestamp_thread};
use fabric::{Batch, Env, Fabric, FabricError, FailurePoint, LocalWorld, WorldConfig, run_now};
use layout::{GlobalPtr, RegionId};
use sim::{SimConfig, Tearing, World};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use workload::recording::Recordings;

const SEEDS: u64 = 60;
const SERVERS: u16 = 3;
const CLIENTS: u64 = 6;
const TRANSACTIONS: u64 = 60;
/// The oracle is behind the header of the first region; the lists are behind it in all regions.
const ORACLE: Oracle = Oracle::new(GlobalPtr::new(RegionId(0), 4096));
const LISTS_AT: u64 = 4096 + Oracle::BYTES;
/// The largest number of elements of a list, behind their number.
const ELEMENTS_MAX: u32 = 40;
const LIST_WORDS: u32 = 1 + ELEMENTS_MAX;
const SERVER_WORDS: u64 = 1 << 15;

fn record(list: u64) -> Record {
    let (server, place) = (list % u64::from(SERVERS), list / u64::from(SERVERS));
    let region = GlobalPtr::new(RegionId(server as u16), LISTS_AT);
    let at = region.add_words(place * u64::from(Records::words(LIST_WORDS)));
    Record { at, words: LIST_WORDS }
}

/// The elements in the words of a list. The words of two versions may imply more elements than
/// exist.
fn elements(content: &[u64]) -> Vec<i64> {
    let count = content[0].min(ELEMENTS_MAX.into()) as usize;
    content[1..=count].iter().map(|&element| element as i64).collect()
}

fn content(elements: &[i64]) -> Vec<u64> {
    let mut content = vec![0; LIST_WORDS as usize];
    content[0] = elements.len() as u64;
    for (word, &element) in content[1..].iter_mut().zip(elements) {
        *word = element as u64;
    }
    content
}

async fn transaction<E: Env>(
    client: &rsi::Client<E>,
    operations: &[Operation],
) -> Result<Ended, FabricError> {
    let touched = lists::touched(operations);
    let records: Vec<Record> = touched.iter().map(|&list| record(list)).collect();
    let mut snapshot = client.begin().await?;
    if !client.read(&mut snapshot, &records).await? {
        return Ok(Ended::Aborted);
    }
    let read = (0..touched.len()).map(|place| elements(snapshot.content(place)));
    let mut lists: BTreeMap<u64, Vec<i64>> = touched.iter().copied().zip(read).collect();
    let seen = lists::carry_out(operations, &mut lists);
    let mut updates = Vec::new();
    for (place, list) in touched.iter().enumerate() {
        if lists[list].len() > ELEMENTS_MAX as usize {
            return Ok(Ended::Aborted);
        }
        if lists::is_changed(operations, *list) {
            updates.push((place, content(&lists[list])));
        }
    }
    if updates.is_empty() {
        return Ok(Ended::Committed(seen));
    }
    Ok(match client.commit(&snapshot, &updates, &[]).await? {
        rsi::Ended::Committed(_) => Ended::Committed(seen),
        rsi::Ended::Aborted => Ended::Aborted,
    })
}

async fn transactions<E: Env>(env: E, records: Records, mut client: Client) {
    let engine = rsi::Client::new(env.clone(), ORACLE, records, |_, _| {});
    for _ in 0..TRANSACTIONS {
        let operations = client.draw();
        client.begin(env.now_ns());
        let ended = transaction(&engine, &operations).await.expect("the servers are alive");
        let is_aborted = matches!(ended, Ended::Aborted);
        client.end(env.now_ns(), &operations, ended);
        if is_aborted {
            env.yield_now().await;
        }
    }
}

/// A run in which, if `dies_at` is set, the fifth client that reaches this step dies there.
fn run(records: Records, config: SimConfig, dies_at: Option<CommitStep>) -> (Recordings, World) {
    let seed = config.seed;
    let world = World::new(config.named("rsi").with_servers(&[SERVER_WORDS; SERVERS as usize]));
    let recordings = Recordings::default();
    let running = Rc::new(Cell::new(CLIENTS - u64::from(dies_at.is_some())));
    if let Some(step) = dies_at {
        world.kill_at(step.name(), 5);
    }
    for number in 0..CLIENTS {
        let env = world.endpoint(world.compute_node(number as u16 % 3));
        let client = Client::new(&recordings, seed, number);
        let (own, running) = (env.clone(), running.clone());
        world.spawn_on(&env, async move {
            transactions(own, records, client).await;
            running.set(running.get() - 1);
        });
    }
    let server = world.service_endpoint(layout::NodeId(0));
    let thread = timestamp_thread::run(server.clone(), ORACLE, move || running.get() > 0);
    world.spawn_on(&server, async move { thread.await.expect("its own memory is there") });
    assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
    (recordings, world)
}

#[test]
fn untorn_records_give_snapshots() {
    for seed in 0..SEEDS {
        let (recordings, world) = run(Records::Untorn, SimConfig::hostile(seed), None);
        let identity = world.identity();
        let report = lists::judged(&recordings, 40, &identity);
        assert!(lists::is_snapshot(&report), "{identity}: {:?}", report.findings);
        let (read, drawn) = settled(&world);
        assert_eq!(read, drawn, "{identity}: all have ended");
    }
}

/// The read timestamp after the whole list of outcomes has been scanned, and the last commit
/// timestamp.
fn settled(world: &World) -> (u64, u64) {
    let server = world.service_endpoint(layout::NodeId(0));
    let mut read = world.peek(ORACLE.read_timestamp());
    loop {
        let raised = timestamp_thread::raise(&server, ORACLE, read);
        let raised = world.block_on(&server, raised).expect("its own memory is there");
        if raised == read {
            return (read, world.peek(ORACLE.commit_timestamp()));
        }
        read = raised;
    }
}

/// [ZB17 3.2]: a compute server that dies during a commit leaves a gap, and perhaps locks;
/// snapshots remain correct.
#[test]
fn the_death_of_a_compute_server_stops_the_read_timestamp_and_breaks_no_snapshot() {
    for &step in CommitStep::ALL {
        for seed in 0..SEEDS / 4 {
            let (recordings, world) = run(Records::Untorn, SimConfig::hostile(seed), Some(step));
            let identity = format!("{}, death at {step:?}", world.identity());
            let report = lists::judged(&recordings, 5, &identity);
            assert!(lists::is_snapshot(&report), "{identity}: {:?}", report.findings);
            let (read, drawn) = settled(&world);
            assert!(read < drawn, "{identity}: {read} of {drawn}");
        }
    }
}

/// The number of worlds in which the records as printed violate snapshot isolation.
fn violations(tearing: Tearing) -> u64 {
    let is_violated = |&seed: &u64| {
        let config = SimConfig { tearing, ..SimConfig::hostile(seed) };
        let (recordings, world) = run(Records::AsPublished, config, None);
        !lists::is_snapshot(&lists::judged(&recordings, 40, &world.identity()))
    };
    (0..SEEDS).filter(is_violated).count() as u64
}

/// The new content with the old version: a reader of a record that is being installed takes it for
/// the snapshot's version.
#[test]
fn records_as_printed_are_torn_where_words_are_read_in_any_order() {
    assert!(violations(Tearing::AnyOrder) > 0);
}

/// They have no other fault.
#[test]
fn records_as_printed_give_snapshots_where_a_verb_is_one_moment() {
    assert_eq!(violations(Tearing::None), 0);
}

#[test]
fn the_same_code_runs_in_threads_of_a_process() {
    let config = WorldConfig { server_bytes: vec![1 << 20; usize::from(SERVERS)], seed: 1 };
    let world = LocalWorld::new(&config).expect("little memory");
    let (recordings, running) = (Recordings::default(), AtomicU64::new(2));
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (env, running) = (world.endpoint(), &running);
            let client = Client::new(&recordings, 1, number);
            scope.spawn(move || {
                run_now(transactions(env, Records::Untorn, client));
                running.fetch_sub(1, Relaxed);
            });
        }
        let thread = timestamp_thread::run(world.endpoint(), ORACLE, || running.load(Relaxed) > 0);
        run_now(thread).expect("the oracle is alive");
    });
    let report = lists::judged(&recordings, 5, "local");
    assert!(lists::is_snapshot(&report), "{:?}", report.findings);
}

/// [ZB17 3.2]: a compute server that fails leaves a gap in the list of outcomes.
#[test]
fn a_death_with_a_commit_timestamp_stops_the_read_timestamp() {
    let config = WorldConfig { server_bytes: vec![1 << 20; usize::from(SERVERS)], seed: 1 };
    let world = LocalWorld::new(&config).expect("little memory");
    let env = world.endpoint();
    let client = rsi::Client::new(env.clone(), ORACLE, Records::Untorn, |_, _| {});
    let append = |value| run_now(transaction(&client, &[Operation::Append(0, value)]));
    let raise = |from| run_now(timestamp_thread::raise(&env, ORACLE, from)).expect("it is alive");
    assert!(matches!(append(1), Ok(Ended::Committed(_))));
    assert_eq!(raise(0), 1);
    let mut batch = Batch::new();
    batch.fetch_and_add(ORACLE.commit_timestamp(), 1);
    env.execute_now(&mut batch).expect("the oracle is alive");
    assert!(matches!(append(2), Ok(Ended::Committed(_))), "commits go on");
    assert_eq!(raise(1), 1, "and are in no snapshot");
    assert!(matches!(append(3), Ok(Ended::Aborted)), "nor can anybody read what they wrote");
}
