//! What each type of TPC-C's transactions costs on every profile: round trips, verbs and bytes, and how long it takes.
//!
//! The papers print none of it. The picture puts the latency beside what a small read of an idle network takes.

use crate::experiment::Run;
use crate::kinds::Kind;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::tpcc::{self, Engine, PORTS, Plan, SCALE};
use crate::world::{Done, at, network, world};
use fabric::{Batch, Env, Fabric};
use workload::tpcc::{ItemChoice, Mix, TRANSACTION_NAMES};

/// Memory servers, and as many compute servers; one more machine has the oracle.
const SERVERS: u16 = 4;
/// Threads of each compute server, each with a warehouse of its own: nobody is kept waiting by a core.
const THREADS: u16 = 20;
/// Warehouses of each memory server [ZB17 7].
const WAREHOUSES: u32 = 50;
/// Profiles by which kernels exchange messages: everything takes longer.
const SLOW: [&str; 3] = ["ethernet-10g", "ethernet-1g", "ipoib-fdr"];
const PROFILES_QUICK: [&str; 2] = ["connect-ib-2xfdr", "ethernet-10g"];
/// What the engine is called in the table.
const OURS: &str = "ours";

/// Runs all profiles.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let profiles: &[&'static str] = run.quick_or(&PROFILES_QUICK, &hardware::NAMES);
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    let mut notes = vec![
        "Aborted attempts of a transaction are part of what it costs, and so is its thread's share of the collection of garbage."
            .to_owned(),
    ];
    for (done, &profile) in profiles.iter().enumerate() {
        (run.progress)(done as u64, profiles.len() as u64, profile);
        let read_us = read_us(run.seed, profile);
        let seen = tpcc::run(&plan(run, profile));
        rows.extend(seen.kinds.named().map(|(name, kind)| row(OURS, profile, name, kind)));
        let latencies = seen.kinds.named().map(|(_, kind)| kind.latency_us(50));
        points.push((read_us, latencies.collect::<Vec<_>>()));
        notes.push(seen.sentence(profile, 2 * SERVERS));
    }
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    let curve = |(index, name): (usize, &str)| Series {
        name: name.to_owned(),
        points: points.iter().filter_map(|point| Some((point.0, point.1[index]?))).collect(),
        is_published: false,
    };
    let sample = plan(run, PROFILES_QUICK[0]);
    let us = "microseconds of a small read, nothing else under way: one point for each profile";
    Outcome {
        parameters: vec![
            ("memory servers, and as many compute servers", SERVERS.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("warehouses of each memory server", WAREHOUSES.to_string()),
            ("loaded per warehouse", sample.scale_sentence()),
            ("ports in use, where there are two", PORTS.to_string()),
        ],
        x: Axis { title: us, is_logarithmic: true },
        y: Axis { title: "microseconds, median of a transaction", is_logarithmic: true },
        series: TRANSACTION_NAMES.into_iter().enumerate().map(curve).collect(),
        compared: Vec::new(),
        tables: vec![Table {
            shows: "What a committed transaction costs".to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        notes,
    }
}

const COLUMNS: [&str; 8] =
    ["engine", "profile", "type", "round trips", "verbs", "bytes", "median, us", "99 %, us"];

/// A row of the table, of any engine.
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
    let slower = if SLOW.contains(&profile) { 10 } else { 1 };
    Plan {
        seed: run.seed,
        profile,
        memory_servers: SERVERS,
        compute_servers: SERVERS,
        threads: THREADS,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        mix: Mix::STANDARD,
        distribution_percent: None,
        item_choice: ItemChoice::Nurand,
        engine: Engine::BEST,
        practice: tpcc::PRACTICE,
        locality: None,
        warm_ns: slower * run.quick_or(1_000_000, 4_000_000),
        window_ns: slower * run.quick_or(1_000_000, 4_000_000),
    }
}

/// How long eight bytes take there and back if nothing else is under way, in microseconds.
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
