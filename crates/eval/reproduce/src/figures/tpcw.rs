//! [blog, figure 4 and its text]: the transaction "buy" on eight machines, by one-sided verbs with
//! a global oracle (RSI), and by messages over IP over InfiniBand and over Ethernet (Trad-SI).

use crate::busy::Busy;
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series, Table};
use crate::world::{Done, network, per_second, world_on};
use baselines::rsi::{self, Ended, Records, timestamp_thread};
use baselines::tpcw::rsi::Places;
use baselines::tpcw::trad_si::Buy;
use baselines::tpcw::{self, Source};
use baselines::trad_si::{Cluster, Snapshots, TransactionOutcome};
use fabric::Env;
use layout::NodeId;
use sim::{Endpoint, Machines, World};
use std::rc::Rc;
use std::sync::Arc;

const MACHINES: u16 = 8;
/// Machines of RSI that store records; the others run transactions.
const MEMORY_SERVERS: u16 = 4;
/// Ports in use: the blog has one dual-port card.
const PORTS: u64 = 2;
const CLIENTS: [u64; 8] = [10, 20, 30, 40, 50, 60, 70, 140];
const CLIENTS_QUICK: [u64; 2] = [10, 70];
/// The number of clients with which the text's 1.79 million were measured.
const PUBLISHED_CLIENTS: f64 = 70.0;
/// That number, in millions per second.
const PUBLISHED_RSI: f64 = 1.79;
/// Other possible settings of RSI with these clients: description, whether atomics on one word
/// exclude each other, and how long a client waits between transactions.
const OTHERWISE: [(&str, bool, u64); 4] = [
    ("nothing", true, 0),
    ("atomics on one word take no time", false, 0),
    ("clients wait for 13 us between transactions", true, 13_000),
    ("clients wait for 26 us between transactions", true, 26_000),
];
/// Number of products of all machines together.
const PRODUCTS: u64 = 80_000;

/// The engine that runs transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Engine {
    Rsi,
    /// Over the network of a profile, with this many cores of each server; `None`: all of them.
    TradSi(&'static str, Option<u64>),
}

const SERIES: [(Engine, &str); 6] = [
    (Engine::Rsi, "RSI, one-sided RDMA"),
    (Engine::TradSi("ipoib-fdr", None), "Trad-SI, IP over InfiniBand"),
    (Engine::TradSi("ethernet-1g", None), "Trad-SI, 1 Gbit/s Ethernet"),
    (Engine::TradSi("ipoib-fdr", Some(1)), "Trad-SI, IP over InfiniBand, one core"),
    (Engine::TradSi("ethernet-1g", Some(1)), "Trad-SI, 1 Gbit/s Ethernet, one core"),
    (Engine::TradSi("connect-ib-2xfdr", None), "Trad-SI, two-sided RDMA"),
];

/// Runs all engines over all numbers of clients.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let counts: &[u64] = run.quick_or(&CLIENTS_QUICK, &CLIENTS);
    let mut steps = Steps::of(counts.len() * SERIES.len() + OTHERWISE.len());
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (engine, name) in SERIES {
        let mut points = Vec::new();
        let mut busiest = String::new();
        for &clients in counts {
            steps.next(run, name);
            let (per_s, most) = match engine {
                Engine::Rsi => rsi_per_s(run, clients, (true, 0)),
                Engine::TradSi(profile, cores) => trad_si_per_s(run, profile, cores, clients),
            };
            points.push((clients as f64, per_s));
            busiest = most;
        }
        notes.push(format!("{name}: with the most clients the busiest is {busiest}."));
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let compared = compared(&series);
    let rows = OTHERWISE.map(|(what, excludes, wait_ns)| {
        steps.next(run, what);
        let (per_s, _) = rsi_per_s(run, PUBLISHED_CLIENTS as u64, (excludes, wait_ns));
        vec![what.to_owned(), format!("{:.2}", per_s / 1e6), format!("{PUBLISHED_RSI:.2}")]
    });
    let printed = vec![(PUBLISHED_CLIENTS, PUBLISHED_RSI * 1e6)];
    series.insert(
        1,
        Series { name: "RSI, as printed".to_owned(), points: printed, is_published: true },
    );
    notes.extend(NOTES.map(str::to_owned));
    Outcome {
        parameters: vec![
            ("machines", MACHINES.to_string()),
            ("memory servers of RSI among them", MEMORY_SERVERS.to_string()),
            ("products", PRODUCTS.to_string()),
            ("bytes of a product", (u64::from(tpcw::PRODUCT_WORDS) * 8).to_string()),
            ("bytes of an order, and of each line", (u64::from(tpcw::ORDER_WORDS) * 8).to_string()),
            ("ports in use", PORTS.to_string()),
        ],
        x: Axis { title: "clients", is_logarithmic: false },
        y: Axis { title: "transactions per second", is_logarithmic: true },
        tables: vec![Table {
            shows: format!(
                "RSI with {PUBLISHED_CLIENTS} clients; none of it is chosen by what is printed"
            ),
            columns: ["changed", "million transactions/s", "printed"].map(str::to_owned).to_vec(),
            rows: rows.to_vec(),
        }],
        compared,
        series,
        notes,
    }
}

const NOTES: [&str; 3] = [
    "Machine 0 keeps the timestamps. The word from which RSI draws them is full at 2.3 million a second.",
    "The texts print no point of the curves but these; \"70 clients\" is printed for RSI alone.",
    "RSI runs on four memory servers and four compute servers; Trad-SI on eight servers, with clients on machines of \
     their own.",
];

fn compared(series: &[Series]) -> Vec<Compared> {
    let most =
        |series: &Series| series.points.iter().fold(0.0, |most: f64, point| most.max(point.1));
    let at_70 = series[0].points.iter().find(|point| point.0 == PUBLISHED_CLIENTS);
    let rsi = at_70.expect("every run has this number of clients").1 / 1e6;
    let thousands: Vec<f64> = series[1..5].iter().map(|series| most(series) / 1e3).collect();
    let compare = |what: &str, unit, published, ours, (role, why)| Compared {
        what: what.to_owned(),
        unit,
        published,
        ours,
        role,
        why,
    };
    let prediction = |why| (Role::Prediction, Some(why));
    let chosen = (Role::Calibration, Some(WHY_ONE_CORE));
    vec![
        compare(
            "RSI, 70 clients, as the blog prints it",
            "M/s",
            PUBLISHED_RSI,
            rsi,
            prediction(WHY_RSI),
        ),
        compare("RSI, \"up to\", as ZB17 7.2 quotes it", "M/s", 1.1, rsi, prediction(WHY_QUOTED)),
        compare("Trad-SI, IPoIB, at most", "k/s", 24.0, thousands[0], prediction(WHY_CORES)),
        compare("Trad-SI, Ethernet, at most", "k/s", 32.0, thousands[1], prediction(WHY_CORES)),
        compare("Trad-SI, IPoIB, one core", "k/s", 24.0, thousands[2], chosen),
        compare("Trad-SI, Ethernet, one core", "k/s", 32.0, thousands[3], chosen),
        compare(
            "Ethernet, of IPoIB, one core",
            "x",
            32.0 / 24.0,
            thousands[3] / thousands[2],
            prediction(WHY_ONE_CORE),
        ),
    ]
}

const WHY_RSI: &str = "a transaction takes 13 us here and 39 us in the text (70 clients at 1.79 million), so that fewer \
    clients reach what one word's atomics allow, which is 2.3 million here and 2 million by ZB17 7.2; the table has both";
const WHY_QUOTED: &str = "the texts differ on what one experiment gave";
const WHY_CORES: &str = "all 16 cores of a server take messages here; with one core for each server it comes out, and the \
    texts do not say how many threads served";
const WHY_ONE_CORE: &str = "the server that keeps the timestamps, too, is full before the others";

/// Virtual time before counting, and while counting.
fn windows_ns(run: &Run<'_>, is_fast: bool) -> (u64, u64) {
    match is_fast {
        true => (200_000, run.quick_or(400_000, 2_000_000)),
        false => (10_000_000, run.quick_or(20_000_000, 100_000_000)),
    }
}

fn measured(
    world: &World,
    nodes: impl IntoIterator<Item = NodeId>,
    done: &Done,
    (warm_ns, window_ns): (u64, u64),
) -> (f64, String) {
    world.run_for(warm_ns);
    let busy = Busy::since(world, nodes);
    let per_s = per_second(world, done, (0, window_ns));
    (per_s, busy.most(world))
}

/// Transactions per second, and the busiest stage, with or without exclusion of atomics on one
/// word, and with a wait of clients between transactions.
fn rsi_per_s(run: &Run<'_>, clients: u64, (excludes, wait_ns): (bool, u64)) -> (f64, String) {
    let servers = u64::from(MEMORY_SERVERS);
    let places = Places {
        servers,
        products_per_server: PRODUCTS / servers,
        clients,
        orders_per_client: 1 << 10,
    };
    let nodes = MACHINES - MEMORY_SERVERS;
    let mut network = network("connect-ib-2xfdr", PORTS);
    if !excludes {
        network.card.same_word_atomic_ps = 0;
    }
    let machines = Machines::apart(MACHINES);
    let world =
        world_on(machines, run.seed, network, (MEMORY_SERVERS, nodes), places.server_words());
    let thread_env = world.service_endpoint(NodeId(0));
    let thread = timestamp_thread::run(thread_env.clone(), places.oracle(), || true);
    world.spawn_on(&thread_env, async move { thread.await.expect("the oracle is alive") });
    let done = Done::default();
    for client in 0..clients {
        let env = world.endpoint(world.compute_node((client % u64::from(nodes)) as u16));
        let source = Source::new(run.seed, client, servers, places.products_per_server);
        world.spawn_on(&env, buy_one_sided(env.clone(), places, (source, wait_ns), done.clone()));
    }
    measured(&world, (0..MACHINES).map(NodeId), &done, windows_ns(run, true))
}

async fn buy_one_sided(
    env: Endpoint,
    places: Places,
    (mut source, wait_ns): (Source, u64),
    done: Done,
) {
    let client = rsi::Client::new(
        env.clone(),
        places.oracle(),
        Records::AsPublished,
        Endpoint::compute_rows,
    );
    loop {
        let ended = tpcw::rsi::buy(&client, &places, &source.draw()).await;
        if let Ended::Committed(_) = ended.expect("the servers are alive") {
            done.set(done.get() + 1);
        }
        if wait_ns > 0 {
            env.sleep_ns(wait_ns).await;
        }
    }
}

fn trad_si_per_s(run: &Run<'_>, profile: &str, cores: Option<u64>, clients: u64) -> (f64, String) {
    let is_rdma = profile == "connect-ib-2xfdr";
    let mut network = network(profile, if is_rdma { PORTS } else { 1 });
    network.core.cores = cores.unwrap_or(network.core.cores);
    let machines = Machines::apart(1 + 2 * MACHINES);
    let world = world_on(machines, run.seed, network, (1, 2 * MACHINES), 1 << 10);
    let servers: Vec<NodeId> = (0..MACHINES).map(|index| world.compute_node(index)).collect();
    let snapshots = Snapshots::Asked;
    let cluster = Rc::new(Cluster { timestamps: servers[0], servers, snapshots });
    let products_per_server = PRODUCTS / u64::from(MACHINES);
    let owners = cluster.start(&Arc::new(Buy), Endpoint::compute_rows, |node, id, service| {
        world.register(node, id, service);
    });
    tpcw::trad_si::load_products(&owners, products_per_server);
    let done = Done::default();
    for client in 0..clients {
        let node = MACHINES + (client % u64::from(MACHINES)) as u16;
        let env = world.endpoint(world.compute_node(node));
        let source = Source::new(run.seed, client, MACHINES.into(), products_per_server);
        world.spawn_on(&env, buy_by_messages(env.clone(), cluster.clone(), source, done.clone()));
    }
    measured(&world, cluster.servers.iter().copied(), &done, windows_ns(run, is_rdma))
}

async fn buy_by_messages(env: Endpoint, cluster: Rc<Cluster>, mut source: Source, done: Done) {
    loop {
        match tpcw::trad_si::buy(&env, &cluster, &source.draw()).await {
            TransactionOutcome::Committed(_) => done.set(done.get() + 1),
            TransactionOutcome::Aborted => {}
            outcome => unreachable!("the servers are alive, and have all products: {outcome:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_beat_messages_and_the_faster_network_has_the_dearer_ones() {
        let mut progress = |_, _, _: &str| {};
        let run = Run { seed: 1, is_quick: true, threads: 1, keep: None, progress: &mut progress };
        let rsi = rsi_per_s(&run, 40, (true, 0)).0;
        let [ipoib, ethernet] =
            ["ipoib-fdr", "ethernet-1g"].map(|profile| trad_si_per_s(&run, profile, Some(1), 40).0);
        assert!(rsi > 50.0 * ethernet && ethernet > 1.2 * ipoib, "{rsi} {ethernet} {ipoib}");
    }
}
