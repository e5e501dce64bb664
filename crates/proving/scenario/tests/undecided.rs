//! The guards of deciding unknown outcomes: without one of them, a scenario with lost batches
//! fails.

use scenario::{RunOptions, Scenario, run};
use std::ops::Range;
use std::path::Path;

/// Whether a scenario fails for one of these seeds without this guard, and for none with it.
fn needs(scenario: &str, guard: &str, seeds: Range<u64>) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let text = std::fs::read_to_string(folder.join(scenario)).expect("it is there");
    let whole = Scenario::read(scenario, &text).expect("it is right");
    let fails = |played: &Scenario| {
        seeds.clone().find_map(|seed| run(played, seed, RunOptions::default()).failure)
    };
    assert_eq!(fails(&whole), None, "{scenario} with all guards");
    let text = format!("mutants = [\"{guard}\"]\n{text}");
    fails(&Scenario::read(scenario, &text).expect("it is right")).is_some()
}

#[test]
fn late_verbs_are_settled_before_a_decision() {
    assert!(needs("late-verbs.toml", "decide::without_settling", 0..60));
}

#[test]
fn what_others_may_have_changed_is_not_written_again() {
    assert!(needs("lost-connections.toml", "decide::rewrite_unlocked", 300..360));
}
