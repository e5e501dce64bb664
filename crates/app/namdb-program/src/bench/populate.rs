//! Touches memory before the measured time that will use it: the kernel's cost for the first touch
//! of a page says nothing about the engine.
//!
//! Decision: docs/decisions/0052-fresh-memory-may-be-touched-in-advance.md

use super::site::SiteSession;
use namdb::host::Moment;

/// Touched memory relative to the expected growth; some runs are faster than their warm-up.
const POPULATE_SHARE: f64 = 1.5;
/// Bytes touched per step.
const POPULATE_BYTES: u64 = 32 << 20;
/// Seconds that may be spent on touching in any case.
const POPULATE_S_MAX: f64 = 5.0;
/// Share of a long run's duration that may be spent on touching. If memory were touched for the
/// beginning only, a soak would seem to slow down over time.
const POPULATE_S_SHARE: f64 = 0.2;

/// Touches as much memory on all servers as the next `run_s` seconds will use if the tables keep
/// growing by `growth_bytes_per_s`. Calls `show` with the progress in percent.
pub fn populate<S: SiteSession>(
    session: &S,
    run_s: f64,
    growth_bytes_per_s: f64,
    is_over: &dyn Fn() -> bool,
    show: &mut dyn FnMut(u64),
) {
    let database = session.handle();
    let servers = database.root().servers.len().max(1) as u64;
    let wanted_bytes = (growth_bytes_per_s * run_s * POPULATE_SHARE) as u64 / servers;
    let longest_s = POPULATE_S_MAX.max(POPULATE_S_SHARE * run_s);
    let (start, mut touched_bytes) = (Moment::now(), 0);
    while touched_bytes < wanted_bytes && start.elapsed_s() < longest_s && !is_over() {
        show(100 * touched_bytes / wanted_bytes);
        let bytes = POPULATE_BYTES.min(wanted_bytes - touched_bytes);
        // A failure only makes the run slower.
        let _ = session.wait(database.populate(bytes));
        touched_bytes += bytes;
    }
}
