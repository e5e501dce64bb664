//! Measures how fast simulated worlds with hardware run, and how fast they are loaded: `cargo run
//! --release -p reproduce --example pace [verbs|tpcc [WINDOW_US]]`.
//!
//! The size is that of the papers' cluster, 28 memory servers and 28 compute servers of 60 threads
//! each: first a load like that of TPC-C, of verbs alone; then TPC-C with the whole protocol. Times
//! are processor times, so that other programs on the host matter less.

use fabric::{Batch, DynEnv, Env, Fabric};
use layout::{GlobalPtr, RegionId};
use sim::{AsEndpoint, Endpoint, Interval, Machines, Network, Reach, SimConfig, Tearing, World};
use std::cell::Cell;
use std::rc::Rc;
use txn::server::services;
use txn::{Database, DatabaseConfig, Lane, Oracle};
use workload::Workload;
use workload::tpcc::{Config, Scale, Terminal, Tpcc};

const SERVERS: u16 = 28;
const THREADS: u16 = 60;
const SERVER_WORDS: u64 = 1 << 20;
/// Number of rows that a transaction reads, and of those that it writes.
const ROWS_READ: u64 = 30;
const ROWS_WRITTEN: u64 = 16;
/// Average number of words of a row, including the header.
const ROW_WORDS: u64 = 30;
/// Rows start at multiples of this many words.
const ROW_SPACE: u64 = 64;
/// One transaction in this many accesses another server.
const REMOTE_ONE_IN: u64 = 10;
/// Warehouses of each memory server.
const WAREHOUSES_EACH: u32 = 50;
/// Queue pairs of a compute server to each memory server.
const QUEUE_PAIRS: u32 = 16;
/// Number of transactions of each thread before time passes.
const PRACTICE: u64 = 60;
/// Virtual time before counting starts.
const WARM_NS: u64 = 6_000_000;

fn main() {
    let only = std::env::args().nth(1);
    let is_wanted = |name| only.as_deref().is_none_or(|only| only == name);
    let window_us = std::env::args().nth(2).map(|text| text.parse::<u64>().expect("microseconds"));
    if is_wanted("verbs") {
        verbs_alone(1000 * window_us.unwrap_or(1000));
    }
    if is_wanted("tpcc") {
        protocol(1000 * window_us.unwrap_or(2000));
    }
}

/// The settings of a world in which only hardware takes time, with this many machines of either
/// kind and one to load from.
fn settings(nodes: u16, server_words: u64) -> SimConfig {
    const NOTHING: Interval = Interval::new(0, 0);
    SimConfig {
        server_words: vec![server_words; usize::from(nodes)],
        compute_nodes: nodes + 1,
        read_ns: NOTHING,
        write_ns: NOTHING,
        atomic_ns: NOTHING,
        answer_ns: NOTHING,
        call_ns: NOTHING,
        wake_ns: NOTHING,
        word_ns: 0,
        tearing: Tearing::None,
        network: Some(Network::connect_ib()),
        machines: Some(Machines { reach: Reach::CoreButAtomics, ..Machines::apart(2 * nodes + 1) }),
        parts_at_once: true,
        event_limit: u64::MAX,
        ..SimConfig::new(1).named("pace")
    }
}

/// Processor time of this process, in seconds.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells");
    let first = text.split_whitespace().next().expect("three numbers");
    first.parse::<u64>().expect("the first is nanoseconds") as f64 / 1e9
}

/// Lets this much time pass, and prints the cost.
fn pace(what: &str, world: &World, done: &Cell<u64>, window_ns: u64) {
    let (verbs, events, before) = (world.verbs(), world.events(), done.get());
    let start = processor_seconds();
    world.run_for(window_ns);
    let seconds = processor_seconds() - start;
    let (verbs, events) = (world.verbs() - verbs, world.events() - events);
    let transactions = done.get() - before;
    println!(
        "{what}: {:.2} virtual ms in 10 s, {:.2} million verbs and {:.2} million events a second; \
         {:.2} million transactions a virtual second, {:.1} verbs and {:.2} us of the simulator for each",
        window_ns as f64 / 1e5 / seconds,
        verbs as f64 / 1e6 / seconds,
        events as f64 / 1e6 / seconds,
        transactions as f64 * 1e3 / window_ns as f64,
        verbs as f64 / transactions as f64,
        seconds * 1e6 / transactions as f64,
    );
}

fn verbs_alone(window_ns: u64) {
    let world = World::new(settings(SERVERS, SERVER_WORDS));
    let done = Rc::new(Cell::new(0));
    for node in 0..SERVERS {
        for _ in 0..THREADS {
            let env = world.endpoint(world.compute_node(node));
            world.spawn_on(&env, like_tpcc(env.clone(), node, done.clone()));
        }
    }
    world.run_for(100_000);
    pace("verbs alone, 28 + 28 machines x 60 threads", &world, &done, window_ns);
}

/// Five round trips, with about 100 verbs and 18 KB in total: take a snapshot, read rows, lock rows
/// and read the words behind their headers, write old and new versions, publish.
async fn like_tpcc(env: Endpoint, home: u16, done: Rc<Cell<u64>>) {
    let mut batch = Batch::new();
    loop {
        let mut rows: Vec<GlobalPtr> = (0..ROWS_READ).map(|_| row(&env, home)).collect();
        if env.random().is_multiple_of(REMOTE_ONE_IN) {
            rows[0] = row(&env, (env.random() % u64::from(SERVERS)) as u16);
        }
        let written = &rows[..ROWS_WRITTEN as usize];
        batch.read(GlobalPtr::new(RegionId(0), 4096), u32::from(SERVERS));
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        for &row in &rows {
            batch.read(row, ROW_WORDS as u32);
        }
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        for &row in written {
            batch.compare_and_swap(row, 0, 0);
            batch.read(row, 2);
        }
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        for &row in written {
            for _ in 0..2 {
                let image = batch.reserve(ROW_WORDS as u32 - 1);
                batch.write(row.add_words(1), image);
            }
        }
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        batch.write_word(GlobalPtr::new(RegionId(0), 4096).add_words(u64::from(home)), 1);
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        env.compute_rows(ROWS_READ + ROWS_WRITTEN);
        done.set(done.get() + 1);
    }
}

/// A random row of a server.
fn row(env: &Endpoint, server: u16) -> GlobalPtr {
    let row = 64 + env.random() % (SERVER_WORDS / ROW_SPACE - 64);
    GlobalPtr::new(RegionId(server), 0).add_words(row * ROW_SPACE)
}

fn again(mut batch: Batch) -> Batch {
    batch.reset();
    batch
}

/// TPC-C as in figure 4 without locality, with the same amount loaded per warehouse.
fn protocol(window_ns: u64) {
    let scale =
        Scale { items: 1000, districts: 10, customers_per_district: 20, orders_per_district: 60 };
    let warehouses = WAREHOUSES_EACH * u32::from(SERVERS);
    let (partitions, keeps_versions) = (SERVERS.into(), true);
    let config = Config { partitions, keeps_versions, scale, ..Config::new(warehouses) };
    let tpcc = Tpcc::new(config).expect("the configuration is sound");
    let bytes = Workload::<DynEnv>::memory_bytes(&tpcc) / u64::from(SERVERS);
    // One more server has only the vector.
    let words = (4 * bytes / 8).next_power_of_two();
    let settings = settings(SERVERS + 1, words);
    let world = World::new(SimConfig { posts_lists: true, queue_pairs: QUEUE_PAIRS, ..settings });
    let nodes = world.serve(services);
    let founder = world.endpoint(world.compute_node(SERVERS + 1));
    let settings =
        DatabaseConfig { oracle: Oracle::Frozen, shares_slot: true, ..DatabaseConfig::default() };
    let start = processor_seconds();
    let database = world.load(&founder, loaded(&tpcc, founder.clone(), nodes, settings));
    let (seconds, rows) = (processor_seconds() - start, Workload::<DynEnv>::load_rows(&tpcc));
    println!("TPC-C loaded: {rows} rows, {:.2} million a minute", rows as f64 * 60e-6 / seconds);
    let done = Rc::new(Cell::new(0));
    let (mut homes, mut threads) = (Vec::new(), Vec::new());
    for node in 0..SERVERS {
        let home = database.elsewhere(world.endpoint(world.compute_node(node)).into_dyn());
        world.load(home.env(), home.refresh()).expect("the catalog is there");
        for thread in 0..THREADS {
            let database = home.with_env(world.endpoint(home.env().endpoint().node()).into_dyn());
            threads.push(world.load(database.env(), start_thread(tpcc, &database, (node, thread))));
        }
        homes.push(home);
    }
    for home in &homes {
        home.rely_on_collector();
        let home = home.clone();
        world.spawn_on(&home.env().clone(), async move {
            home.fetch_vectors(|| true).await.expect("the oracle's memory is there");
        });
    }
    let oracle = homes[0].elsewhere(world.service_endpoint(layout::NodeId(0)).into_dyn());
    world.spawn_on(&oracle.env().clone(), async move {
        oracle.collect_vectors(|| true).await.expect("its memory is there");
    });
    for (lane, terminal) in threads {
        let env = lane.env().clone();
        world.spawn_on(&env, transactions(tpcc, lane, terminal, done.clone()));
    }
    world.run_for(WARM_NS);
    pace("TPC-C with its protocol, 28 + 28 machines x 60 threads", &world, &done, window_ns);
}

async fn loaded(
    tpcc: &Tpcc,
    founder: Endpoint,
    nodes: Vec<layout::NodeId>,
    settings: DatabaseConfig,
) -> Database<DynEnv> {
    let database = Database::create(founder.into_dyn(), nodes, settings).await;
    let database = database.expect("the servers are empty");
    tpcc.create_tables(&database).await.expect("the tables are new");
    let mut lane = database.lane().await.expect("lanes are free");
    tpcc.load_part(&database, &mut lane, 0, 1, &|_| {}).await.expect("there is room");
    drop(lane);
    database.leave(0).await.expect("the servers answer");
    database
}

/// Makes a lane and a terminal, and lets them run their practice transactions; no time passes while
/// a world is loaded.
async fn start_thread(
    tpcc: Tpcc,
    database: &Database<DynEnv>,
    (node, thread): (u16, u16),
) -> (Lane<DynEnv>, Terminal) {
    let mut lane = database.lane().await.expect("there is one for each");
    let (each, thread) = (WAREHOUSES_EACH, u32::from(thread));
    let number = thread / each * each * u32::from(SERVERS) + u32::from(node) * each + thread % each;
    let warehouses = tpcc.config().warehouses;
    let threads = (number / warehouses + 1) * warehouses;
    let terminal = tpcc.terminal(database, number, threads, 1);
    let mut terminal = terminal.expect("the tables are there");
    for _ in 0..PRACTICE {
        tpcc.run_one(&mut lane, &mut terminal).await.expect("nothing fails here");
    }
    (lane, terminal)
}

async fn transactions(
    tpcc: Tpcc,
    mut lane: Lane<DynEnv>,
    mut terminal: Terminal,
    done: Rc<Cell<u64>>,
) {
    loop {
        tpcc.run_one(&mut lane, &mut terminal).await.expect("nothing fails here");
        done.set(done.get() + 1);
    }
}
