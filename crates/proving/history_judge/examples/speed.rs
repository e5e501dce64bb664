//! Measures the speed of the judge on the histories of a correct engine, of one whose snapshots
//! allow write skew, and of a broken one; each history is written, read and judged.
//!
//! `cargo run --release -p check --example speed -- 1000000`

#[path = "../tests/judge/engine.rs"]
mod engine;

use engine::{Fault, Isolation, Plan};
use history_judge::{judge, read_edn, write_edn};
use std::time::Instant;

/// Sessions of the history, and transactions for each key.
const SESSIONS: usize = 32;
const TRANSACTIONS_PER_KEY: u64 = 20;

fn main() {
    let transactions = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let transactions: usize = transactions.unwrap_or(100_000);
    for is_lists in [true, false] {
        for (isolation, fault) in [
            (Isolation::Validated, Fault::None),
            (Isolation::Snapshot, Fault::None),
            (Isolation::Snapshot, Fault::NoFirstCommitter),
            (Isolation::Snapshot, Fault::ReadsTheNewest),
        ] {
            let plan = Plan {
                transactions,
                sessions: SESSIONS,
                keys: (transactions as u64 / TRANSACTIONS_PER_KEY).max(1),
                is_lists,
                abort_percent: 1,
                unknown_percent: 1,
                ..Plan::new(isolation, fault, 1)
            };
            measure(&plan);
        }
    }
}

fn measure(plan: &Plan) {
    let history = engine::run(plan);
    let mut text = Vec::new();
    write_edn(&history, &mut text).expect("a vector takes all");
    drop(history);
    let start = now();
    let history = read_edn(&text).expect("it was just written");
    let read_s = start.elapsed().as_secs_f64();
    let start = now();
    let report = judge(&history).expect("its values are unique");
    let judge_s = start.elapsed().as_secs_f64();
    let found: Vec<String> = report.anomalies().map(|anomaly| anomaly.to_string()).collect();
    println!(
        "{} transactions, {:?} {:?}, lists {}: {} MB of EDN read in {read_s:.2} s, judged in {judge_s:.2} s; \
         found {}; holds {:?}",
        plan.transactions,
        plan.isolation,
        plan.fault,
        plan.is_lists,
        text.len() / 1_000_000,
        if found.is_empty() { "nothing".to_owned() } else { found.join(" ") },
        history_judge::Level::ALL.map(|level| report.verdict(level).to_string())
    );
}

#[expect(clippy::disallowed_methods, reason = "it measures real time; there is no Env here")]
fn now() -> Instant {
    Instant::now()
}
