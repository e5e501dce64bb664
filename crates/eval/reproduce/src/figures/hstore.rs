//! [ZB17 7.3, compared with figure 6]: new orders on an engine in the manner of H-Store, by the
//! degree of distribution.

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series, Table};
use crate::world::{Done, network, per_second, settings_on};
use baselines::Work;
use baselines::h_store::{Cluster, SerialOutcome, submit};
use baselines::tpcc::{SerialNewOrder, Terminal};
use layout::NodeId;
use sim::{Endpoint, Interval, Machines, SimConfig, World};
use std::sync::Arc;
use workload::tpcc::{Config, Mix, Scale};

const MACHINES: u16 = 8;
/// All warehouses [ZB17 7.3].
const WAREHOUSES: u32 = 200;
/// Number of clients, enough that some wait for every site.
const CLIENTS: u16 = 160;
/// The population of each warehouse.
const SCALE: Scale =
    Scale { items: 100, districts: 10, customers_per_district: 12, orders_per_district: 12 };
const DEGREES: [u32; 7] = [0, 5, 10, 25, 50, 75, 100];
const DEGREES_QUICK: [u32; 3] = [0, 10, 100];
/// Thousand new orders per second that the text prints if all are distributed.
const PRINTED_ALL: f64 = 0.9;
/// The time of a row at a site, chosen so that the printed number results if no transaction is
/// distributed.
const CALIBRATED_ROW_NS: u64 = 15_400;

/// Additional delays of messages, for another run of the first engine: ordering transactions and
/// voting need further messages that our engine does not have.
const LATER_US: [u64; 4] = [200, 400, 800, 1600];

/// The cost of computing at a site.
#[derive(Clone, Copy)]
struct Engine {
    name: &'static str,
    sites_each: u32,
    work: Work<Endpoint>,
    /// Counted virtual time in a full run.
    window_ns: u64,
}

const ENGINES: [Engine; 3] = [
    Engine {
        name: "one site each, rows as slow as H-Store's",
        sites_each: 1,
        work: |env, rows| env.compute_ns(rows * CALIBRATED_ROW_NS),
        window_ns: 1_000_000_000,
    },
    Engine {
        name: "one site each, our rows",
        sites_each: 1,
        work: Endpoint::compute_rows,
        window_ns: 50_000_000,
    },
    Engine {
        name: "a site for each warehouse, our rows",
        sites_each: WAREHOUSES / MACHINES as u32,
        work: Endpoint::compute_rows,
        window_ns: 20_000_000,
    },
];

/// Runs all engines over all degrees.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let degrees: &[u32] = run.quick_or(&DEGREES_QUICK, &DEGREES);
    let mut steps = Steps::of(degrees.len() * ENGINES.len() + LATER_US.len());
    let mut series = Vec::new();
    for engine in ENGINES {
        let mut points = Vec::new();
        for &degree in degrees {
            steps.next(run, engine.name);
            let window_ns = engine.window_ns / run.quick_or(4, 1);
            let per_s = new_orders_per_s(run.seed, &engine, (degree, 0), window_ns);
            points.push((f64::from(degree), per_s));
        }
        series.push(Series { name: engine.name.to_owned(), points, is_published: false });
    }
    let end = |series: &Series, place: usize| series.points[place].1;
    let last = degrees.len() - 1;
    let slow = &series[0];
    let (none, all) = (end(slow, 0), end(slow, last));
    let compare = |what: &str, unit, published, ours, (role, why)| Compared {
        what: what.to_owned(),
        unit,
        published,
        ours,
        role,
        why,
    };
    let rows = LATER_US.map(|later_us| with_later_messages(run, &mut steps, later_us));
    let notes = series[1..].iter().map(|series| {
        let (none, all) = (end(series, 0), end(series, last));
        format!("{}: {none:.0} a second, {all:.0} if all are distributed.", series.name)
    });
    Outcome {
        parameters: vec![
            ("machines", MACHINES.to_string()),
            ("warehouses", WAREHOUSES.to_string()),
            ("clients", CLIENTS.to_string()),
            ("ns of a row, as slow as H-Store's", CALIBRATED_ROW_NS.to_string()),
        ],
        x: Axis { title: "new-orders that are distributed, percent", is_logarithmic: false },
        y: Axis { title: "new-orders per second", is_logarithmic: true },
        tables: vec![Table {
            shows: "Rows as slow as H-Store's and all distributed, if messages arrived later"
                .to_owned(),
            columns: ["later, us", "new-orders per second", "printed"].map(str::to_owned).to_vec(),
            rows: rows.to_vec(),
        }],
        compared: vec![
            compare("no new-order distributed", "k/s", 11.0, none / 1e3, (Role::Calibration, None)),
            compare(
                "all distributed",
                "k/s",
                PRINTED_ALL,
                all / 1e3,
                (Role::Prediction, Some(WHY_ALL)),
            ),
            compare(
                "what distribution costs",
                "%",
                90.0,
                100.0 * (1.0 - all / none),
                (Role::Prediction, Some(WHY_ALL)),
            ),
        ],
        notes: notes.collect(),
        series,
    }
}

/// A row of the table of delayed messages.
fn with_later_messages(run: &mut Run<'_>, steps: &mut Steps, later_us: u64) -> Vec<String> {
    steps.next(run, "later messages");
    let window_ns = ENGINES[0].window_ns / run.quick_or(4, 1);
    let all = new_orders_per_s(run.seed, &ENGINES[0], (100, later_us * 1000), window_ns);
    vec![later_us.to_string(), format!("{all:.0}"), format!("{:.0}", 1000.0 * PRINTED_ALL)]
}

const WHY_ALL: &str = "two sites are blocked for two round trips and both computations; how H-Store orders transactions and \
                       votes, which takes longer, is not printed; the table shows how much later messages would have to arrive";

/// Committed new orders per second, if `degree` percent of them take one line from another
/// warehouse, and messages arrive this much later than in the network.
fn new_orders_per_s(
    seed: u64,
    engine: &Engine,
    (degree, later_ns): (u32, u64),
    window_ns: u64,
) -> f64 {
    let (scale, distribution_percent) = (SCALE, Some(degree));
    let config =
        Config { scale, distribution_percent, mix: Mix::NEW_ORDER_ONLY, ..Config::new(WAREHOUSES) };
    // Clients are on machines of their own, as many as the engine has.
    let machines = Machines::apart(1 + 2 * MACHINES);
    let network = network("ipoib-fdr", 1);
    let settings = settings_on(machines, seed, network, (1, 2 * MACHINES), 1 << 10);
    let call_ns = Interval::new(later_ns, later_ns);
    let world = World::new(SimConfig { call_ns, ..settings });
    let machines: Vec<NodeId> = (0..MACHINES).map(|index| world.compute_node(index)).collect();
    let cluster = Arc::new(Cluster { machines, sites: engine.sites_each * u32::from(MACHINES) });
    let new_order = Arc::new(SerialNewOrder::new(config, cluster.sites));
    let machines = cluster
        .start(&new_order, engine.work, |node, id, service| world.register(node, id, service));
    new_order.load(&machines);
    let done = Done::default();
    for client in 0..CLIENTS {
        let env = world.endpoint(world.compute_node(MACHINES + client % MACHINES));
        let warehouse = u32::from(client) * WAREHOUSES / u32::from(CLIENTS) + 1;
        let terminal = Terminal::new(&config, seed, client.into(), warehouse);
        world.spawn_on(
            &env,
            new_orders(env.clone(), cluster.clone(), warehouse, terminal, done.clone()),
        );
    }
    per_second(&world, &done, (window_ns / 4, window_ns))
}

async fn new_orders(
    env: Endpoint,
    cluster: Arc<Cluster>,
    warehouse: u32,
    mut terminal: Terminal,
    done: Done,
) {
    let machine = cluster.machines[cluster.machine(cluster.site(warehouse - 1))];
    loop {
        match submit(&env, machine, terminal.draw().encode()).await {
            SerialOutcome::Committed => done.set(done.get() + 1),
            SerialOutcome::RolledBack => {}
            SerialOutcome::Unknown => unreachable!("all machines are alive"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_that_stand_still_for_each_other_lose_most_of_their_rate() {
        let per_s = |degree| new_orders_per_s(1, &ENGINES[1], (degree, 0), 5_000_000);
        let (none, all) = (per_s(0), per_s(100));
        assert!(all < none / 10.0, "{none} {all}");
        let later = new_orders_per_s(1, &ENGINES[1], (100, 100_000), 5_000_000);
        assert!(later < all / 2.0, "{later} {all}");
    }
}
