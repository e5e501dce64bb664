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
use workload::WorkloadError;

/// How long the driver sleeps at a time; it reacts to an interruption after that.
const SLEEP_MS: u64 = 20;
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
    /// How long it was, and how much processor time all threads used in it.
    pub seconds: f64,
    /// Processor time of the whole process.
    pub cpu_seconds: f64,
    /// What was measured.
    pub window: Window,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The windows that count, in order; fewer if the run was interrupted.
    pub spans: Vec<Span>,
    /// Everything that was run, warm-up and ending included.
    pub all: Window,
    /// Whether the user ended it early.
    pub is_interrupted: bool,
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

/// Where the run stands, for whoever shows it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Seconds since the first window that counts began; 0 before.
    pub seconds: f64,
    /// Transactions finished since then.
    pub transactions: u64,
    /// The window that has just become full, if one has.
    pub is_new_window: bool,
}

/// Runs the workload. `show` is called again and again, on this thread.
pub fn run<W: LocalWorkload>(
    db: &Db,
    workload: &W,
    plan: &RunPlan,
    stop: &AtomicBool,
    show: &mut dyn FnMut(&Standing),
) -> Result<Run> {
    let control = Control {
        window: AtomicU64::new(0),
        full: Mutex::default(),
        finished: (0..plan.threads).map(|_| Counter::default()).collect(),
    };
    let times = std::thread::scope(|scope| -> Result<Vec<(f64, f64)>> {
        let work = |thread| {
            let control = &control;
            scope.spawn(move || work(db, workload, plan, control, thread))
        };
        let workers: Vec<_> = (0..plan.threads).map(work).collect();
        let is_failed = || workers.iter().any(|worker| worker.is_finished());
        let times = conduct(plan, &control, stop, &is_failed, show);
        control.window.store(STOP, Relaxed);
        for worker in workers {
            worker
                .join()
                .expect("a panic of a worker is a panic of the program")?;
        }
        Ok(times)
    })
    .context("the run ended early")?;
    let full = control.full.into_inner().expect("no worker panicked");
    Ok(gather(
        workload.transaction_types().len(),
        times,
        &full,
        plan,
    ))
}

/// Moves from window to window until the last is over, the user stops, or a worker fails. Returns seconds
/// and processor seconds of each window that counts.
fn conduct(
    plan: &RunPlan,
    control: &Control,
    stop: &AtomicBool,
    is_failed: &dyn Fn() -> bool,
    show: &mut dyn FnMut(&Standing),
) -> Vec<(f64, f64)> {
    let mut times = Vec::new();
    let start = Moment::now();
    let is_over = || stop.load(Relaxed) || is_failed();
    while start.elapsed_s() < plan.warm_up_s && !is_over() {
        sleep_ms(SLEEP_MS);
    }
    let transactions = || {
        control
            .finished
            .iter()
            .map(|counter| counter.0.load(Relaxed))
            .sum::<u64>()
    };
    let (run_start, transactions_before) = (Moment::now(), transactions());
    for number in 1..=plan.windows {
        if is_over() {
            break;
        }
        let (window_start, cpu_start) = (Moment::now(), process_cpu_s());
        control.window.store(number, Relaxed);
        let mut standing = Standing {
            seconds: 0.0,
            transactions: 0,
            is_new_window: number > 1,
        };
        // The end is reckoned from the start of all windows, so that their lateness does not add up.
        while run_start.elapsed_s() < plan.window_s * number as f64 && !is_over() {
            sleep_ms(SLEEP_MS);
            standing.seconds = run_start.elapsed_s();
            standing.transactions = transactions() - transactions_before;
            show(&standing);
            standing.is_new_window = false;
        }
        times.push((window_start.elapsed_s(), process_cpu_s() - cpu_start));
    }
    times
}

fn gather(
    kind_count: usize,
    times: Vec<(f64, f64)>,
    full: &[(u64, Window)],
    plan: &RunPlan,
) -> Run {
    let mut all = Window::new(kind_count);
    full.iter().for_each(|(_, window)| all.merge(window));
    let is_interrupted = (times.len() as u64) < plan.windows
        || times.iter().map(|&(seconds, _)| seconds).sum::<f64>()
            < 0.99 * plan.window_s * plan.windows as f64;
    let spans = (1..).zip(times).map(|(number, (seconds, cpu_seconds))| {
        let mut window = Window::new(kind_count);
        let parts = full.iter().filter(|&&(of, _)| of == number);
        parts.for_each(|(_, part)| window.merge(part));
        Span {
            seconds,
            cpu_seconds,
            window,
        }
    });
    Run {
        spans: spans.collect(),
        all,
        is_interrupted,
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
        control.finished[thread as usize]
            .0
            .store(finished_count, Relaxed);
        let current = control.window.load(Relaxed);
        if current != number {
            add_statistics(&mut window.statistics, &window_start, lane.statistics());
            window_start = *lane.statistics();
            let full = std::mem::replace(&mut window, Window::new(kind_count));
            control
                .full
                .lock()
                .expect("no worker panics here")
                .push((number, full));
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
