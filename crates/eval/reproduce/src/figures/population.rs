//! The influence of the population: the same cluster and the same load, with more and more items,
//! customers and orders per warehouse, up to TPC-C's specification.

use super::scalability;
use super::traditional::{self, READINGS, Reading};
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::tpcc::{self, PORTS, Plan, SCALE};
use fabric::DynEnv;
use workload::tpcc::{Config, Scale};
use workload::{Tpcc, Workload};

/// Number of memory servers, and of compute servers.
const SERVERS: u16 = 2;
/// Warehouses of each memory server: a fifth of the papers', so that the specified population fits.
const WAREHOUSES: u32 = 10;
/// Threads of each compute server: as many per warehouse as in figure 4 without locality.
const THREADS: u16 = 12;

const TEN_TIMES: Scale =
    Scale { items: 10_000, districts: 10, customers_per_district: 200, orders_per_district: 600 };
/// The specified population [TPC-C 4.3.3].
const SPECIFIED: Scale = Scale {
    items: 100_000,
    districts: 10,
    customers_per_district: 3000,
    orders_per_district: 3000,
};
const SCALES: [(&str, Scale); 3] =
    [("as in the figures", SCALE), ("10 times as much", TEN_TIMES), ("as specified", SPECIFIED)];
/// Multiples of the population of Trad-SI's figures.
const TRADITIONAL_TIMES: [i32; 2] = [1, 20];
const TRADITIONAL_MACHINES: u16 = 2;

/// The results with one population.
struct Point {
    engine: &'static str,
    name: String,
    rows_per_warehouse: u64,
    new_orders_per_s: f64,
    latency_us: f64,
    aborted_percent: f64,
}

/// Runs both engines with all their populations.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let scales = &SCALES[..run.quick_or(2, SCALES.len())];
    let total = (scales.len() + TRADITIONAL_TIMES.len()) as u64;
    let mut engines = [Vec::new(), Vec::new()];
    for (done, &(name, scale)) in (0..).zip(scales) {
        (run.progress)(done, total, name);
        engines[0].push(ours(run, name, scale));
    }
    for (done, times) in (scales.len() as u64..).zip(TRADITIONAL_TIMES) {
        (run.progress)(done, total, "Trad-SI");
        engines[1].push(of_traditional(run, times));
    }
    let curves = engines.iter().flat_map(|points| {
        let rate = curve(points, "new orders a second", |point| point.new_orders_per_s);
        [rate, curve(points, "latency", |point| point.latency_us)]
    });
    let sample = plan(run, SCALE);
    Outcome {
        parameters: vec![
            ("memory servers, and as many compute servers", SERVERS.to_string()),
            ("warehouses of each memory server", WAREHOUSES.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("machines of Trad-SI, all cores", TRADITIONAL_MACHINES.to_string()),
            ("ports in use", PORTS.to_string()),
            ("window in virtual ns", sample.window_ns.to_string()),
        ],
        x: Axis { title: "rows loaded for each warehouse", is_logarithmic: true },
        y: Axis {
            title: "percent of what it is with the smallest population",
            is_logarithmic: false,
        },
        series: curves.collect(),
        compared: Vec::new(),
        tables: vec![Table {
            shows: "Populations, and by how much they change what was measured with the smallest"
                .to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows: engines.iter().flat_map(|points| rows(points)).collect(),
        }],
        notes: vec![
            "The latency of ours is the median of new orders, that of Trad-SI their mean."
                .to_owned(),
        ],
    }
}

const COLUMNS: [&str; 8] = [
    "engine",
    "loaded",
    "rows of a warehouse",
    "new orders a second",
    "change",
    "latency, us",
    "change",
    "aborted attempts",
];

fn change_percent(points: &[Point], point: &Point, value: fn(&Point) -> f64) -> f64 {
    100.0 * (value(point) / value(&points[0]) - 1.0)
}

fn curve(points: &[Point], of: &str, value: fn(&Point) -> f64) -> Series {
    let place = |point: &Point| {
        (point.rows_per_warehouse as f64, 100.0 + change_percent(points, point, value))
    };
    Series {
        name: format!("{}, {of}", points[0].engine),
        points: points.iter().map(place).collect(),
        is_published: false,
    }
}

fn rows(points: &[Point]) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        let change = |value| format!("{:+.1} %", change_percent(points, point, value));
        vec![
            point.engine.to_owned(),
            point.name.clone(),
            point.rows_per_warehouse.to_string(),
            format!("{:.0}", point.new_orders_per_s),
            change(|point| point.new_orders_per_s),
            format!("{:.1}", point.latency_us),
            change(|point| point.latency_us),
            format!("{:.1} %", point.aborted_percent),
        ]
    };
    points.iter().map(row).collect()
}

/// Number of rows that the load makes per warehouse.
fn rows_per_warehouse(scale: Scale) -> u64 {
    let config = Config { scale, ..Config::new(1) };
    let tpcc = Tpcc::new(config).expect("experiments have sound configurations");
    Workload::<DynEnv>::load_rows(&tpcc)
}

fn ours(run: &Run<'_>, name: &str, scale: Scale) -> Point {
    let seen = tpcc::run(&plan(run, scale));
    Point {
        engine: "ours",
        name: name.to_owned(),
        rows_per_warehouse: rows_per_warehouse(scale),
        new_orders_per_s: seen.new_orders_per_s(),
        latency_us: seen.new_order_us(50),
        aborted_percent: seen.abort_percent(),
    }
}

fn of_traditional(run: &Run<'_>, times: i32) -> Point {
    let all_cores = READINGS[0];
    let small = all_cores.scale;
    let scale = Scale {
        items: small.items * times,
        customers_per_district: small.customers_per_district * times,
        orders_per_district: small.orders_per_district * times,
        ..small
    };
    let reading = Reading { scale, ..all_cores };
    let window_ns = run.quick_or(200_000, 2_000_000);
    let seen = traditional::trad_si(run.seed, TRADITIONAL_MACHINES, reading, window_ns);
    Point {
        engine: "Trad-SI",
        name: if times == 1 {
            "as in the figures".to_owned()
        } else {
            format!("{times} times as much")
        },
        rows_per_warehouse: rows_per_warehouse(scale),
        new_orders_per_s: seen.new_orders_per_s,
        latency_us: seen.new_order_us,
        aborted_percent: seen.aborted_percent,
    }
}

fn plan(run: &Run<'_>, scale: Scale) -> Plan {
    Plan {
        threads: THREADS,
        scale,
        warehouses_each: WAREHOUSES,
        warm_ns: run.quick_or(4_000_000, 10_000_000),
        window_ns: run.quick_or(4_000_000, 40_000_000),
        ..scalability::plan(run, 2 * SERVERS, false)
    }
}
