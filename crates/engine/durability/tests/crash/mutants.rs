//! Each guard of the directory is needed: without it the same lives break a promise.

use crate::lives::{Sums, lives};
use std::panic::{AssertUnwindSafe, catch_unwind};
use storage::PlantedBug;

/// Seeds that may be needed.
const SEEDS_MAX: u64 = 800;

/// Runs seeds until one notices the bug.
fn is_caught(bug: PlantedBug, seeds: u64) {
    let caught = (0..seeds).find_map(|seed| {
        // Without its guards the engine may fail its own assertions, which counts as noticed.
        let lived = catch_unwind(AssertUnwindSafe(|| lives(seed, &[bug], &mut Sums::default())));
        let wrong = lived.unwrap_or_else(|_| Err("an assertion failed".to_owned())).err()?;
        Some((seed, wrong))
    });
    let (seed, wrong) =
        caught.unwrap_or_else(|| panic!("{} is not caught by {seeds} seeds", bug.name()));
    eprintln!("{}: caught by seed {seed}: {}", bug.name(), &wrong[..wrong.len().min(160)]);
}

#[test]
fn each_planted_bug_is_noticed() {
    // Needs blocks of one group in a certain order; a test of `tail` plays that.
    let played = PlantedBug::CoveredEntriesReplayed;
    for bug in PlantedBug::DIRECTORY.into_iter().filter(|&bug| bug != played) {
        is_caught(bug, SEEDS_MAX);
    }
}
