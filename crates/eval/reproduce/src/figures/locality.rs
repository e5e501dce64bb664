//! [ZB17 7.3, figure 6]: new orders alone on eight machines, by the share of them that access
//! another warehouse, with and without locality.

use super::{degrees, scalability};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Table};
use crate::tpcc::{self, Plan, Seen};
use sim::Reach;
use workload::tpcc::{Mix, Scale};

/// Machines with a memory server and a compute server each; one more has the oracle.
const MACHINES: u16 = 7;
/// Warehouses of each: 196 of the text's 200.
const WAREHOUSES: u32 = 28;
/// Threads of each compute server, as in figure 4 with locality; the text does not print them here.
const THREADS: u16 = 28;
/// The population of a warehouse: larger than elsewhere, since new orders alone conflict in items
/// and in leaves.
const SCALE: Scale =
    Scale { items: 5000, districts: 10, customers_per_district: 30, orders_per_district: 120 };
/// Other numbers of threads, with another gain by locality.
const OTHER_THREADS: [u16; 3] = [7, 14, 56];

const WHY: [&str; 2] = [
    "with locality cores are the limit, without it the engines of the cards, as the run shows; the text does not say how many \
     threads there were: the table has what the gain is with fewer, down to less than printed",
    "printed as more than this, and of another protocol: ours takes half of its verbs, and a card's engine is full",
];

/// Runs both over all degrees of distribution.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let others = &OTHER_THREADS[..run.quick_or(1, OTHER_THREADS.len())];
    let mut steps = Steps::of(degrees::count(run) + others.len());
    let both = degrees::both(
        run,
        &mut steps,
        |run, percent, reach| tpcc::run(&plan(run, percent, reach)),
        Seen::new_orders_per_s,
        |seen, name| vec![seen.sentence(name, MACHINES + 1)],
    );
    let mut rows = Vec::new();
    for &threads in others {
        steps.next(run, &format!("{threads} threads"));
        rows.push(degrees::row(
            &format!("{threads} threads of each compute server"),
            |percent, reach| {
                let plan = Plan { threads, ..plan(run, percent, reach) };
                tpcc::run(&plan).new_orders_per_s()
            },
        ));
    }
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
        tables: vec![Table {
            shows: "The same with other numbers of threads".to_owned(),
            columns: degrees::COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        compared: both.compared(WHY),
        series: both.series,
        notes: both.notes,
    }
}

fn plan(run: &Run<'_>, percent: u32, reach: Reach) -> Plan {
    Plan {
        memory_servers: MACHINES,
        compute_servers: MACHINES,
        threads: THREADS,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        mix: Mix::NEW_ORDER_ONLY,
        distribution_percent: Some(percent),
        locality: Some(reach),
        warm_ns: run.quick_or(3_000_000, 6_000_000),
        window_ns: run.quick_or(1_000_000, 3_000_000),
        ..scalability::plan(run, 2, true)
    }
}
