//! [SPADE 5.4, figure 11]: TPC-C, transactions of remote warehouses by one-sided verbs and shipped.

use super::{prediction, sizes};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Series, Table};
use crate::symmetric::{self, Plan, Seen, Tpcc};
use txn::Abort;
use workload::tpcc::{Scale, TRANSACTION_NAMES};

/// The population of a warehouse: twenty orders per district, which are those that transactions
/// read.
const SCALE: Scale =
    Scale { items: 200, districts: 10, customers_per_district: 10, orders_per_district: 20 };
/// Warehouses of each machine [SPADE 5.4].
const WAREHOUSES: u32 = 120;
/// Clients of each compute server: one per hardware thread.
const CLIENTS: u32 = 16;
/// Words of each memory server: each lane allocates memory of its own for each table that it
/// inserts into.
const SERVER_WORDS: u64 = 1 << 28;
/// The two ways, and the million new orders per second that the text prints for 50 machines.
const WAYS: [(&str, f64); 2] = [("one-sided", 1.03), ("shipped", 1.42)];
/// The position of new orders among the types.
const NEW_ORDER: usize = 0;

const RATE_WHY: &str = "ours is another engine, and less is loaded for a warehouse";
const GAIN_WHY: &str = "our transactions ask for what is independent in one batch, so that few round trips are saved where \
                        they are carried out";

pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes = sizes(run);
    let mut steps = Steps::of(WAYS.len() * sizes.len());
    let (mut series, mut rows, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (way, (name, published)) in WAYS.into_iter().enumerate() {
        let mut points = Vec::new();
        for &machines in sizes {
            steps.next(run, &format!("{name}, {machines} machines"));
            let seen = seen(run, machines, way == 1);
            points.push((f64::from(machines), seen.kind_per_s(NEW_ORDER) / 1e6));
            rows.push(row(name, machines, &seen));
            if sizes.last() == Some(&machines) {
                last.push(seen);
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
        let (name, points) = (format!("{name}, as published"), vec![(50.0, published)]);
        series.push(Series { name, points, is_published: true });
    }
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        series,
        compared: if run.is_quick { Vec::new() } else { compared(&last) },
        tables: vec![Table {
            shows: "New orders of each point".to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes: Vec::new(),
    }
}

const COLUMNS: [&str; 8] = [
    "",
    "machines",
    "million/s",
    "median, us",
    "99 %, us",
    "made again",
    "most of them",
    "busiest; 0 has the oracle",
];

fn row(name: &str, machines: u16, seen: &Seen) -> Vec<String> {
    vec![
        name.to_owned(),
        machines.to_string(),
        format!("{:.2}", seen.kind_per_s(NEW_ORDER) / 1e6),
        format!("{:.0}", seen.kind_us(NEW_ORDER, 50)),
        format!("{:.0}", seen.kind_us(NEW_ORDER, 99)),
        format!("{:.1} %", seen.abort_percent()),
        most(seen),
        seen.busiest.to_string(),
    ]
}

/// The most frequently aborted type, and the reason.
fn most(seen: &Seen) -> String {
    let named = |(kind, reason, percent): (usize, Abort, f64)| {
        let (kind, reason) = (TRANSACTION_NAMES[kind], reason.name());
        format!("{kind}: {reason}, {percent:.0} %")
    };
    seen.most_aborts().map_or_else(String::new, named)
}

/// The text prints that without shipping half of the new orders take 298 % longer, and the slowest
/// 395 %.
fn compared(seen: &[Seen]) -> Vec<Compared> {
    let rate = |way: usize| seen[way].kind_per_s(NEW_ORDER) / 1e6;
    let us = |way: usize, percent| seen[way].kind_us(NEW_ORDER, percent);
    let mut compared: Vec<Compared> = WAYS
        .into_iter()
        .enumerate()
        .map(|(way, (name, published))| {
            prediction(format!("{name}, 50 machines"), "M/s", published, rate(way), RATE_WHY)
        })
        .collect();
    let mut compare = |what: &str, published, ours| {
        compared.push(prediction(what.to_owned(), "x", published, ours, GAIN_WHY));
    };
    compare("shipped over one-sided", 1.42 / 1.03, rate(1) / rate(0));
    compare("median latency, one-sided over shipped", 3.98, us(0, 50) / us(1, 50));
    compare("99th percentile, one-sided over shipped", 4.95, us(0, 99) / us(1, 99));
    for (title, percent, published) in [("median", 50, 1_479.0), ("99th percentile", 99, 4_457.0)] {
        let what = format!("{title}: what one-sided takes longer, 50 machines");
        compared.push(prediction(what, "us", published, us(0, percent) - us(1, percent), RATE_WHY));
    }
    compared
}

fn seen(run: &Run<'_>, machines: u16, is_shipped: bool) -> Seen {
    let plan = plan(run, machines);
    let seen = symmetric::run(&plan, &Tpcc::new(&plan, WAREHOUSES, SCALE, is_shipped));
    assert_eq!(seen.given_up(), 0, "memory servers are full");
    seen
}

fn plan(run: &Run<'_>, machines: u16) -> Plan {
    Plan {
        clients: CLIENTS,
        practice: 0,
        // Clients begin with a cache of leaves that others have changed meanwhile.
        warm_ns: run.quick_or(2_000_000, 6_000_000),
        window_ns: run.quick_or(500_000, 1_500_000),
        server_words: SERVER_WORDS,
        ..Plan::new(run.seed, machines)
    }
}

fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let Scale { items, districts, customers_per_district, orders_per_district } = SCALE;
    let mut parameters = plan(run, 2).parameters();
    parameters.push(("warehouses of each machine", WAREHOUSES.to_string()));
    let scale = format!(
        "{items} items, {districts} districts, {customers_per_district} customers and {orders_per_district} orders of each"
    );
    parameters.push(("loaded per warehouse", scale));
    parameters
}
