//! [ZB17 7.3, figure 6]: new orders alone on eight machines, by the share of them that touch another warehouse, with
//! and without locality.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::tpcc::{self, Engine, Plan};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix, Scale};

/// Machines with a memory server and a compute server each; one more has the oracle.
const MACHINES: u16 = 7;
/// Warehouses of each: 196 of the text's 200.
const WAREHOUSES: u32 = 28;
/// Threads of each compute server, as where locality was used in figure 4; the text does not print them here.
const THREADS: u16 = 28;
/// What is loaded per warehouse: more than elsewhere, since new orders alone meet in items and in leaves.
const SCALE: Scale =
    Scale { items: 5000, districts: 10, customers_per_district: 30, orders_per_district: 120 };
const DISTRIBUTION: [u32; 6] = [0, 20, 40, 60, 80, 100];
const DISTRIBUTION_QUICK: [u32; 3] = [0, 50, 100];

const WHY_GAIN: &str = "without locality a card issues and serves all verbs of its machine, some of them to itself, and is the \
                        limit; the text does not say how many threads there were, nor what was the limit";
const WHY_MORE: &str = "as above; printed as more than this";

/// Runs both over all degrees of distribution.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let degrees: &[u32] = run.quick_or(&DISTRIBUTION_QUICK, &DISTRIBUTION);
    let reaches = [(Reach::CoreButAtomics, "with locality"), (Reach::Card, "without locality")];
    let (mut done, total) = (0, (degrees.len() * reaches.len()) as u64);
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (reach, name) in reaches {
        let mut points = Vec::new();
        for &percent in degrees {
            (run.progress)(done, total, &format!("{name}, {percent} % distributed"));
            done += 1;
            let seen = tpcc::run(&plan(run, percent, reach));
            points.push((f64::from(percent), seen.new_orders_per_s() / 1e6));
            if percent == 100 {
                notes.push(seen.sentence(&format!("{name}, all distributed"), MACHINES + 1));
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let first = |series: &Series| series.points.first().map_or(f64::NAN, |point| point.1);
    let last = |series: &Series| series.points.last().map_or(f64::NAN, |point| point.1);
    let compared = vec![
        Compared {
            what: "what locality gains, no new order distributed".to_owned(),
            unit: "x",
            published: 1.3,
            ours: first(&series[0]) / first(&series[1]),
            role: Role::Prediction,
            why: Some(WHY_GAIN),
        },
        Compared {
            what: "new orders, all distributed, without locality".to_owned(),
            unit: "M/s",
            published: 1.5,
            ours: last(&series[1]),
            role: Role::Prediction,
            why: Some(WHY_MORE),
        },
    ];
    let sample = plan(run, 0, Reach::Card);
    Outcome {
        parameters: vec![
            ("machines beside the oracle's", MACHINES.to_string()),
            ("warehouses of each", WAREHOUSES.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("loaded per warehouse", sample.scale_sentence()),
            ("ports in use", tpcc::PORTS.to_string()),
            ("window in virtual ns", sample.window_ns.to_string()),
        ],
        x: Axis { title: "distributed new orders, percent", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared,
        notes,
    }
}

fn plan(run: &Run<'_>, percent: u32, reach: Reach) -> Plan {
    Plan {
        seed: run.seed,
        profile: "connect-ib-2xfdr",
        memory_servers: MACHINES,
        compute_servers: MACHINES,
        threads: THREADS,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        mix: Mix([100, 0, 0, 0, 0]),
        distribution_percent: Some(percent),
        item_choice: ItemChoice::Nurand,
        engine: Engine::BEST,
        practice: tpcc::PRACTICE,
        locality: Some(reach),
        warm_ns: run.quick_or(3_000_000, 6_000_000),
        window_ns: run.quick_or(1_000_000, 3_000_000),
    }
}
