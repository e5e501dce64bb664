//! [ZB17 7.3, figure 6]: new orders alone on eight machines, by the share of them that touch another warehouse, with
//! and without locality, by the protocol as printed.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::published::{self, Plan};
use baselines::nam_db::{Placement, Timestamps};
use sim::Reach;
use workload::tpcc::{ItemChoice, Mix};

/// Machines with a memory server and a compute server each; one more has the vector.
const MACHINES: u16 = 7;
/// Warehouses of each: 203 for the text's 200.
const WAREHOUSES: u32 = 29;
/// Threads of each compute server, as where locality was used in figure 4; the text does not print them here.
const THREADS: u16 = 30;
const WHY_GAIN: &str = "with locality cores are the limit, without it the engines of the cards, which issue and serve; what \
                        limited the original is not printed";
const WHY_MORE: &str = "a card's engine is busy all the time; how many threads there were, and how many records a bucket had, is \
                        not printed. It is printed as more than this";

const DISTRIBUTION: [u32; 6] = [0, 20, 40, 60, 80, 100];
const DISTRIBUTION_QUICK: [u32; 3] = [0, 50, 100];

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
            let seen = published::run(&plan(run, percent, reach));
            points.push((f64::from(percent), seen.new_orders_per_s() / 1e6));
            if percent == 100 {
                notes.push(seen.sentence(&format!("{name}, all distributed"), MACHINES + 1));
                notes.extend(seen.sentences());
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let first = |series: &Series| series.points.first().map_or(f64::NAN, |point| point.1);
    let last = |series: &Series| series.points.last().map_or(f64::NAN, |point| point.1);
    let compare = |what: &str, unit, published, ours, why| {
        let (what, role) = (what.to_owned(), Role::Prediction);
        Compared { what, unit, published, ours, role, why }
    };
    let gain = first(&series[0]) / first(&series[1]);
    let what = "what locality gains, no new order distributed";
    let more = "new orders, all distributed, without locality";
    let sample = plan(run, 0, Reach::Card);
    Outcome {
        parameters: vec![
            ("machines beside the vector's", MACHINES.to_string()),
            ("warehouses of each", WAREHOUSES.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("loaded per warehouse", Plan::scale_sentence()),
            ("ports in use", published::PORTS.to_string()),
            ("window in virtual ns", sample.window_ns.to_string()),
        ],
        x: Axis { title: "distributed new orders, percent", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: Vec::new(),
        compared: vec![
            compare(what, "x", 1.3, gain, Some(WHY_GAIN)),
            compare(more, "M/s", 1.5, last(&series[1]), Some(WHY_MORE)),
        ],
        series,
        notes,
    }
}

fn plan(run: &Run<'_>, percent: u32, reach: Reach) -> Plan {
    Plan {
        seed: run.seed,
        memory_servers: MACHINES,
        compute_servers: MACHINES,
        threads: THREADS,
        warehouses_each: WAREHOUSES,
        mix: Mix::NEW_ORDER_ONLY,
        distribution_percent: Some(percent),
        item_choice: ItemChoice::Nurand,
        machine: Some(reach),
        placement: Placement::Partitions(WAREHOUSES),
        timestamps: Timestamps::OPTIMIZED,
        warm_ns: run.quick_or(500_000, 1_000_000),
        window_ns: run.quick_or(1_000_000, 3_000_000),
    }
}
