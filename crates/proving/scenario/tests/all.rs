//! Runs every scenario of the repository with a few seeds, and the same run twice.

use scenario::{RunOptions, Scenario, run};
use std::path::{Path, PathBuf};

/// Seeds per scenario; `namdb simulate` runs many more.
const SEEDS: u64 = 3;

/// The scenario files of a folder of the repository, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Scenario {
    let text = std::fs::read_to_string(path).expect("it is text");
    Scenario::read(&path.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_scenario_holds_over_a_few_seeds() {
    let mut found = Vec::new();
    for path in files("scenarios") {
        let scenario = read(&path);
        assert_eq!(path.file_stem().and_then(|name| name.to_str()), Some(&*scenario.name));
        for seed in 0..SEEDS {
            let report = run(&scenario, seed, RunOptions::default());
            if let Some(failure) = report.failure {
                found.push(format!("{} with seed {seed}: {failure}", scenario.name));
            }
            if report.transactions.all() == 0 {
                found.push(format!("{} with seed {seed} is idle", scenario.name));
            }
        }
    }
    assert_eq!(found, [""; 0]);
}

/// Fixed bugs, each with the smallest run that showed it. The script must also still notice its
/// bug, or it guards nothing.
#[test]
fn no_bug_comes_back() {
    for path in files("scenarios/regressions") {
        let scenario = read(&path);
        let replay = scenario.replay.clone().expect("it is a script");
        assert!(replay.was.is_some_and(|was| was.ends_with('.')), "{path:?} says what was wrong");
        let failure = run(&scenario, replay.seed, RunOptions::default()).failure;
        assert_eq!(failure, None, "{path:?}: {}", replay.fails);
        let mutant = replay.mutant.unwrap_or_else(|| panic!("{path:?} names no mutant"));
        let mutated = Scenario { mutants: vec![mutant.clone()], ..scenario };
        let failure = run(&mutated, replay.seed, RunOptions::default()).failure;
        assert!(failure.is_some(), "{path:?} does not notice {mutant}");
    }
}

#[test]
fn equal_seeds_leave_equal_traces() {
    for path in files("scenarios") {
        let scenario = read(&path);
        for seed in 0..2 {
            let once = run(&scenario, seed, RunOptions { trace: true });
            let again = run(&scenario, seed, RunOptions { trace: true });
            assert!(once.trace == again.trace, "{} with seed {seed}", scenario.name);
            assert_eq!(once.fingerprint, again.fingerprint, "{} with seed {seed}", scenario.name);
            assert!(once.trace.len() > 10_000, "{} with seed {seed} is idle", scenario.name);
            let other = run(&scenario, seed + 100, RunOptions { trace: false });
            assert_ne!(once.fingerprint, other.fingerprint, "{}", scenario.name);
        }
    }
}

#[test]
fn a_written_scenario_is_read_as_the_same() {
    for path in files("scenarios") {
        let scenario = read(&path).drawn(7);
        let again = Scenario::read("written", &scenario.write());
        assert_eq!(again.as_ref(), Ok(&scenario));
        // No choice is left to draw.
        assert_eq!(scenario.drawn(8), scenario);
    }
}
