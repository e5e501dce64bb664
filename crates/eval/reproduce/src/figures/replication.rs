//! The cost of replicas of regions: TPC-C by the number of places that have each region's contents.
//!
//! The slides of Active-Memory replication compare its throughput with other schemes; this figure
//! compares it with none, as FORD and DrTM+R do. A commit that only changes rows writes replicas in
//! the same round trip, others in one of their own.

use super::scalability;
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::tpcc::{self, PORTS, Plan};

/// Number of memory servers, and of compute servers; one more machine has the oracle.
const SERVERS: u16 = 4;
/// Threads of each compute server, each with a warehouse of its own.
const THREADS: u16 = 20;
const PROFILE: &str = "connectx3-fdr";
const REPLICAS: [u16; 3] = [1, 2, 3];
const COLUMNS: [&str; 7] =
    ["replicas", "type", "round trips", "verbs", "bytes", "median, us", "99 %, us"];

/// Runs TPC-C with 1, 2 and 3 replicas.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(REPLICAS.len());
    let (mut rows, mut points, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for replicas in REPLICAS {
        steps.next(run, &format!("{replicas} replicas"));
        let seen = tpcc::run(&plan(run, replicas));
        for (name, kind) in seen.kinds.named().filter(|(_, kind)| kind.count() > 0) {
            let [round_trips, verbs, bytes] = kind.traffic();
            let latencies = [50, 99].map(|percent| kind.latency_us(percent).unwrap_or(f64::NAN));
            rows.push(vec![
                replicas.to_string(),
                name.to_owned(),
                format!("{round_trips:.2}"),
                format!("{verbs:.1}"),
                format!("{bytes:.0}"),
                format!("{:.1}", latencies[0]),
                format!("{:.1}", latencies[1]),
            ]);
        }
        points.push((f64::from(replicas), seen.new_orders_per_s() / 1e6));
        notes.push(seen.sentence(&format!("{replicas} replicas"), 2 * SERVERS));
    }
    let first = points[0].1;
    notes.extend(points[1..].iter().map(|(replicas, new_orders)| {
        let percent = 100.0 * new_orders / first;
        format!("With {replicas} replicas, {percent:.0} % of the new orders without.")
    }));
    Outcome {
        parameters: vec![
            ("memory servers, and as many compute servers", SERVERS.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("loaded per warehouse", plan(run, 1).scale_sentence()),
            ("ports in use, where there are two", PORTS.to_string()),
        ],
        x: Axis { title: "places of each region's contents", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        series: vec![Series { name: "new orders".to_owned(), points, is_published: false }],
        compared: Vec::new(),
        tables: vec![Table {
            shows: "Costs of a committed transaction".to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes,
    }
}

fn plan(run: &Run<'_>, replicas: u16) -> Plan {
    Plan {
        profile: PROFILE,
        replicas,
        threads: THREADS,
        warm_ns: run.quick_or(1_000_000, 4_000_000),
        window_ns: run.quick_or(1_000_000, 4_000_000),
        ..scalability::plan(run, 2 * SERVERS, false)
    }
}
