//! [ZB17 7.1, figures 4 and 5a]: TPC-C with Trad-SI, snapshot isolation by two-sided messages
//! between shared-nothing servers, by the number of machines.

use crate::busy::Busy;
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series};
use crate::world::{network, world_on};
use baselines::tpcc::{Input, Terminal, Tpcc};
use baselines::trad_si::{Cluster, Manager, Snapshots, TransactionOutcome};
use fabric::Env;
use layout::NodeId;
use sim::{Endpoint, Machines};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use workload::tpcc::{Config, Scale};

/// Ports in use.
const PORTS: u64 = 2;
/// Warehouses of each server [ZB17 7].
const WAREHOUSES: u32 = 50;
/// Terminals of each server: as many as threads of NAM-DB's machines with both servers [ZB17 7.1].
const TERMINALS: u64 = 30;
/// The population of each warehouse: fewer rows, so that 2,800 warehouses fit.
const SCALE: Scale =
    Scale { items: 100, districts: 10, customers_per_district: 12, orders_per_district: 12 };
const MACHINES: [u16; 9] = [2, 4, 8, 10, 12, 16, 28, 40, 56];
const MACHINES_QUICK: [u16; 3] = [2, 8, 16];

/// The results of a cluster of some size.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Point {
    pub machines: u16,
    /// Committed new orders per second.
    pub new_orders_per_s: f64,
    /// Committed transactions of all types per second.
    pub committed_per_s: f64,
    /// Mean time from the first attempt of a new order to its commit, in microseconds.
    pub new_order_us: f64,
    /// Percentage of aborted attempts.
    pub aborted_percent: f64,
    /// The busiest stage of a server.
    pub busiest: String,
}

/// An interpretation of the texts, and the population.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub name: &'static str,
    /// Number of used cores of a server; `None`: all of them.
    pub cores: Option<u64>,
    pub snapshots: Snapshots,
    /// The population of each warehouse.
    pub scale: Scale,
}

pub(crate) const READINGS: [Reading; 3] = [
    Reading { name: "all cores", cores: None, snapshots: Snapshots::Asked, scale: SCALE },
    Reading { name: "one core", cores: Some(1), snapshots: Snapshots::Asked, scale: SCALE },
    Reading {
        name: "all told of each commit",
        cores: None,
        snapshots: Snapshots::Told,
        scale: SCALE,
    },
];

/// [ZB17 figure 4]: new orders per second.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let points = points(run);
    let last = |(reading, points): &(Reading, Vec<Point>)| {
        points.last().map(|point| point.sentence(reading.name))
    };
    let mut notes: Vec<String> = points.iter().filter_map(last).collect();
    notes.push(
        "The text prints no number of Trad-SI: it falls beyond 10 machines there.".to_owned(),
    );
    outcome(run, "new orders per second", &points, |point| point.new_orders_per_s, notes)
}

/// [ZB17 figure 5a]: the latency of a new order.
pub fn run_latency(run: &mut Run<'_>) -> Outcome {
    let points = points(run);
    let notes =
        vec!["The text prints no number of Trad-SI: it rises with the machines there.".to_owned()];
    outcome(run, "microseconds of a new order", &points, |point| point.new_order_us, notes)
}

/// All sizes with all interpretations.
fn points(run: &mut Run<'_>) -> Vec<(Reading, Vec<Point>)> {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut done, total) = (0, (sizes.len() * READINGS.len()) as u64);
    let mut all = Vec::new();
    for reading in READINGS {
        let (name, window_ns) = (reading.name, window_ns(run, reading.cores));
        let mut points = Vec::new();
        for &machines in sizes {
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            points.push(trad_si(run.seed, machines, reading, window_ns));
        }
        all.push((reading, points));
    }
    all
}

fn outcome(
    run: &Run<'_>,
    title: &'static str,
    points: &[(Reading, Vec<Point>)],
    value: fn(&Point) -> f64,
    notes: Vec<String>,
) -> Outcome {
    let curve = |(reading, points): &(Reading, Vec<Point>)| Series {
        name: format!("Trad-SI, {}", reading.name),
        points: points.iter().map(|point| (f64::from(point.machines), value(point))).collect(),
        is_published: false,
    };
    Outcome {
        parameters: vec![
            ("warehouses of each server", WAREHOUSES.to_string()),
            ("terminals of each server", TERMINALS.to_string()),
            ("ports in use", PORTS.to_string()),
            ("window in virtual ns, all cores", window_ns(run, None).to_string()),
            ("window in virtual ns, one core", window_ns(run, Some(1)).to_string()),
        ],
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title, is_logarithmic: true },
        tables: Vec::new(),
        series: points.iter().map(curve).collect(),
        compared: Vec::new(),
        notes,
    }
}

/// Counted virtual time: longer with fewer cores, because less is done.
fn window_ns(run: &Run<'_>, cores: Option<u64>) -> u64 {
    run.quick_or(200_000, 1_000_000) * if cores.is_some() { 10 } else { 1 }
}

impl Point {
    fn sentence(&self, cores: &str) -> String {
        format!(
            "{} machines, {cores}: {:.0} thousand transactions of all types a second, {:.0} % of all attempts aborted; the busiest is {}.",
            self.machines,
            self.committed_per_s / 1e3,
            self.aborted_percent,
            self.busiest
        )
    }
}

/// The terminals' counts while the window is open.
#[derive(Default)]
struct Tally {
    is_open: Cell<bool>,
    new_orders: Cell<u64>,
    committed: Cell<u64>,
    attempts: Cell<u64>,
    aborted: Cell<u64>,
    new_order_ns: Cell<u64>,
}

impl Tally {
    fn add(&self, count: &Cell<u64>, by: u64) {
        if self.is_open.get() {
            count.set(count.get() + by);
        }
    }
}

/// TPC-C's standard mix on this many machines, each with the cores and the card of the papers'
/// cluster.
pub(crate) fn trad_si(seed: u64, machines: u16, reading: Reading, window_ns: u64) -> Point {
    let config = Config { scale: reading.scale, ..Config::new(WAREHOUSES * u32::from(machines)) };
    let apart = Machines::apart(machines + 1);
    let mut network = network("connect-ib-2xfdr", PORTS);
    network.core.cores = reading.cores.unwrap_or(network.core.cores);
    let world = world_on(apart, seed, network, (1, machines), 1 << 10);
    let nodes: Vec<NodeId> = (0..machines).map(|index| world.compute_node(index)).collect();
    let snapshots = reading.snapshots;
    let cluster = Cluster { timestamps: nodes[0], servers: nodes, snapshots };
    let tpcc = Arc::new(Tpcc::new(config));
    let servers = cluster.start(&tpcc, Endpoint::compute_rows, |node, id, service| {
        world.register(node, id, service);
    });
    tpcc.load(&servers);
    let tally = Rc::<Tally>::default();
    for (index, server) in (0_u32..).zip(&servers) {
        for number in 0..TERMINALS {
            let place = number as u32 % WAREHOUSES;
            let warehouse = place * u32::from(machines) + index + 1;
            let number = u64::from(index) * TERMINALS + number;
            let terminal = Terminal::new(&config, seed, number, warehouse);
            let manager = Manager::new(server.clone(), tpcc.clone(), Endpoint::compute_rows);
            let env = world.endpoint(cluster.servers[index as usize]);
            world.spawn_on(&env, transactions(env.clone(), manager, terminal, tally.clone()));
        }
    }
    world.run_for(window_ns / 2);
    tally.is_open.set(true);
    let busy = Busy::since(&world, cluster.servers.iter().copied());
    world.run_for(window_ns);
    let per_s = |count: &Cell<u64>| count.get() as f64 * 1e9 / window_ns as f64;
    let of = |part: &Cell<u64>, all: &Cell<u64>| part.get() as f64 / all.get().max(1) as f64;
    Point {
        machines,
        new_orders_per_s: per_s(&tally.new_orders),
        committed_per_s: per_s(&tally.committed),
        new_order_us: of(&tally.new_order_ns, &tally.new_orders) / 1e3,
        aborted_percent: 100.0 * of(&tally.aborted, &tally.attempts),
        busiest: busy.most(&world),
    }
}

async fn transactions(
    env: Endpoint,
    manager: Manager<Endpoint, Tpcc>,
    mut terminal: Terminal,
    tally: Rc<Tally>,
) {
    loop {
        let (input, begun_ns) = (terminal.draw(), env.now_ns());
        let message = input.encode();
        loop {
            let outcome = manager.run(&env, &message).await;
            // Continue when the core has done all the computing of the attempt.
            env.sleep_ns(0).await;
            tally.add(&tally.attempts, 1);
            match outcome {
                TransactionOutcome::Aborted => tally.add(&tally.aborted, 1),
                TransactionOutcome::RolledBack => break,
                TransactionOutcome::Committed(_) => {
                    tally.add(&tally.committed, 1);
                    if let Input::NewOrder(_) = input {
                        tally.add(&tally.new_orders, 1);
                        tally.add(&tally.new_order_ns, env.now_ns() - begun_ns);
                    }
                    break;
                }
                TransactionOutcome::Unknown => unreachable!("all servers are alive"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text says that a transaction takes the longer the more machines there are [ZB17 7.1,
    /// figure 5a].
    #[test]
    fn more_machines_have_more_messages_to_wait_for() {
        let [few, many] = [2, 8].map(|machines| trad_si(1, machines, READINGS[0], 200_000));
        assert!(many.new_order_us > 1.3 * few.new_order_us, "{few:?} {many:?}");
        let per_machine = |point: &Point| point.new_orders_per_s / f64::from(point.machines);
        assert!(per_machine(&many) < 0.8 * per_machine(&few), "{few:?} {many:?}");
    }
}
