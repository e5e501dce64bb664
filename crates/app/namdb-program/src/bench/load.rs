//! Loads a workload's tables on all threads and all their lanes.

use super::progress::Progress;
use super::site::{Site, SiteSession, SiteWorkload};
use super::text;
use crate::output;
use anyhow::{Context, Result, ensure};
use fabric::Fabric;
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use namdb::host;
use namdb::host::{Moment, sleep_ms};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::CatalogError;
use workload::WorkloadError;

/// Interval at which the progress is drawn.
const DRAW_MS: u64 = 20;
/// Parts per lane: enough that all lanes finish at about the same time.
const PARTS_PER_LANE: u64 = 16;

/// Result of a load.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Number of rows inserted.
    pub rows: u64,
    pub seconds: f64,
}

impl Loaded {
    /// The tables existed already.
    pub const NOTHING: Self = Self { rows: 0, seconds: 0.0 };
}

/// Creates the tables and fills them.
pub fn load<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    threads: u32,
    stop: &AtomicBool,
) -> Result<Loaded> {
    let start = Moment::now();
    let session = site.session()?;
    let servers = usize::from(site.facts().servers);
    workload.notes(servers).iter().for_each(|note| output::say(&format!("  {note}")));
    session.wait(workload.create_tables(&session.handle())).map_err(|error| {
        let advice = match &error {
            WorkloadError::Catalog(CatalogError::Exists(_)) => {
                "cannot create the tables; --fresh drops those that an earlier run left in a cluster or directory"
            }
            _ => "cannot create the tables",
        };
        anyhow::Error::from(error).context(advice)
    })?;
    drop(session);
    let total = workload.load_rows();
    let progress = Progress::begin("loading", total);
    let rows = AtomicU64::new(0);
    let lanes = threads * site.facts().lanes_per_thread;
    let parts = workload.load_parts().min(u64::from(lanes) * PARTS_PER_LANE);
    let show = || {
        let done = rows.load(Relaxed);
        let per_second = done as f64 / start.elapsed_s();
        progress.show(done, &format!("{} rows/s", text::rate(per_second)));
    };
    for step in [Step::Insert, Step::Verify] {
        let plan = Plan { step, parts, next_part: AtomicU64::new(0), rows: &rows, stop };
        carry_out(site, workload, threads, &plan, &show).context("cannot load the tables")?;
    }
    ensure!(!stop.load(Relaxed), "ended by the user before anything was measured");
    let loaded = Loaded { rows: rows.into_inner(), seconds: start.elapsed_s() };
    let size = text::bytes(host::resident_bytes());
    progress.finish(&format!("{}, process size {size}", text::counted(loaded.rows, "row")));
    Ok(loaded)
}

/// Executes one step for all parts and shows its progress.
fn carry_out<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    threads: u32,
    plan: &Plan<'_>,
    show: &dyn Fn(),
) -> Result<()> {
    std::thread::scope(|scope| {
        let work = || load_parts(site, workload, plan);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            sleep_ms(DRAW_MS);
            show();
        }
        let mut joined = workers.into_iter().map(|worker| worker.join());
        joined.try_for_each(|done| done.expect("a panic of a worker is a panic of the program"))
    })
}

/// The action on each part.
#[derive(Clone, Copy)]
enum Step {
    Insert,
    /// Rows may refer to rows of any part, so verification follows the load of all parts.
    Verify,
}

/// A load and its progress.
struct Plan<'a> {
    step: Step,
    parts: u64,
    next_part: AtomicU64,
    rows: &'a AtomicU64,
    stop: &'a AtomicBool,
}

/// Processes parts on this thread: with one lane, or, if verbs take time, with several lanes
/// concurrently.
fn load_parts<S: Site, W: SiteWorkload<S>>(site: &S, workload: &W, plan: &Plan<'_>) -> Result<()> {
    let session = site.session()?;
    if <S::Env as Fabric>::IMMEDIATE {
        return session.wait(load_by_lane(&session, workload, plan));
    }
    let lanes = u64::from(site.facts().lanes_per_thread).min(plan.parts);
    let loaders: FuturesUnordered<_> =
        (0..lanes).map(|_| load_by_lane(&session, workload, plan)).collect();
    session.wait(loaders.try_collect::<()>())
}

async fn load_by_lane<S: SiteSession, W: workload::Workload<S::Env>>(
    session: &S,
    workload: &W,
    plan: &Plan<'_>,
) -> Result<()> {
    let database = session.handle();
    let mut lane = database.lane().await.map_err(WorkloadError::from)?;
    let count = |inserted| {
        plan.rows.fetch_add(inserted, Relaxed);
    };
    while !plan.stop.load(Relaxed) {
        let part = plan.next_part.fetch_add(1, Relaxed);
        if part >= plan.parts {
            break;
        }
        let loaded = match plan.step {
            Step::Insert => {
                workload.load_part(&database, &mut lane, part, plan.parts, &count).await
            }
            Step::Verify => workload.verify_part(&database, &mut lane, part, plan.parts).await,
        };
        if loaded.is_err() {
            // Stops the other threads.
            plan.next_part.store(plan.parts, Relaxed);
            return Ok(loaded?);
        }
    }
    Ok(())
}
