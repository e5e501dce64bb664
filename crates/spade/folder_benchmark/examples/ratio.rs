//! Compares generated code with the hand-written workload, in turns in one run: `cargo run
//! --release -p folder_benchmark --example ratio -- tpcc|tatp [both|kinds|hand|generated|plans]
//! [TRANSACTIONS] [UNITS] [DESIGN]`.
//!
//! Prints the processor time per transaction of each, and the median of the rounds' ratios; other
//! load on the host slows down both. `kinds` also prints the latency of each kind of transaction:
//! the median, and the mean without the slowest hundredth. Stored procedures draw eight calls at
//! once, which medians do not include. With `hand` or `generated` alone, it is suitable for
//! counting instructions: `valgrind --tool=callgrind --toggle-collect=run_turn` does not count the
//! load.

use fabric::{Env, LocalEnv, run_now};
use folder_benchmark::{Options, Stored};
use std::path::{Path, PathBuf};
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane};
use workload::tatp::TatpConfig;
use workload::tpcc::Config;
use workload::{Tatp, Tpcc, Workload};

/// Number of rounds.
const ROUNDS: u64 = 21;
/// Subscribers per unit of TATP's folder.
const SUBSCRIBERS: u32 = 100_000;

struct Side<W: Workload<LocalEnv>> {
    workload: W,
    lane: Lane<LocalEnv>,
    terminal: W::Terminal,
    _database: Database<LocalEnv>,
    /// Latencies by kind in nanoseconds, if requested.
    kinds: Option<Vec<Vec<u64>>>,
}

impl<W: Workload<LocalEnv>> Side<W> {
    fn load(workload: W, are_kinds_asked: bool) -> Self {
        let server_bytes = workload.memory_bytes() + (4 << 30);
        let config = OpenConfig { servers: 1, server_bytes, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        run_now(workload.create_tables(&database)).expect("the tables are new");
        let mut lane = run_now(database.lane()).expect("lanes are free");
        let parts = workload.load_parts();
        for part in 0..parts {
            let loaded = workload.load_part(&database, &mut lane, part, parts, &|_| {});
            run_now(loaded).expect("nobody is in the way");
        }
        let terminal = workload.terminal(&database, 0, 1, 1).expect("the tables are there");
        let kinds = are_kinds_asked.then(|| vec![Vec::new(); workload.transaction_types().len()]);
        Self { workload, lane, terminal, _database: database, kinds }
    }

    /// Processor time of `transactions` transactions, in nanoseconds.
    fn turn(&mut self, transactions: u64) -> u64 {
        let start = processor_ns();
        match &mut self.kinds {
            None => run_turn(&self.workload, &mut self.lane, &mut self.terminal, transactions),
            Some(kinds) => {
                for _ in 0..transactions {
                    let begin_ns = self.lane.env().now_ns();
                    let run = self.workload.run_one(&mut self.lane, &mut self.terminal);
                    let finished = run_now(run).expect("nothing goes wrong");
                    kinds[finished.kind].push(self.lane.env().now_ns() - begin_ns);
                }
            }
        }
        processor_ns() - start
    }

    /// Median latency of a kind in nanoseconds, and the mean without the slowest hundredth.
    fn told(&mut self, kind: usize) -> Option<(u64, u64)> {
        let times = &mut self.kinds.as_mut()?[kind];
        times.sort_unstable();
        let usual = &times[..times.len() * 99 / 100];
        let mean = usual.iter().sum::<u64>().checked_div(usual.len() as u64)?;
        Some((usual[usual.len() / 2], mean))
    }
}

#[inline(never)]
fn run_turn<W: Workload<LocalEnv>>(
    workload: &W,
    lane: &mut Lane<LocalEnv>,
    terminal: &mut W::Terminal,
    transactions: u64,
) {
    for _ in 0..transactions {
        run_now(workload.run_one(lane, terminal)).expect("nothing goes wrong");
    }
}

/// Processor time of this thread in nanoseconds.
fn processor_ns() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    let first = told.split_whitespace().next().and_then(|first| first.parse().ok());
    first.expect("it begins with nanoseconds")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let name = argument(0).unwrap_or("tpcc");
    let which = argument(1).unwrap_or("both");
    let number = |at, usual| argument(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let transactions: u64 = number(2, 210_000);
    let units = number(3, if name == "tatp" { 10 } else { 1 });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
    let design = argument(4).map(PathBuf::from);
    let options = Options {
        units: Some(units),
        wants_plans: which == "plans",
        linked: &[],
        design: design.as_deref(),
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    let stored = Stored::read(&folder, &options).unwrap_or_else(|error| panic!("{error}"));
    let units = units as u32;
    match name {
        "tatp" => {
            let config = TatpConfig::new(units * SUBSCRIBERS);
            compare(Tatp::new(config).expect("it is in bounds"), stored, which, transactions);
        }
        _ => compare(
            Tpcc::new(Config::new(units)).expect("it is in bounds"),
            stored,
            which,
            transactions,
        ),
    }
}

fn compare<W: Workload<LocalEnv>>(by_hand: W, stored: Stored, which: &str, transactions: u64) {
    let each = transactions / ROUNDS;
    let kinds = which == "kinds";
    let mut by_hand =
        (which != "generated" && which != "plans").then(|| Side::load(by_hand, kinds));
    let mut stored = (which != "hand").then(|| Side::load(stored, kinds));
    let (mut times, mut ratios) = ([0, 0], Vec::new());
    for round in 0..=ROUNDS {
        let hand_ns = by_hand.as_mut().map_or(0, |side| side.turn(each));
        let stored_ns = stored.as_mut().map_or(0, |side| side.turn(each));
        // The first round warms up.
        if round > 0 {
            times = [times[0] + hand_ns, times[1] + stored_ns];
            ratios.push(hand_ns as f64 / stored_ns.max(1) as f64);
        }
    }
    ratios.sort_by(f64::total_cmp);
    let us = times.map(|ns| ns as f64 / 1e3 / (each * ROUNDS) as f64);
    println!(
        "by hand {:.3} us, stored procedures {:.3} us, ratio {:.3} ({:.3} to {:.3})",
        us[0],
        us[1],
        ratios[ratios.len() / 2],
        ratios[0],
        ratios[ratios.len() - 1]
    );
    if let (Some(by_hand), Some(stored)) = (&mut by_hand, &mut stored) {
        compare_kinds(by_hand, stored);
    }
}

fn compare_kinds<A: Workload<LocalEnv>, B: Workload<LocalEnv>>(
    by_hand: &mut Side<A>,
    stored: &mut Side<B>,
) {
    for (kind, name) in stored.workload.transaction_types().iter().enumerate() {
        let same = by_hand
            .workload
            .transaction_types()
            .iter()
            .position(|other| other.replace('-', "_") == *name);
        let (Some(hand), Some(stored)) =
            (same.and_then(|same| by_hand.told(same)), stored.told(kind))
        else {
            continue;
        };
        println!(
            "{name:24} median {:7} and {:7} ns, mean {:7} and {:7} ns",
            hand.0, stored.0, hand.1, stored.1
        );
    }
}
