//! Trad-SI provides snapshot isolation.

use crate::lists::{self, Client, Ended, Operation};
use baselines::RowKey;
use baselines::message::{Reader, Writer};
use baselines::trad_si::{
    Cluster, CommitStep, Procedure, Snapshots, Stop, Transaction, TransactionOutcome, submit,
};
use fabric::{Env, FailurePoint, LocalWorld, WorldConfig, run_now};
use layout::NodeId;
use sim::{SimConfig, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::recording::Recordings;

const SEEDS: u64 = 60;
const SERVERS: u16 = 3;
const CLIENTS: u16 = 6;
const TRANSACTIONS: u64 = 40;
const LIST: u32 = 1;

/// Appends to lists and reads them.
struct Lists;

fn key(list: u64) -> RowKey {
    RowKey::new(list as u32, LIST, list)
}

fn elements(content: &[u8]) -> Vec<i64> {
    content.chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().expect("8 bytes"))).collect()
}

fn content(list: &[i64]) -> Vec<u8> {
    list.iter().flat_map(|element| element.to_le_bytes()).collect()
}

fn encode(operations: &[Operation]) -> Vec<u8> {
    let mut to = Writer::new();
    for &operation in operations {
        let (list, value) = match operation {
            Operation::Read(list) => (list, 0),
            Operation::Append(list, value) => (list, value as u64),
        };
        to.u64(list);
        to.u64(value);
    }
    to.finish()
}

fn decode(input: &[u8]) -> Vec<Operation> {
    let mut from = Reader::new(input);
    let mut operations = Vec::new();
    while !from.is_empty() {
        let (list, value) = (from.u64().expect("a list"), from.u64().expect("a value"));
        operations.push(match value {
            0 => Operation::Read(list),
            value => Operation::Append(list, value as i64),
        });
    }
    operations
}

impl Procedure for Lists {
    async fn run<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let operations = decode(input);
        let touched = lists::touched(&operations);
        let keys: Vec<RowKey> = touched.iter().map(|&list| key(list)).collect();
        let rows = transaction.read(&keys).await?;
        let read = rows.iter().map(|row| row.as_deref().map(elements).unwrap_or_default());
        let mut lists: BTreeMap<u64, Vec<i64>> = touched.iter().copied().zip(read).collect();
        let seen = lists::carry_out(&operations, &mut lists);
        for (list, elements) in lists {
            if lists::is_changed(&operations, list) {
                transaction.write(key(list), content(&elements));
            }
        }
        let mut answer = Writer::new();
        seen.iter().for_each(|list| answer.string(&content(list)));
        Ok(answer.finish())
    }
}

fn ended(outcome: TransactionOutcome) -> Ended {
    match outcome {
        TransactionOutcome::Committed(answer) => {
            let mut from = Reader::new(&answer);
            let mut seen = Vec::new();
            while !from.is_empty() {
                seen.push(elements(from.string().expect("a list")));
            }
            Ended::Committed(seen)
        }
        TransactionOutcome::Unknown => Ended::Unknown,
        TransactionOutcome::Aborted | TransactionOutcome::RolledBack => Ended::Aborted,
    }
}

async fn transactions<E: Env>(env: E, mut client: Client, manager: NodeId) {
    for _ in 0..TRANSACTIONS {
        let operations = client.draw();
        client.begin(env.now_ns());
        let outcome = submit(&env, manager, encode(&operations)).await;
        client.end(env.now_ns(), &operations, ended(outcome));
    }
}

/// Executes a run in a simulated world; returns its recordings.
fn simulated(seed: u64, snapshots: Snapshots, dies_at: Option<CommitStep>) -> (Recordings, String) {
    let config = SimConfig { compute_nodes: SERVERS + CLIENTS, ..SimConfig::hostile(seed) };
    let world = World::new(config.named("trad-si").with_servers(&[1024]));
    let servers: Vec<NodeId> = (0..SERVERS).map(|index| world.compute_node(index)).collect();
    let cluster = Cluster { timestamps: servers[seed as usize % 2], servers, snapshots };
    cluster.start(
        &Arc::new(Lists),
        |_, _| {},
        |node, id, service| world.register(node, id, service),
    );
    if let Some(step) = dies_at {
        world.kill_at(step.name(), 5);
    }
    let recordings = Recordings::default();
    for number in 0..CLIENTS {
        let env = world.endpoint(world.compute_node(SERVERS + number));
        let client = Client::new(&recordings, seed, number.into());
        let manager = cluster.servers[usize::from(number % SERVERS)];
        world.spawn_on(&env, transactions(env.clone(), client, manager));
    }
    assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
    (recordings, world.identity())
}

#[test]
fn hostile_worlds_see_snapshots() {
    let mut write_skews = 0;
    for seed in 0..SEEDS {
        let snapshots = if seed % 3 == 0 { Snapshots::Told } else { Snapshots::Asked };
        let (recordings, identity) = simulated(seed, snapshots, None);
        let report = lists::judged(&recordings, 60, &identity);
        assert!(lists::is_snapshot(&report), "{identity}: {:?}", report.findings);
        let serializable = report.verdict(history_judge::Level::Serializable);
        write_skews += u64::from(serializable == &history_judge::Verdict::Violated);
    }
    assert!(write_skews > 0, "runs without conflicts prove nothing");
}

/// No server takes over the data or transactions of a dead one, and no snapshot includes half of a
/// commit.
#[test]
fn the_death_of_a_manager_breaks_no_snapshot() {
    let mut unknown = 0;
    for &step in CommitStep::ALL {
        for seed in 0..SEEDS / 4 {
            let (recordings, identity) = simulated(seed, Snapshots::Asked, Some(step));
            let report = lists::judged(&recordings, 3, &identity);
            assert!(lists::is_snapshot(&report), "{identity}, {step:?}: {:?}", report.findings);
            unknown += report.counts.unknown;
        }
    }
    assert!(unknown > 0, "clients of a dead manager get unknown outcomes");
}

#[test]
fn the_same_code_runs_in_threads_of_a_process() {
    let config = WorldConfig { server_bytes: vec![1 << 16; usize::from(SERVERS)], seed: 1 };
    let world = LocalWorld::new(&config).expect("little memory");
    let servers: Vec<NodeId> = (0..SERVERS).map(NodeId).collect();
    let snapshots = Snapshots::default();
    let cluster = Cluster { timestamps: servers[0], servers, snapshots };
    cluster.start(
        &Arc::new(Lists),
        |_, _| {},
        |node, id, service| world.register(node, id, service),
    );
    let recordings = Recordings::default();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let client = Client::new(&recordings, 1, number);
            let (env, manager) = (world.endpoint(), cluster.servers[number as usize]);
            scope.spawn(move || run_now(transactions(env, client, manager)));
        }
    });
    let report = lists::judged(&recordings, 40, "local");
    assert!(lists::is_snapshot(&report), "{:?}", report.findings);
}
