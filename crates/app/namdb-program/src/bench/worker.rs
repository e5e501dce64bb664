//! The workers of a run: each drives one lane, one transaction after another.

use super::driver::{Control, RunPlan, STOP};
use super::measure::{Reading, Window, add_statistics, statistics};
use super::pace::Pace;
use super::site::{Site, SiteSession, SiteWorkload};
use super::worker_metrics::WorkerMetrics;
use anyhow::{Context, Result};
use fabric::{Env, Fabric};
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use namdb::host::{Moment, sleep_ms};
use std::sync::atomic::Ordering::Relaxed;
use txn::{Abort, Database, Lane, LaneStatistics, TxnError};
use workload::{Finished, TransactionResult, WorkloadError};

/// A worker that is ahead of its rate sleeps at most this long at a time.
const WAIT_MS: u64 = 100;

/// Runs the workers of a thread: one on the thread itself, or, if verbs take time, several
/// concurrently.
pub fn work<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    plan: &RunPlan<'_>,
    control: &Control,
    thread: u32,
) -> Result<()> {
    let session = site
        .session()
        .with_context(|| format!("thread {thread} cannot connect to the database"))?;
    let lanes = site.facts().lanes_per_thread;
    if <S::Env as Fabric>::IMMEDIATE {
        return drive_alone(&session, workload, plan, control, thread);
    }
    let worker = |lane| drive(&session, workload, plan, control, thread * lanes + lane);
    let workers: FuturesUnordered<_> = (0..lanes).map(worker).collect();
    session.wait(workers.try_collect::<()>())
}

/// Creates a lane's terminal and its worker.
fn begin<'a, E: Env, W: workload::Workload<E>>(
    workload: &W,
    plan: &RunPlan<'_>,
    control: &'a Control,
    number: u32,
    (database, lane): (&Database<E>, &Lane<E>),
) -> Result<(W::Terminal, Worker<'a>)> {
    let workers = plan.part.workers(control.finished.len() as u32);
    let place = plan.part.workers_before + number;
    let terminal = workload.terminal(database, place, workers, plan.seed)?;
    let kinds = (workload.transaction_types(), workload.outlives_owners());
    Ok((terminal, Worker::new(plan, control, number, kinds, lane)))
}

/// Drives the only lane of a thread, whose verbs do not wait. It is a plain loop, because a future
/// of this size would be copied.
fn drive_alone<S: SiteSession, W: workload::Workload<S::Env>>(
    session: &S,
    workload: &W,
    plan: &RunPlan<'_>,
    control: &Control,
    number: u32,
) -> Result<()> {
    let database = session.handle();
    let mut lane = session.wait(database.lane()).map_err(WorkloadError::from)?;
    let (mut terminal, mut worker) = begin(workload, plan, control, number, (&database, &lane))?;
    while worker.is_working() {
        let finished = session.wait(workload.run_one(&mut lane, &mut terminal));
        session.acknowledge(&lane)?;
        if let Some(ahead_s) = worker.take(finished, &lane)? {
            session.wait(lane.rest()).map_err(TxnError::from)?;
            let start = Moment::now();
            while let Some(wait_ms) = worker.wait_ms(ahead_s - start.elapsed_s()) {
                sleep_ms(wait_ms);
            }
            worker.resume(&lane);
        }
        if worker.metrics_are_due() {
            session.wait(worker.update_metrics(&database, &lane));
        }
    }
    session.wait(worker.update_metrics(&database, &lane));
    Ok(())
}

/// Drives one of several lanes on this thread.
async fn drive<S: SiteSession, W: workload::Workload<S::Env>>(
    session: &S,
    workload: &W,
    plan: &RunPlan<'_>,
    control: &Control,
    number: u32,
) -> Result<()> {
    let database = session.handle();
    let mut lane = database.lane().await.map_err(WorkloadError::from)?;
    let (mut terminal, mut worker) = begin(workload, plan, control, number, (&database, &lane))?;
    while worker.is_working() {
        let finished = workload.run_one(&mut lane, &mut terminal).await;
        if let Some(ahead_s) = worker.take(finished, &lane)? {
            lane.rest().await.map_err(TxnError::from)?;
            let start = Moment::now();
            while let Some(wait_ms) = worker.wait_ms(ahead_s - start.elapsed_s()) {
                database.env().sleep_ns(wait_ms * 1_000_000).await;
            }
            worker.resume(&lane);
        }
        if worker.metrics_are_due() {
            worker.update_metrics(&database, &lane).await;
        }
    }
    worker.update_metrics(&database, &lane).await;
    Ok(())
}

/// Measurements of one lane, with one clock reading between two transactions.
struct Worker<'a> {
    control: &'a Control,
    worker: usize,
    window: Window,
    /// Number of the current window.
    number: u64,
    window_start: LaneStatistics,
    before: Reading,
    time: Moment,
    pace: Option<Pace>,
    finished_count: u64,
    /// Whether the worker continues after a transaction of another lane had an unknown outcome.
    outlives_owners: bool,
    metrics: Option<WorkerMetrics>,
}

impl<'a> Worker<'a> {
    fn new<E: Env>(
        plan: &RunPlan<'_>,
        control: &'a Control,
        worker: u32,
        (types, outlives_owners): (&[&str], bool),
        lane: &Lane<E>,
    ) -> Self {
        let workers = plan.part.workers(control.finished.len() as u32);
        Self {
            control,
            worker: worker as usize,
            window: Window::new(types.len()),
            number: control.window.load(Relaxed),
            window_start: *statistics(lane),
            before: Reading::of(lane),
            time: Moment::now(),
            pace: plan.rate.map(|rate| Pace::new(rate / f64::from(workers))),
            finished_count: 0,
            outlives_owners,
            metrics: plan.run_metrics.map(|run_metrics| run_metrics.worker(types)),
        }
    }

    #[inline]
    fn is_working(&self) -> bool {
        self.number != STOP
    }

    /// Counts a transaction in its window, and returns the seconds to wait before the next one is
    /// due, if waiting is worth it.
    #[inline]
    fn take<E: Env>(
        &mut self,
        finished: Result<Finished, WorkloadError>,
        lane: &Lane<E>,
    ) -> Result<Option<f64>> {
        let finished = match finished {
            Ok(finished) => Some(finished),
            Err(error) if error.is_out_of_memory() => None,
            Err(error) => return Err(error.into()),
        };
        let (after, now) = (Reading::of(lane), Moment::now());
        let mut is_over = finished.is_none();
        if let Some(finished) = &finished {
            let latency_ns = now.since_ns(self.time);
            self.window.add(finished, latency_ns, &self.before, &after);
            if let Some(metrics) = &mut self.metrics {
                metrics.record(finished.kind, latency_ns, now);
            }
            is_over = self.ends_run(finished.result, self.before.unknown < after.unknown);
        } else {
            self.control.is_out_of_memory.store(true, Relaxed);
        }
        (self.before, self.time) = (after, now);
        self.finished_count += 1;
        self.control.finished[self.worker].0.store(self.finished_count, Relaxed);
        let ahead_s = self.pace.as_mut().and_then(Pace::step);
        let current = if is_over { STOP } else { self.control.window.load(Relaxed) };
        if current != self.number && (ahead_s.is_none() || current == STOP) {
            self.deliver(current, lane);
        }
        Ok(ahead_s.filter(|_| !is_over))
    }

    /// Whether the run must end after this result of the worker's own lane or of another lane.
    #[inline]
    fn ends_run(&self, result: TransactionResult, is_own: bool) -> bool {
        let flag = match result {
            TransactionResult::Unknown if !is_own && self.outlives_owners => return false,
            TransactionResult::Aborted(Abort::OutOfMemory) => &self.control.is_out_of_memory,
            TransactionResult::Aborted(Abort::Unreachable) | TransactionResult::Unknown => {
                &self.control.is_unreachable
            }
            _ => return false,
        };
        flag.store(true, Relaxed);
        true
    }

    /// Whether the metrics are due for an update.
    #[inline]
    fn metrics_are_due(&self) -> bool {
        self.metrics.as_ref().is_some_and(|metrics| metrics.is_due(self.time))
    }

    async fn update_metrics<E: Env>(&mut self, database: &Database<E>, lane: &Lane<E>) {
        if let Some(metrics) = &mut self.metrics {
            metrics.update(database, lane).await;
            // Time and verbs of the update do not count for a transaction.
            self.resume(lane);
        }
    }

    /// RunningServers the ended window to the driver and starts window `current`.
    fn deliver<E: Env>(&mut self, current: u64, lane: &Lane<E>) {
        add_statistics(&mut self.window.statistics, &self.window_start, statistics(lane));
        self.window_start = *statistics(lane);
        let kind_count = self.window.kinds.len();
        let full = std::mem::replace(&mut self.window, Window::new(kind_count));
        self.control.full.lock().expect("no worker panics here").push((self.number, full));
        self.number = current;
        self.time = Moment::now();
    }

    /// The time to sleep next if `left_s` seconds remain; `None` once the window has ended.
    fn wait_ms(&self, left_s: f64) -> Option<u64> {
        let is_over = self.control.window.load(Relaxed) != self.number;
        if let Some(metrics) = &self.metrics {
            metrics.rest();
        }
        (left_s > 0.0 && !is_over).then(|| ((left_s * 1e3) as u64).clamp(1, WAIT_MS))
    }

    /// After waiting: excludes the time and verbs since then from the next transaction.
    fn resume<E: Env>(&mut self, lane: &Lane<E>) {
        (self.before, self.time) = (Reading::of(lane), Moment::now());
        if let Some(metrics) = &self.metrics {
            metrics.begin(self.time);
        }
        let current = self.control.window.load(Relaxed);
        if current != self.number {
            self.deliver(current, lane);
        }
    }
}
