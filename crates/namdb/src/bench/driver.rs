//! Runs a workload on all threads, and cuts time into windows: one to warm up, those that count, one to
//! end. The workers themselves are the only busy threads; this one sleeps.

use super::LocalWorkload;
use super::measure::{Reading, Window, add_statistics};
use anyhow::{Context, Result};
use fabric::{Fabric, LocalEnv, run_now};
use namdb::Db;
use namdb::host::{Moment, process_cpu_s, sleep_ms};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::Lane;
use workload::{RunTotals, WorkloadError};

/// How long the driver sleeps at a time; it reacts to an interruption after that.
const SLEEP_MS: u64 = 20;
/// Of the memory that a run is expected to take, what is touched before it: some runs are faster than
/// their warm-up.
const POPULATE_SHARE: f64 = 1.5;
/// Bytes touched at a time.
const POPULATE_BYTES: u64 = 32 << 20;
/// Most seconds spent on it.
const POPULATE_S_MAX: f64 = 5.0;
/// A shorter warm-up says nothing about how tables grow.
const WARM_UP_S_MIN: f64 = 0.5;
/// The number of the window after the last.
const STOP: u64 = u64::MAX;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan {
    /// Threads, each with a lane and a terminal.
    pub threads: u32,
    /// Seconds before anything counts.
    pub warm_up_s: f64,
    /// Seconds of each window that counts.
    pub window_s: f64,
    /// Windows that count.
    pub windows: u64,
    /// Seed of the terminals.
    pub seed: u64,
}

/// A span of the run, summed over the threads.
#[derive(Clone, Debug)]
pub struct Span {
    /// How long it was.
    pub seconds: f64,
    /// Processor time of the whole process in it.
    pub cpu_seconds: f64,
    /// What was measured.
    pub window: Window,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The windows that count, all in one; less than planned if the run was interrupted.
    pub measured: Span,
    /// How everything ended that was run, warm-up and ending included.
    pub totals: RunTotals,
    /// Whether the user ended it early.
    pub is_interrupted: bool,
}

/// Where the run stands, for whoever shows it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Seconds since the first window that counts began.
    pub seconds: f64,
    /// Transactions finished since then.
    pub transactions: u64,
}

/// Is told about the run as it goes, on the driver's thread.
pub trait Watcher {
    /// Many times a second.
    fn show(&mut self, standing: &Standing);

    /// At the end of each window that counts. What a transaction that was still running then adds goes
    /// to the next one.
    fn span(&mut self, span: &Span);
}

/// Shared by the driver and its workers.
struct Control {
    /// The number of the window that transactions finish in now.
    window: AtomicU64,
    /// Full windows, with their numbers.
    full: Mutex<Vec<(u64, Window)>>,
    /// Finished transactions, one counter per thread.
    finished: Vec<Counter>,
}

#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

/// Runs the workload.
pub fn run<W: LocalWorkload>(
    db: &Db,
    workload: &W,
    plan: &RunPlan,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Run> {
    let control = Control {
        window: AtomicU64::new(0),
        full: Mutex::default(),
        finished: (0..plan.threads).map(|_| Counter::default()).collect(),
    };
    let mut conductor = Conductor::new(db, plan, &control, workload.transaction_types().len());
    std::thread::scope(|scope| -> Result<()> {
        let work = |thread| {
            let control = &control;
            scope.spawn(move || work(db, workload, plan, control, thread))
        };
        let workers: Vec<_> = (0..plan.threads).map(work).collect();
        let is_over = || stop.load(Relaxed) || workers.iter().any(|worker| worker.is_finished());
        conductor.conduct(&is_over, watcher);
        control.window.store(STOP, Relaxed);
        for worker in workers {
            worker.join().expect("a panic of a worker is a panic of the program")?;
        }
        Ok(())
    })
    .context("the run ended early")?;
    conductor.close(watcher);
    let planned_s = plan.window_s * plan.windows as f64;
    let is_interrupted = conductor.measured.seconds < 0.99 * planned_s;
    Ok(Run { measured: conductor.measured, totals: conductor.totals, is_interrupted })
}

/// Moves the workers from window to window and adds up what they deliver, window by window, so that a
/// long run takes no more memory than a short one.
struct Conductor<'a> {
    db: &'a Db,
    plan: &'a RunPlan,
    control: &'a Control,
    kind_count: usize,
    measured: Span,
    totals: RunTotals,
    /// Seconds and processor seconds of the window that is over but not closed.
    over: Option<(f64, f64)>,
}

impl<'a> Conductor<'a> {
    fn new(db: &'a Db, plan: &'a RunPlan, control: &'a Control, kind_count: usize) -> Self {
        let window = Window::new(kind_count);
        let measured = Span { seconds: 0.0, cpu_seconds: 0.0, window };
        let totals = RunTotals::new(kind_count);
        Self { db, plan, control, kind_count, measured, totals, over: None }
    }

    /// Goes on until the last window is over, the user stops, or a worker fails.
    fn conduct(&mut self, is_over: &dyn Fn() -> bool, watcher: &mut dyn Watcher) {
        let (plan, control) = (self.plan, self.control);
        let (start, used_bytes) = (Moment::now(), self.used_bytes());
        while start.elapsed_s() < plan.warm_up_s && !is_over() {
            sleep_ms(SLEEP_MS);
        }
        let growth = self.used_bytes().saturating_sub(used_bytes) as f64 / start.elapsed_s();
        if plan.warm_up_s >= WARM_UP_S_MIN {
            self.populate(growth * plan.window_s * plan.windows as f64, is_over);
        }
        let transactions =
            || control.finished.iter().map(|counter| counter.0.load(Relaxed)).sum::<u64>();
        let (run_start, transactions_before) = (Moment::now(), transactions());
        for number in 1..=plan.windows {
            if is_over() {
                break;
            }
            let (window_start, cpu_start) = (Moment::now(), process_cpu_s());
            control.window.store(number, Relaxed);
            // Reckoned from the start of all windows, so that their lateness does not add up.
            while run_start.elapsed_s() < plan.window_s * number as f64 && !is_over() {
                sleep_ms(SLEEP_MS);
                // By now the workers have noticed that the window before is over.
                self.close(watcher);
                watcher.show(&Standing {
                    seconds: run_start.elapsed_s(),
                    transactions: transactions() - transactions_before,
                });
            }
            self.close(watcher);
            self.over = Some((window_start.elapsed_s(), process_cpu_s() - cpu_start));
        }
    }

    fn used_bytes(&self) -> u64 {
        // A server that cannot be asked ends the run elsewhere, with a better sentence.
        let usage = self.db.memory_usage().unwrap_or_default();
        usage.iter().map(|table| table.used_bytes).sum()
    }

    /// Has the memory touched that the windows will take if the tables go on growing as they do. What the
    /// host charges for the first touch of a page says nothing about the engine.
    fn populate(&self, growth_bytes: f64, is_over: &dyn Fn() -> bool) {
        let servers = u64::from(self.db.config().servers.max(1));
        let wanted_bytes = (growth_bytes * POPULATE_SHARE) as u64 / servers;
        let (start, mut touched_bytes) = (Moment::now(), 0);
        while touched_bytes < wanted_bytes && start.elapsed_s() < POPULATE_S_MAX && !is_over() {
            let bytes = POPULATE_BYTES.min(wanted_bytes - touched_bytes);
            // Without it the run is slower, and nothing else.
            let _ = run_now(self.db.handle().populate(bytes));
            touched_bytes += bytes;
        }
    }

    /// Takes what the workers have delivered, and closes the window that is over, if one is.
    fn close(&mut self, watcher: &mut dyn Watcher) {
        let Some((seconds, cpu_seconds)) = self.over.take() else {
            return;
        };
        let mut window = Window::new(self.kind_count);
        let full = std::mem::take(&mut *self.control.full.lock().expect("no worker panicked"));
        for (number, part) in full {
            self.totals.merge(&part.totals);
            if number > 0 {
                window.merge(&part);
            }
        }
        let span = Span { seconds, cpu_seconds, window };
        self.measured.seconds += span.seconds;
        self.measured.cpu_seconds += span.cpu_seconds;
        self.measured.window.merge(&span.window);
        watcher.span(&span);
    }
}

/// A worker: transaction after transaction, with one look at the clock between two of them.
fn work<W: LocalWorkload>(
    db: &Db,
    workload: &W,
    plan: &RunPlan,
    control: &Control,
    thread: u32,
) -> Result<(), WorkloadError> {
    let database = db.handle();
    let mut lane = run_now(database.lane())?;
    let mut terminal = workload.terminal(&database, thread, plan.threads, plan.seed)?;
    let kind_count = workload.transaction_types().len();
    let mut window = Window::new(kind_count);
    let mut number = control.window.load(Relaxed);
    let mut before = read(&lane);
    let mut window_start = *lane.statistics();
    let mut time = Moment::now();
    let mut finished_count = 0;
    while number != STOP {
        let finished = run_now(workload.run_one(&mut lane, &mut terminal))?;
        let (after, now) = (read(&lane), Moment::now());
        window.add(&finished, now.since_ns(time), &before, &after);
        (before, time) = (after, now);
        finished_count += 1;
        control.finished[thread as usize].0.store(finished_count, Relaxed);
        let current = control.window.load(Relaxed);
        if current != number {
            add_statistics(&mut window.statistics, &window_start, lane.statistics());
            window_start = *lane.statistics();
            let full = std::mem::replace(&mut window, Window::new(kind_count));
            control.full.lock().expect("no worker panics here").push((number, full));
            number = current;
            time = Moment::now();
        }
    }
    Ok(())
}

#[inline]
fn read(lane: &Lane<LocalEnv>) -> Reading {
    Reading::new(lane.env().counters().counts(), lane.statistics())
}
