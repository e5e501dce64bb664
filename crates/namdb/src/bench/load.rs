//! Loads a workload's tables on all threads.

use super::progress::Progress;
use super::site::{Seat, Site, SiteWorkload};
use super::text;
use anyhow::{Context, Result, ensure};
use namdb::host;
use namdb::host::{Moment, sleep_ms};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use workload::WorkloadError;

/// How often the progress is drawn.
const DRAW_MS: u64 = 20;
/// Parts per thread: enough for all to finish about together.
const PARTS_PER_THREAD: u64 = 16;

/// What loading took.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Rows inserted.
    pub rows: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Creates the tables and fills them.
pub fn load<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    threads: u32,
    stop: &AtomicBool,
) -> Result<Loaded> {
    let start = Moment::now();
    let seat = site.seat()?;
    seat.wait(workload.create_tables(&seat.handle())).context(
        "cannot create the tables; those that an earlier run left in a cluster go with --fresh",
    )?;
    drop(seat);
    let total = workload.load_rows();
    let progress = Progress::begin("loading", total);
    let next_part = AtomicU64::new(0);
    let rows = AtomicU64::new(0);
    let parts = workload.load_parts().min(u64::from(threads) * PARTS_PER_THREAD);
    std::thread::scope(|scope| -> Result<()> {
        let work = || load_parts(site, workload, &next_part, parts, &rows, stop);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            sleep_ms(DRAW_MS);
            let done = rows.load(Relaxed);
            let per_second = done as f64 / start.elapsed_s();
            progress.show(done, &format!("{} rows/s", text::rate(per_second)));
        }
        for worker in workers {
            worker.join().expect("a panic of a worker is a panic of the program")?;
        }
        Ok(())
    })
    .context("cannot load the tables")?;
    ensure!(!stop.load(Relaxed), "ended by the user before anything was measured");
    let loaded = Loaded { rows: rows.into_inner(), seconds: start.elapsed_s() };
    let size = text::bytes(host::resident_bytes());
    progress.finish(&format!("{}, process size {size}", text::counted(loaded.rows, "row")));
    Ok(loaded)
}

fn load_parts<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    next_part: &AtomicU64,
    parts: u64,
    rows: &AtomicU64,
    stop: &AtomicBool,
) -> Result<()> {
    let seat = site.seat()?;
    let database = seat.handle();
    let mut lane = seat.wait(database.lane()).map_err(WorkloadError::from)?;
    let count = |inserted| {
        rows.fetch_add(inserted, Relaxed);
    };
    while !stop.load(Relaxed) {
        let part = next_part.fetch_add(1, Relaxed);
        if part >= parts {
            break;
        }
        let loaded = seat.wait(workload.load_part(&database, &mut lane, part, parts, &count));
        if loaded.is_err() {
            // The others need not go on.
            next_part.store(parts, Relaxed);
            return Ok(loaded?);
        }
    }
    Ok(())
}
