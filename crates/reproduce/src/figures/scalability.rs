//! [ZB17 7.1, figures 4 and 5a]: TPC-C's standard mix by the number of machines, with and without locality.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::tpcc::{self, Engine, Plan, SCALE, Seen};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix};

/// Machines beside the one of the oracle.
const MACHINES: [u16; 7] = [2, 4, 8, 16, 28, 40, 56];
const MACHINES_QUICK: [u16; 3] = [2, 4, 8];
/// Threads of a compute server that has its machine to itself; of one that shares it, half as many [ZB17 7.1].
const THREADS: u16 = 60;
/// Warehouses of each memory server [ZB17 7].
const WAREHOUSES: u32 = 50;
/// Millions of new orders a second that the text prints, at this number of machines.
const PUBLISHED: [f64; 2] = [3.64, 6.5];
const PUBLISHED_MACHINES: u16 = 56;

const NAMES: [&str; 2] = ["without locality", "with locality"];

const WHY: &str = "ours is not the protocol as published: the structures are others, it batches what is independent, and \
                   its snapshots are comparable";

/// Figure 4.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let seen = all_sizes(run, &[false, true]);
    let mut series = Vec::new();
    let (mut compared, mut notes) = (Vec::new(), Vec::new());
    for ((points, name), published) in seen.iter().zip(NAMES).zip(PUBLISHED) {
        let curve = |&(machines, ref seen): &(u16, Seen)| {
            (f64::from(machines), seen.new_orders_per_s() / 1e6)
        };
        let ours = Series {
            name: name.to_owned(),
            points: points.iter().map(curve).collect(),
            is_published: false,
        };
        series.push(ours);
        series.push(Series {
            name: format!("{name}, as published"),
            points: vec![(f64::from(PUBLISHED_MACHINES), published)],
            is_published: true,
        });
        notes.extend(points.last().map(|(machines, seen)| seen.sentence(name, *machines)));
        let last = points.last().filter(|(machines, _)| *machines == PUBLISHED_MACHINES);
        compared.extend(last.map(|(_, seen)| Compared {
            what: format!("new orders of 56 machines, {name}: ours against the paper's"),
            unit: "M/s",
            published,
            ours: seen.new_orders_per_s() / 1e6,
            role: Role::Prediction,
            why: Some(WHY),
        }));
    }
    notes.push(format!("The published numbers are of another protocol: {WHY}."));
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

/// Figure 5a.
pub fn latency(run: &mut Run<'_>) -> Outcome {
    let seen = all_sizes(run, &[false]);
    let curve = |percent: usize| Series {
        name: format!("{percent} % of new orders take no longer"),
        points: seen[0]
            .iter()
            .map(|(machines, seen)| (f64::from(*machines), seen.new_order_us(percent)))
            .collect(),
        is_published: false,
    };
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "microseconds", is_logarithmic: false },
        tables: Vec::new(),
        series: vec![curve(50), curve(90), curve(99)],
        compared: Vec::new(),
        notes: vec![
            "Without locality. The text prints no latency: NAM-DB's stays almost constant there."
                .to_owned(),
        ],
    }
}

fn all_sizes(run: &mut Run<'_>, localities: &[bool]) -> Vec<Vec<(u16, Seen)>> {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut done, total) = (0, (sizes.len() * localities.len()) as u64);
    let mut all = Vec::new();
    for &is_local in localities {
        let mut points = Vec::new();
        for &machines in sizes {
            let name = NAMES[usize::from(is_local)];
            (run.progress)(done, total, &format!("{name}, {machines} machines"));
            done += 1;
            points.push((machines, tpcc::run(&plan(run, machines, is_local))));
        }
        all.push(points);
    }
    all
}

/// With locality every machine has a memory server and a compute server; without, half of them have the one and half
/// the other.
pub(super) fn plan(run: &Run<'_>, machines: u16, is_local: bool) -> Plan {
    let (servers, threads) = match is_local {
        true => (machines, THREADS / 2),
        false => (machines / 2, THREADS),
    };
    Plan {
        seed: run.seed,
        profile: "connect-ib-2xfdr",
        memory_servers: servers,
        compute_servers: servers,
        threads,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        mix: Mix::STANDARD,
        distribution_percent: None,
        item_choice: ItemChoice::Nurand,
        engine: Engine::BEST,
        practice: tpcc::PRACTICE,
        locality: is_local.then_some(Reach::CoreButAtomics),
        warm_ns: run.quick_or(4_000_000, 6_000_000),
        window_ns: run.quick_or(1_000_000, 2_000_000),
    }
}

pub(super) fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let plan = plan(run, 2, false);
    vec![
        ("threads of a compute server without locality, and with", "60 and 30".to_owned()),
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
