//! Beyond figure 4 of [ZB17]: our engine on 8 to 500 machines without locality, and which stage is full first.

use super::scalability;
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::tpcc::{self, Plan};
use workload::tpcc::Scale;

const MACHINES: [u16; 6] = [8, 16, 56, 120, 250, 500];
const MACHINES_QUICK: [u16; 2] = [8, 16];
/// Less than in figure 4, and as much for each thread, so that 500 machines fit into 24 GiB: threads of a compute
/// server, and warehouses of a memory server.
const THREADS: u16 = 12;
const WAREHOUSES: u32 = 10;
const SCALE: Scale =
    Scale { items: 200, districts: 10, customers_per_district: 10, orders_per_district: 20 };

/// Runs all sizes.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let (mut points, mut rows) = (Vec::new(), Vec::new());
    for (done, &machines) in (0..).zip(sizes) {
        (run.progress)(done, sizes.len() as u64, &format!("{machines} machines"));
        let seen = tpcc::run(&plan(run, machines));
        let of_each = seen.new_orders_per_s() / f64::from(machines / 2);
        points.push((f64::from(machines), seen.new_orders_per_s() / 1e6));
        rows.push(vec![
            machines.to_string(),
            format!("{:.2}", seen.new_orders_per_s() / 1e6),
            format!("{:.1}", of_each / 1e3),
            format!("{:.0}", seen.new_order_us(50)),
            format!("{:.1} %", seen.abort_percent()),
            seen.busiest,
            seen.of_oracle,
        ]);
    }
    let sample = plan(run, sizes[0]);
    Outcome {
        parameters: vec![
            ("threads of a compute server", THREADS.to_string()),
            ("warehouses of each memory server", WAREHOUSES.to_string()),
            ("loaded per warehouse", sample.scale_sentence()),
            ("ports in use", tpcc::PORTS.to_string()),
            ("window in virtual ns", sample.window_ns.to_string()),
        ],
        x: Axis { title: "machines", is_logarithmic: true },
        y: Axis { title: "million new orders per second", is_logarithmic: true },
        series: vec![Series {
            name: "ours, without locality".to_owned(),
            points,
            is_published: false,
        }],
        compared: Vec::new(),
        tables: vec![Table {
            shows: "What is full first".to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes: Vec::new(),
    }
}

const COLUMNS: [&str; 7] = [
    "machines",
    "million new orders/s",
    "thousand of each compute server",
    "median latency, us",
    "aborted attempts",
    "busiest; 0 has the vector, then memory servers, then compute servers",
    "busiest of the machine with the vector",
];

fn plan(run: &Run<'_>, machines: u16) -> Plan {
    Plan {
        threads: THREADS,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        practice: 20,
        warm_ns: run.quick_or(1_000_000, 2_000_000),
        window_ns: 1_000_000,
        ..scalability::plan(run, machines, false)
    }
}
