//! [ZB17 7.1, figures 4 and 5a]: TPC-C's standard mix by the number of machines, with and without
//! locality.

use super::sizes::{self, NAMES, PUBLISHED, PUBLISHED_MACHINES, WAREHOUSES};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role};
use crate::tpcc::{self, Engine, Plan, SCALE, Seen};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix};

const WHY: &str = "ours is not the protocol as published: the structures are others, it batches what is independent, and \
                   its snapshots are comparable";

/// Figure 4.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(2 * sizes::count(run) + 1);
    let (mut series, mut compared, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (is_local, name) in [false, true].into_iter().zip(NAMES) {
        let points = sizes::all(run, &mut steps, is_local, seen);
        series.push(sizes::curve(&points, name.to_owned(), |seen| seen.new_orders_per_s() / 1e6));
        series.push(sizes::published(is_local));
        notes.extend(points.last().map(|(machines, seen)| seen.sentence(name, *machines)));
        let last = points.last().filter(|(machines, _)| *machines == PUBLISHED_MACHINES);
        compared.extend(last.map(|(_, seen)| Compared {
            what: format!("new orders of 56 machines, {name}: ours against the paper's"),
            unit: "M/s",
            published: PUBLISHED[usize::from(is_local)],
            ours: seen.new_orders_per_s() / 1e6,
            role: Role::Prediction,
            why: Some(WHY),
        }));
    }
    notes.push(format!("The published numbers are of another protocol: {WHY}."));
    notes.push(as_many_lanes_as_threads(run, &mut steps));
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared,
        notes,
    }
}

/// The result of the largest cluster without locality with a lane for each of the paper's threads;
/// some of the threads then share a warehouse.
fn as_many_lanes_as_threads(run: &mut Run<'_>, steps: &mut Steps) -> String {
    let machines = run.quick_or(8, PUBLISHED_MACHINES);
    let (_, threads) = sizes::servers_and_threads(machines, false);
    steps.next(run, &format!("{threads} lanes for {WAREHOUSES} warehouses, {machines} machines"));
    let seen = tpcc::run(&Plan { threads, ..plan(run, machines, false) });
    format!(
        "With {threads} lanes for {WAREHOUSES} warehouses instead, {:.2} million new orders a second, {:.1} % of all \
         attempts aborted: lanes that share a warehouse pay into it at the same time.",
        seen.new_orders_per_s() / 1e6,
        seen.abort_percent()
    )
}

/// Figure 5a.
pub fn latency(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(sizes::count(run));
    let points = sizes::all(run, &mut steps, false, seen);
    let curve = |percent: usize| {
        let name = format!("{percent} % of new orders take no longer");
        sizes::curve(&points, name, |seen| seen.new_order_us(percent))
    };
    let notes = vec![
        "Without locality. The text prints no latency: NAM-DB's stays almost constant there."
            .to_owned(),
    ];
    sizes::microseconds(parameters(run), vec![curve(50), curve(90), curve(99)], notes)
}

fn seen(run: &Run<'_>, machines: u16, is_local: bool) -> Seen {
    tpcc::run(&plan(run, machines, is_local))
}

/// With locality every machine has a memory server and a compute server; without, half of the
/// machines have a memory server and half a compute server, with a lane per warehouse. The paper
/// has a few more threads than warehouses there.
pub(super) fn plan(run: &Run<'_>, machines: u16, is_local: bool) -> Plan {
    let (servers, threads) = sizes::servers_and_threads(machines, is_local);
    let threads = threads.min(WAREHOUSES as u16);
    Plan {
        seed: run.seed,
        profile: "connect-ib-2xfdr",
        memory_servers: servers,
        compute_servers: servers,
        replicas: 1,
        threads,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        mix: Mix::STANDARD,
        distribution_percent: None,
        item_choice: ItemChoice::Nurand,
        engine: Engine::BEST,
        practice: tpcc::PRACTICE,
        pause_ns: 0,
        locality: is_local.then_some(Reach::CoreButAtomics),
        warm_ns: run.quick_or(4_000_000, 6_000_000),
        window_ns: run.quick_or(1_000_000, 2_000_000),
    }
}

pub(super) fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let plan = plan(run, 2, false);
    vec![
        ("lanes of a compute server without locality, and with", "50 and 30".to_owned()),
        ("warehouses of each memory server", WAREHOUSES.to_string()),
        ("loaded per warehouse", plan.scale_sentence()),
        ("ports in use", tpcc::PORTS.to_string()),
        (
            "oracle",
            "frozen by a collector, fetched once for each compute server, which has two slots"
                .to_owned(),
        ),
        ("warm-up in virtual ns", plan.warm_ns.to_string()),
        ("window in virtual ns", plan.window_ns.to_string()),
    ]
}
