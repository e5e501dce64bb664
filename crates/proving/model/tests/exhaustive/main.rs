//! Configurations of the model whose states take minutes to visit, for the nightly run.

use model::config::{BOTH_ROWS, Config, Guards, SECOND_ROW, SnapshotWay};
use model::group_commit::GroupCommit;
use model::possibilities::possibilities;
use model::properties::promises;
use model::protocol::Protocol;
use stateright::{Checker, Expectation, Model};

/// Visits every state and asserts every promise of our protocol in each of them, and that the runs
/// reach the situations that the promises are about.
fn assert_promises(name: &str, config: Config) {
    let mut properties = promises(&config);
    properties.extend(possibilities(&config));
    let checker = Protocol::new(config, properties).checker().spawn_bfs().join();
    println!("{name}: {} states, depth {}", checker.unique_state_count(), checker.max_depth());
    assert!(checker.is_done());
    checker.assert_properties();
}

/// Where memory is not coherent one write installs a row, whose words come in any order, with the
/// chain written before it and checksums in place of the seqlock.
#[test]
fn a_row_that_is_written_at_once_keeps_all_promises() {
    for (name, writes) in [("one row", SECOND_ROW), ("both rows", BOTH_ROWS)] {
        let config = Config { guards: Guards::AT_ONCE, ..Config::ours(BOTH_ROWS, writes) };
        assert_promises(&format!("row at once, {name} in common"), config);
    }
    let guards = Guards { snapshot: SnapshotWay::Frozen, ..Guards::AT_ONCE };
    let config = Config { guards, ..Config::ours(BOTH_ROWS, SECOND_ROW) };
    assert_promises("row at once, frozen, one row in common", config);
}

#[test]
fn survivors_of_a_crash_go_on_where_rows_are_written_at_once() {
    let guards = Guards::AT_ONCE;
    let config = Config { guards, crashes: true, ..Config::ours(BOTH_ROWS, SECOND_ROW) };
    assert_promises("row at once, crash, one row in common", config);
    let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
    let config = Config { guards, crashes: true, reader_count: 1, attempt_count_max: 2, ..ours };
    assert_promises("row at once, crash, two attempts", config);
}

/// Group commit with a second crash, and with a reader over several groups.
#[test]
fn group_commit_keeps_its_promises_with_larger_bounds() {
    let bounds = |crashes, groups, reads| GroupCommit {
        guards: model::group_commit::Guards::OURS,
        transactions: 1,
        groups,
        crashes,
        reads,
        rows: 2,
        has_late_aborts: true,
        properties: model::group_commit::promises::all(),
    };
    // Both lanes write one row, so that the states of the second life are few.
    let two_crashes = GroupCommit { rows: 1, has_late_aborts: false, ..bounds(2, 1, 0) };
    let mut reader = bounds(1, 2, 1);
    // One crash brings back commits of one life only.
    reader.properties.retain(|property| property.expectation == Expectation::Always);
    for model in [two_crashes, reader] {
        let checker = model.checker().spawn_bfs().join();
        println!("group commit: {} states", checker.unique_state_count());
        assert!(checker.is_done());
        checker.assert_properties();
    }
}
