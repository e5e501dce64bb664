//! Touching memory before the measured time that will take it: what the host charges for the first touch of
//! a page says nothing about the engine.
//!
//! Decision: docs/decisions/0052-fresh-memory-may-be-touched-in-advance.md

use super::site::Seat;
use namdb::host::Moment;

/// Of the memory that a run is expected to take, what is touched: some runs are faster than their warm-up.
const POPULATE_SHARE: f64 = 1.5;
/// Bytes touched at a time.
const POPULATE_BYTES: u64 = 32 << 20;
/// Seconds that may always be spent on it.
const POPULATE_S_MAX: f64 = 5.0;
/// Of the seconds of a long run, what may be spent on it. A soak whose memory is touched for its beginning only
/// would look as if it became slower with time.
const POPULATE_S_SHARE: f64 = 0.2;

/// Has as much memory touched on all servers as the next `run_s` seconds will take if the tables go on growing
/// by `growth_bytes_per_s`. `show` is told how far that is, in percent.
pub fn populate<S: Seat>(
    seat: &S,
    run_s: f64,
    growth_bytes_per_s: f64,
    is_over: &dyn Fn() -> bool,
    show: &mut dyn FnMut(u64),
) {
    let database = seat.handle();
    let servers = database.root().servers.len().max(1) as u64;
    let wanted_bytes = (growth_bytes_per_s * run_s * POPULATE_SHARE) as u64 / servers;
    let longest_s = POPULATE_S_MAX.max(POPULATE_S_SHARE * run_s);
    let (start, mut touched_bytes) = (Moment::now(), 0);
    while touched_bytes < wanted_bytes && start.elapsed_s() < longest_s && !is_over() {
        show(100 * touched_bytes / wanted_bytes);
        let bytes = POPULATE_BYTES.min(wanted_bytes - touched_bytes);
        // Without it the run is slower, and nothing else.
        let _ = seat.wait(database.populate(bytes));
        touched_bytes += bytes;
    }
}
