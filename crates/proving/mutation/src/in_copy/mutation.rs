//! The switch of the instrumented copy: which mutant is on, and in how many runs each site was
//! visited.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Numbers of sites are less than this.
const SITES: usize = 32768;
/// No mutant is on, and visits are counted.
const COUNTING: u32 = u32::MAX - 1;
/// The variable has not been read.
const UNREAD: u32 = u32::MAX;
const VARIABLE: &str = "NAMDB_MUTATION";

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static RUN: AtomicU32 = AtomicU32::new(1);
static LAST_RUN: [AtomicU32; SITES] = [const { AtomicU32::new(0) }; SITES];
static RUNS: [AtomicU32; SITES] = [const { AtomicU32::new(0) }; SITES];

/// Whether this mutant is on.
#[inline]
pub fn on(site: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active >= COUNTING { on_slow(site) } else { active == site }
}

/// Counts the visit of a branch.
#[inline]
pub fn visit(site: u32) {
    if ACTIVE.load(Relaxed) >= COUNTING {
        on_slow(site);
    }
}

#[cold]
#[inline(never)]
fn on_slow(site: u32) -> bool {
    if ACTIVE.load(Relaxed) == UNREAD {
        ACTIVE.store(chosen(), Relaxed);
    }
    let active = ACTIVE.load(Relaxed);
    if active == COUNTING {
        let run = RUN.load(Relaxed);
        if LAST_RUN[site as usize].swap(run, Relaxed) != run {
            RUNS[site as usize].fetch_add(1, Relaxed);
        }
    }
    active == site
}

fn chosen() -> u32 {
    match std::env::var(VARIABLE) {
        Ok(word) if word == "count" => COUNTING,
        Ok(word) => word.parse().expect("NAMDB_MUTATION is `count` or the number of a mutant"),
        Err(_) => 0,
    }
}

/// Begins the next run.
pub fn begin_run() {
    RUN.fetch_add(1, Relaxed);
}

/// In how many runs each site was visited since the last call.
pub fn take_runs() -> Vec<u32> {
    RUNS.iter().map(|runs| runs.swap(0, Relaxed)).collect()
}
