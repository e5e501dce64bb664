//! The cost of each type of TPC-C's transactions on every profile, for this engine and for the
//! protocol as printed: round trips, verbs, bytes and latency.
//!
//! The papers print none of it. The figure plots the latency over that of a small read on an idle
//! network.

use super::published::scalability::standard;
use super::scalability;
use crate::experiment::{Run, Steps};
use crate::kinds::Kind;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::published;
use crate::tpcc::{self, PORTS, Plan};
use crate::world::{Done, at, network, world};
use fabric::{Batch, Env, Fabric};
use workload::tpcc::TRANSACTION_NAMES;

/// Number of memory servers, and of compute servers; one more machine has the oracle.
const SERVERS: u16 = 4;
/// Threads of each compute server, each with a warehouse of its own: no thread waits for a core.
const THREADS: u16 = 20;
/// Profiles whose kernels exchange messages: everything takes longer.
const SLOW: [&str; 3] = ["ethernet-10g", "ethernet-1g", "ipoib-fdr"];
const PROFILES_QUICK: [&str; 2] = ["connect-ib-2xfdr", "ethernet-10g"];
/// The names of the engines in the table.
const ENGINES: [&str; 2] = ["ours", "as printed"];

/// Runs both engines on all profiles.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let profiles: &[&'static str] = run.quick_or(&PROFILES_QUICK, &hardware::NAMES);
    let (mut rows, mut points) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut notes = vec![
        "Aborted attempts of a transaction are part of what it costs, and so is its thread's share of the collection of garbage."
            .to_owned(),
    ];
    let mut steps = Steps::of(profiles.len() * ENGINES.len());
    for &profile in profiles {
        let read_us = read_us(run.seed, profile);
        for (engine, name) in ENGINES.into_iter().enumerate() {
            steps.next(run, &format!("{profile}, {name}"));
            let (kinds, sentence) =
                if engine == 0 { ours(run, profile) } else { printed(run, profile) };
            rows[engine].extend(kinds.iter().map(|(of, kind)| row(name, profile, of, kind)));
            let latencies = kinds.iter().map(|(_, kind)| kind.latency_us(50)).collect();
            points[engine].push((read_us, latencies));
            notes.push(sentence);
        }
    }
    let sample = plan(run, PROFILES_QUICK[0]);
    let us = "microseconds of a small read, nothing else under way: one point for each profile";
    Outcome {
        parameters: vec![
            ("memory servers, and as many compute servers", SERVERS.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("warehouses of each memory server", sample.warehouses_each.to_string()),
            ("loaded per warehouse, ours", sample.scale_sentence()),
            ("loaded per warehouse, as printed", published::Plan::scale_sentence()),
            ("ports in use, where there are two", PORTS.to_string()),
        ],
        x: Axis { title: us, is_logarithmic: true },
        y: Axis { title: "microseconds, median of a transaction", is_logarithmic: true },
        series: ENGINES
            .into_iter()
            .zip(points)
            .flat_map(|(name, points)| curves(name, points))
            .collect(),
        compared: Vec::new(),
        tables: vec![Table {
            shows: "Costs of a committed transaction".to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows: rows.concat(),
        }],
        notes,
    }
}

/// The types with the costs of each, and a further sentence.
type Costs = (Vec<(&'static str, Kind)>, String);

fn ours(run: &Run<'_>, profile: &'static str) -> Costs {
    let seen = tpcc::run(&plan(run, profile));
    let kinds = seen.kinds.named().map(|(name, kind)| (name, kind.clone())).collect();
    (kinds, seen.sentence(&format!("{profile}, {}", ENGINES[0]), 2 * SERVERS))
}

fn printed(run: &Run<'_>, profile: &'static str) -> Costs {
    let seen = published::run(&plan_printed(run, profile));
    let kinds = seen.named().map(|(name, kind)| (name, kind.cost.clone())).collect();
    (kinds, seen.sentence(&format!("{profile}, {}", ENGINES[1]), 2 * SERVERS))
}

/// For each profile the latency of a small read, and the medians of all types, if they have any.
type Medians = Vec<(f64, Vec<Option<f64>>)>;

/// A curve for each type, from the fastest profile to the slowest.
fn curves(engine: &str, mut points: Medians) -> Vec<Series> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let curve = |(index, name): (usize, &str)| Series {
        name: format!("{name}, {engine}"),
        points: points.iter().filter_map(|point| Some((point.0, point.1[index]?))).collect(),
        is_published: false,
    };
    TRANSACTION_NAMES.into_iter().enumerate().map(curve).collect()
}

const COLUMNS: [&str; 8] =
    ["engine", "profile", "type", "round trips", "verbs", "bytes", "median, us", "99 %, us"];

/// A row of the table, for any engine.
fn row(engine: &str, profile: &str, name: &str, kind: &Kind) -> Vec<String> {
    let mut cells = [engine, profile, name].map(str::to_owned).to_vec();
    if kind.count() == 0 {
        cells.resize(COLUMNS.len(), String::new());
        return cells;
    }
    let [round_trips, verbs, bytes] = kind.traffic();
    cells.extend([format!("{round_trips:.1}"), format!("{verbs:.1}"), format!("{bytes:.0}")]);
    let latencies = [50, 99].map(|percent| kind.latency_us(percent));
    cells.extend(latencies.into_iter().flatten().map(|us| match us < 100.0 {
        true => format!("{us:.1}"),
        false => format!("{us:.0}"),
    }));
    cells
}

fn plan(run: &Run<'_>, profile: &'static str) -> Plan {
    let slower = slower(profile);
    Plan {
        profile,
        threads: THREADS,
        warm_ns: slower * run.quick_or(1_000_000, 4_000_000),
        window_ns: slower * run.quick_or(1_000_000, 4_000_000),
        ..scalability::plan(run, 2 * SERVERS, false)
    }
}

/// The same cluster with the protocol as printed.
fn plan_printed(run: &Run<'_>, profile: &'static str) -> published::Plan {
    let slower = slower(profile);
    published::Plan {
        profile,
        threads: THREADS,
        warm_ns: slower * run.quick_or(500_000, 1_000_000),
        window_ns: slower * run.quick_or(1_000_000, 4_000_000),
        ..standard(run, 2 * SERVERS, false)
    }
}

fn slower(profile: &str) -> u64 {
    if SLOW.contains(&profile) { 10 } else { 1 }
}

/// The round trip of eight bytes on an idle network, in microseconds.
fn read_us(seed: u64, profile: &str) -> f64 {
    let world = world(seed, network(profile, PORTS), (1, 1), 1 << 10);
    let env = world.endpoint(world.compute_node(0));
    let (reader, took_ns) = (env.clone(), Done::default());
    let took = took_ns.clone();
    world.spawn_on(&env, async move {
        let mut batch = Batch::new();
        batch.read(at(0, 0), 1);
        let start_ns = reader.now_ns();
        reader.execute(batch).await.expect("the server is alive");
        took.set(reader.now_ns() - start_ns);
    });
    world.run_for(1_000_000);
    took_ns.get() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_read_takes_longer_by_kernels_than_by_cards_and_than_by_loads() {
        let [load, card, kernel] =
            ["cxl", "connect-ib-2xfdr", "ethernet-10g"].map(|profile| read_us(1, profile));
        assert!(0.0 < load && load < card && 10.0 * card < kernel, "{load} {card} {kernel}");
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let nothing = row("e", "p", "t", &Kind::default());
        assert_eq!((nothing.len(), nothing[3].as_str()), (COLUMNS.len(), ""));
    }
}
