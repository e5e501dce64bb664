//! Runs a workload on all threads and divides time into windows: warm-up, measured windows, ending.
//! Only the workers are busy; the driver's thread sleeps.

use super::compute_servers::Loss;
use super::measure::Window;
use super::part::Part;
use super::populate::populate;
use super::site::{Site, SiteSession, SiteWorkload};
use super::worker;
use super::worker_metrics::RunMetrics;
use anyhow::{Context, Result};
use namdb::host::{Moment, process_cpu_s, process_kernel_s, sleep_ms};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use workload::RunTotals;

/// The driver sleeps this long at a time, so it reacts to an interruption after at most that.
const SLEEP_MS: u64 = 20;
/// A shorter warm-up says nothing about the growth of tables.
const WARM_UP_S_MIN: f64 = 0.5;
/// Number of the window after the last.
pub const STOP: u64 = u64::MAX;

/// Parameters of a run.
#[derive(Clone, Copy)]
pub struct RunPlan<'a> {
    /// Number of threads, each with a lane and a terminal.
    pub threads: u32,
    /// Duration of the warm-up in seconds.
    pub warm_up_s: f64,
    /// Duration of each measured window in seconds.
    pub window_s: f64,
    /// Number of measured windows.
    pub windows: u64,
    /// Seed of the terminals.
    pub seed: u64,
    /// Maximal number of transactions per second that all threads start together; `None` without a
    /// limit.
    pub rate: Option<f64>,
    /// The part of the run that this process executes.
    pub part: Part,
    /// Metrics that workers update during the run, if they are exposed.
    pub run_metrics: Option<&'a RunMetrics>,
}

/// Elapsed time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Elapsed {
    /// Wall-clock time.
    pub seconds: f64,
    /// Processor time of the whole process.
    pub cpu_seconds: f64,
    /// The part of it spent in the kernel, with a resolution of 10 ms.
    pub kernel_seconds: f64,
}

impl Elapsed {
    /// Absolute readings; only differences are meaningful.
    fn now(start: Moment) -> Self {
        Self {
            seconds: start.elapsed_s(),
            cpu_seconds: process_cpu_s(),
            kernel_seconds: process_kernel_s(),
        }
    }

    /// The time from an earlier reading to this one.
    fn since(self, earlier: Self) -> Self {
        Self {
            seconds: self.seconds - earlier.seconds,
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            kernel_seconds: self.kernel_seconds - earlier.kernel_seconds,
        }
    }

    fn add(&mut self, more: Self) {
        self.seconds += more.seconds;
        self.cpu_seconds += more.cpu_seconds;
        self.kernel_seconds += more.kernel_seconds;
    }
}

/// A span of the run, summed over the threads.
#[derive(Clone, Debug)]
pub struct Span {
    /// Duration and processor time.
    pub elapsed: Elapsed,
    /// Measurements of the workers.
    pub window: Window,
    /// Number of rows with a version buffer at its end.
    pub buffers_in_use: u64,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// All measured windows together; fewer than planned if the run was interrupted.
    pub measured: Span,
    /// Totals of all transactions, including warm-up and ending.
    pub totals: RunTotals,
    /// Whether the user ended the run early.
    pub is_interrupted: bool,
    /// Whether the run ended early because the memory servers were full.
    pub is_out_of_memory: bool,
    /// Whether the run ended early because a memory server became unreachable.
    pub is_unreachable: bool,
    /// Compute servers that were lost during the run; their parts are missing.
    pub lost: Vec<Loss>,
}

/// Phases of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// Transactions run without being measured.
    WarmUp,
    /// Memory for the measured time is touched.
    TouchingMemory {
        /// Progress in percent.
        percent: u64,
    },
    /// Transactions are measured.
    Measuring,
}

/// Progress of the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// Current phase.
    pub phase: Phase,
    /// Seconds since the start of the first measured window.
    pub seconds: f64,
    /// Number of transactions finished since then.
    pub transactions: u64,
}

/// Receives the progress of a run, on the driver's thread.
pub trait Watcher {
    /// Called many times per second.
    fn show(&mut self, standing: &Standing);

    /// Called at the end of each measured window. A transaction that is still running then counts
    /// for the next window.
    fn span(&mut self, span: &Span);
}

/// State shared by the driver and its workers.
pub struct Control {
    /// Number of the current window.
    pub window: AtomicU64,
    /// Finished windows of the workers, with their numbers.
    pub full: Mutex<Vec<(u64, Window)>>,
    /// Finished transactions per worker.
    pub finished: Vec<Counter>,
    /// Set by the first worker that finds the memory servers full; all workers then stop.
    pub is_out_of_memory: AtomicBool,
    /// Set by the first worker that cannot reach a memory server; all workers then stop.
    pub is_unreachable: AtomicBool,
}

/// Finished transactions of one worker, on its own cache line.
#[derive(Default)]
#[repr(align(128))]
pub struct Counter(pub AtomicU64);

pub fn run<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    plan: &RunPlan<'_>,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Run> {
    let worker_count = plan.threads * site.facts().lanes_per_thread;
    let control = Control {
        window: AtomicU64::new(0),
        full: Mutex::default(),
        finished: (0..worker_count).map(|_| Counter::default()).collect(),
        is_out_of_memory: AtomicBool::new(false),
        is_unreachable: AtomicBool::new(false),
    };
    let session = site.session()?;
    let kind_count = workload.transaction_types().len();
    let mut conductor = Conductor::new(&session, plan, &control, kind_count);
    std::thread::scope(|scope| -> Result<()> {
        let work = |thread| {
            let control = &control;
            scope.spawn(move || worker::work(site, workload, plan, control, thread))
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
    conductor.finish(watcher);
    let planned_s = plan.window_s * plan.windows as f64;
    let is_early = conductor.measured.elapsed.seconds < 0.99 * planned_s;
    let is_out_of_memory = control.is_out_of_memory.load(Relaxed);
    let is_unreachable = control.is_unreachable.load(Relaxed);
    Ok(Run {
        measured: conductor.measured,
        totals: conductor.totals,
        is_interrupted: is_early && !is_out_of_memory && !is_unreachable,
        is_out_of_memory,
        is_unreachable,
        lost: Vec::new(),
    })
}

/// Switches the workers from window to window and sums their results per window, so that a long run
/// needs no more memory than a short one.
struct Conductor<'a, S> {
    session: &'a S,
    plan: &'a RunPlan<'a>,
    control: &'a Control,
    kind_count: usize,
    measured: Span,
    totals: RunTotals,
    /// Version buffers given to rows in the whole run, including the warm-up.
    buffers_given: u64,
    buffers_collected: u64,
    /// Number and duration of the window that has ended but still misses results of workers.
    over: Option<(u64, Elapsed)>,
}

impl<'a, S: SiteSession> Conductor<'a, S> {
    fn new(session: &'a S, plan: &'a RunPlan<'a>, control: &'a Control, kind_count: usize) -> Self {
        let window = Window::new(kind_count);
        let measured = Span { elapsed: Elapsed::default(), window, buffers_in_use: 0 };
        let totals = RunTotals::new(kind_count);
        let (buffers_given, buffers_collected, over) = (0, 0, None);
        Self {
            session,
            plan,
            control,
            kind_count,
            measured,
            totals,
            buffers_given,
            buffers_collected,
            over,
        }
    }

    /// Runs until the last window has ended, the user interrupts, or a worker fails.
    fn conduct(&mut self, is_over: &dyn Fn() -> bool, watcher: &mut dyn Watcher) {
        let (plan, control) = (self.plan, self.control);
        self.warm_up(is_over, watcher);
        let (run_start, transactions_before) = (Moment::now(), self.transactions());
        for number in 1..=plan.windows {
            if is_over() {
                break;
            }
            let window_start = Elapsed::now(run_start);
            control.window.store(number, Relaxed);
            // Each end is computed from the start of the first window, so that delays do not add
            // up.
            while run_start.elapsed_s() < plan.window_s * number as f64 && !is_over() {
                sleep_ms(SLEEP_MS);
                if self.is_delivered() {
                    self.close(watcher);
                }
                watcher.show(&Standing {
                    phase: Phase::Measuring,
                    seconds: run_start.elapsed_s(),
                    transactions: self.transactions() - transactions_before,
                });
            }
            self.close(watcher);
            self.over = Some((number, Elapsed::now(run_start).since(window_start)));
        }
    }

    /// Lets the workers run without measuring, then touches memory in proportion to the growth of
    /// the tables.
    fn warm_up(&self, is_over: &dyn Fn() -> bool, watcher: &mut dyn Watcher) {
        let (start, used_bytes) = (Moment::now(), self.used_bytes());
        let mut show = |phase| {
            let (seconds, transactions) = (start.elapsed_s(), self.transactions());
            watcher.show(&Standing { phase, seconds, transactions });
        };
        while start.elapsed_s() < self.plan.warm_up_s && !is_over() {
            sleep_ms(SLEEP_MS);
            show(Phase::WarmUp);
        }
        if self.plan.warm_up_s >= WARM_UP_S_MIN && !is_over() {
            let growth = self.used_bytes().saturating_sub(used_bytes) as f64 / start.elapsed_s();
            let run_s = self.plan.window_s * self.plan.windows as f64;
            let mut show = |percent| show(Phase::TouchingMemory { percent });
            populate(self.session, run_s, growth, is_over, &mut show);
        }
    }

    fn transactions(&self) -> u64 {
        self.control.finished.iter().map(|counter| counter.0.load(Relaxed)).sum()
    }

    fn used_bytes(&self) -> u64 {
        // An unreachable server is reported elsewhere, with a better message.
        let usage = self.session.wait(self.session.handle().memory_usage()).unwrap_or_default();
        usage.iter().map(|table| table.used_bytes).sum()
    }

    /// Whether all workers have noticed the end of the window; one that waits for a processor
    /// notices it late.
    fn is_delivered(&self) -> bool {
        let Some((over, _)) = self.over else { return false };
        let full = self.control.full.lock().expect("no worker panicked");
        full.iter().filter(|(number, _)| *number == over).count() >= self.control.finished.len()
    }

    /// Closes the ended window, if there is one.
    fn close(&mut self, watcher: &mut dyn Watcher) {
        let Some((_, elapsed)) = self.over.take() else {
            return;
        };
        let window = self.delivered();
        let buffers_in_use = self.buffers_given.saturating_sub(self.buffers_collected);
        let span = Span { elapsed, window, buffers_in_use };
        self.measured.elapsed.add(span.elapsed);
        self.measured.buffers_in_use = span.buffers_in_use;
        self.measured.window.merge(&span.window);
        watcher.span(&span);
    }

    /// Closes the last window. If the run ended before it measured, its transactions still count in
    /// the totals, because the database contains their effects.
    fn finish(&mut self, watcher: &mut dyn Watcher) {
        self.close(watcher);
        let rest = self.delivered();
        self.measured.window.merge(&rest);
    }

    /// Adds the workers' results to the totals and returns the measured part.
    fn delivered(&mut self) -> Window {
        let mut window = Window::new(self.kind_count);
        let full = std::mem::take(&mut *self.control.full.lock().expect("no worker panicked"));
        for (number, part) in full {
            self.totals.merge(&part.totals);
            self.buffers_given += part.statistics.buffers_given;
            self.buffers_collected += part.statistics.buffers_collected;
            if number > 0 {
                window.merge(&part);
            }
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::trial;

    #[derive(Default)]
    struct Committed(Vec<u64>);

    impl Watcher for Committed {
        fn show(&mut self, _standing: &Standing) {}

        fn span(&mut self, span: &Span) {
            self.0.push(span.window.totals.committed());
        }
    }

    /// A worker that sleeps notices the end of a window late; its transactions still count in the
    /// right one.
    #[test]
    fn every_window_has_what_was_done_in_it() {
        let (db, workload, _) = trial::loaded();
        let stop = AtomicBool::new(false);
        let (window_s, windows, rate) = (0.2, 15, Some(10.0));
        let (part, run_metrics) = (Part::WHOLE, None);
        let plan = RunPlan {
            threads: 1,
            warm_up_s: 0.0,
            window_s,
            windows,
            seed: 1,
            rate,
            part,
            run_metrics,
        };
        let mut committed = Committed::default();
        run(&db, &workload, &plan, &stop, &mut committed).expect("it only reads");
        assert_eq!(committed.0.len(), 15);
        assert!(committed.0.iter().all(|&count| count > 0), "{:?}", committed.0);
    }
}
