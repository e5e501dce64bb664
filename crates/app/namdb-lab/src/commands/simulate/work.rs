//! Executes the runs, one per thread at a time.

use super::super::interruption;
use crate::bench::progress::Progress;
use crate::bench::text;
use namdb::host::Moment;
use scenario::{Coverage, RunOptions, RunReport, Scenario, TransactionCounts};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Maximal time between two updates of the progress.
const SHOW: Duration = Duration::from_millis(200);
/// Number of finished runs between two updates of the progress.
const RUNS_PER_SHOW: u64 = 16;

/// Results of the runs.
pub struct Done {
    pub scenarios: Vec<ScenarioDone>,
    /// Coverage of all runs.
    pub coverage: Coverage,
    /// The requested seeds.
    pub seeds: Range<u64>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether the user ended the command early.
    pub is_interrupted: bool,
}

/// Results of one scenario's runs.
#[derive(Default)]
pub struct ScenarioDone {
    pub name: String,
    pub seeds: u64,
    pub transactions: TransactionCounts,
    pub verbs: u64,
    pub coverage: Coverage,
    /// Failing seeds with the failure, sorted by seed.
    pub failures: Vec<(u64, String)>,
}

impl ScenarioDone {
    fn add(&mut self, report: &RunReport) {
        self.seeds += 1;
        self.transactions.add(&report.transactions);
        self.verbs += report.verbs;
        self.coverage.add(&report.coverage);
        if let Some(failure) = &report.failure {
            self.failures.push((report.seed, failure.to_string()));
        }
    }
}

/// Runs every scenario with every seed, until the user ends it.
pub fn run_all(scenarios: &[Scenario], seeds: Range<u64>, threads: u32) -> Done {
    let start = Moment::now();
    let named =
        |scenario: &Scenario| ScenarioDone { name: scenario.name.clone(), ..Default::default() };
    let done = Mutex::new(scenarios.iter().map(named).collect::<Vec<_>>());
    let count = scenarios.len() as u64 * (seeds.end - seeds.start);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (finished, watched) = channel();
        for _ in 0..threads.min(count.try_into().unwrap_or(u32::MAX)) {
            let (done, next, seeds, finished) = (&done, &next, seeds.clone(), finished.clone());
            scope.spawn(move || work(scenarios, seeds, next, done, &finished));
        }
        drop(finished);
        watch(&watched, count);
    });
    let mut scenarios = done.into_inner().expect("no thread panics");
    let mut coverage = Coverage::default();
    for scenario in &mut scenarios {
        scenario.failures.sort();
        coverage.add(&scenario.coverage);
    }
    let ran: u64 = scenarios.iter().map(|scenario| scenario.seeds).sum();
    let is_interrupted = ran < count;
    Done { scenarios, coverage, seeds, seconds: start.elapsed_s(), is_interrupted }
}

/// Takes runs one by one. Scenarios alternate, so that all have had about the same number of seeds
/// at any time.
fn work(
    scenarios: &[Scenario],
    seeds: Range<u64>,
    next: &AtomicU64,
    done: &Mutex<Vec<ScenarioDone>>,
    finished: &Sender<bool>,
) {
    let count = scenarios.len() as u64;
    while !interruption().load(Relaxed) {
        let number = next.fetch_add(1, Relaxed);
        let seed = seeds.start + number / count;
        if seed >= seeds.end {
            return;
        }
        let place = (number % count) as usize;
        let report = scenario::run(&scenarios[place], seed, RunOptions::default());
        done.lock().expect("no thread panics")[place].add(&report);
        // The watching thread may have ended.
        let _ = finished.send(report.failure.is_some());
    }
}

/// Displays the progress until the last thread has ended.
fn watch(finished: &Receiver<bool>, count: u64) {
    let progress = Progress::begin("simulate", count);
    let (mut runs, mut failing) = (0, 0);
    loop {
        let is_due = match finished.recv_timeout(SHOW) {
            Ok(fails) => {
                runs += 1;
                failing += u64::from(fails);
                runs % RUNS_PER_SHOW == 0
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if is_due {
            progress.show(runs, &told(runs, failing));
        }
    }
    progress.finish(&told(runs, failing));
}

fn told(runs: u64, failing: u64) -> String {
    match failing {
        0 => text::counted(runs, "run"),
        _ => format!("{}, {failing} of them fail", text::counted(runs, "run")),
    }
}
