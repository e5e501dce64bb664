//! Each guard of the directory is needed: without it the same lives break a promise.

use crate::indexes::Groups;
use crate::lives::{Sums, groups, lives};
use std::panic::{AssertUnwindSafe, catch_unwind};
use storage::PlantedBug;

/// Seeds that may be needed.
const SEEDS_MAX: u64 = 4000;

/// Runs seeds until one notices the bug.
fn is_caught(bug: PlantedBug, seeds: u64) {
    // Unique indexes come and go only where they sometimes can be created.
    let is_of_index = matches!(bug, PlantedBug::IndexBeforeGroup | PlantedBug::LaterIndexKept);
    let mut seeds_of = (0..seeds).filter(|&seed| !is_of_index || groups(seed) == Groups::Own);
    let caught = seeds_of.find_map(|seed| {
        // Without its guards the engine may fail its own assertions, which counts as noticed.
        let lived = catch_unwind(AssertUnwindSafe(|| lives(seed, &[bug], &mut Sums::default())));
        let wrong = lived.unwrap_or_else(|_| Err("an assertion failed".to_owned())).err()?;
        Some((seed, wrong))
    });
    let (seed, wrong) =
        caught.unwrap_or_else(|| panic!("{} is not caught by {seeds} seeds", bug.name()));
    eprintln!("{}: caught by seed {seed}: {}", bug.name(), &wrong[..wrong.len().min(160)]);
}

/// Guards of unique indexes, of checkpoints whose log is damaged, and of accepted losses.
const OF_LOSSES: [PlantedBug; 5] = [
    PlantedBug::IndexBeforeGroup,
    PlantedBug::CheckpointWithoutItsGroup,
    PlantedBug::LaterIndexKept,
    PlantedBug::UncoveredEntriesKept,
    PlantedBug::UniqueIndexPlain,
];

#[test]
fn each_planted_bug_is_noticed() {
    // Needs blocks of one group in a certain order; a test of `tail` plays that.
    let played = PlantedBug::CoveredEntriesReplayed;
    let is_here = |bug: &PlantedBug| *bug != played && !OF_LOSSES.contains(bug);
    for bug in PlantedBug::DIRECTORY.into_iter().filter(is_here) {
        is_caught(bug, SEEDS_MAX);
    }
}

#[test]
fn each_planted_bug_of_indexes_and_losses_is_noticed() {
    for bug in OF_LOSSES {
        is_caught(bug, SEEDS_MAX);
    }
}
