//! Our protocol keeps every promise in every reachable state.

use crate::run::assert_promises;
use model::config::{
    BOTH_ROWS, BufferKind, Config, FIRST_ROW, Guards, SECOND_ROW, SnapshotWay, Transaction,
};

const FROZEN: Guards = Guards { snapshot: SnapshotWay::Frozen, ..Guards::OURS };

/// Each writer reads the row that the other one writes.
const SKEWED: [Transaction; 2] = [
    Transaction { reads: SECOND_ROW, writes: FIRST_ROW },
    Transaction { reads: FIRST_ROW, writes: SECOND_ROW },
];

/// Two writers that have a serial order, but none together with a reader between them.
const READ_ONLY_ANOMALY: [Transaction; 2] =
    [Transaction { reads: SECOND_ROW, writes: FIRST_ROW }, Transaction::writing(SECOND_ROW)];

fn snapshot_isolation(name: &str, guards: Guards) {
    let separate = Config { guards, ..Config::ours(FIRST_ROW, SECOND_ROW) };
    assert_promises(&format!("{name}, one row each"), separate);
    let overlapping = Config { guards, ..Config::ours(BOTH_ROWS, SECOND_ROW) };
    assert_promises(&format!("{name}, one row in common"), overlapping);
    let equal = Config { guards, ..Config::ours(BOTH_ROWS, BOTH_ROWS) };
    assert_promises(&format!("{name}, both rows each"), equal);
}

#[test]
fn double_collect_gives_snapshot_isolation() {
    snapshot_isolation("double collect", Guards::OURS);
}

#[test]
fn frozen_vectors_give_snapshot_isolation() {
    snapshot_isolation("frozen", FROZEN);
}

/// Survivors read everything, terminate, and are refused only rows that the dead writer had locked.
#[test]
fn survivors_of_a_crash_at_any_step_go_on() {
    let config = Config { crashes: true, ..Config::ours(BOTH_ROWS, SECOND_ROW) };
    assert_promises("double collect, crash, one row in common", config);
}

/// The same with writers that retry: an aborted attempt leaves nothing behind that hinders others.
#[test]
fn survivors_of_a_crash_at_any_step_of_any_attempt_go_on() {
    for (name, guards) in [("double collect", Guards::OURS), ("frozen", FROZEN)] {
        let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
        let config =
            Config { guards, crashes: true, reader_count: 1, attempt_count_max: 2, ..ours };
        assert_promises(&format!("{name}, crash, two attempts"), config);
    }
}

#[test]
fn sessions_see_their_own_commits_in_comparable_snapshots() {
    for (name, guards) in [("double collect", Guards::OURS), ("frozen", FROZEN)] {
        let config = Config { guards, sessions: true, ..Config::ours(FIRST_ROW, SECOND_ROW) };
        assert_promises(&format!("{name}, sessions"), config);
    }
}

/// Where memory is not coherent one write installs a row, whose words come in any order, with the
/// chain written before it and checksums in place of the seqlock. The nightly run has more rows in
/// common, and crashes.
#[test]
fn a_row_that_is_written_at_once_keeps_all_promises() {
    let config = Config { guards: Guards::AT_ONCE, ..Config::ours(FIRST_ROW, SECOND_ROW) };
    assert_promises("row at once, one row each", config);
}

#[test]
fn slots_that_are_written_at_once_are_never_read_torn() {
    let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
    let guards = Guards::AT_ONCE;
    let config = Config { guards, reader_count: 1, buffer: BufferKind::Reused, ..ours };
    assert_promises("row at once, reused buffer slots", config);
}

#[test]
fn validation_gives_serializability_where_rows_are_written_at_once() {
    let Guards { install, checksum, .. } = Guards::AT_ONCE;
    let guards = Guards { install, checksum, ..Guards::SERIALIZABLE };
    let ours = Config { guards, ..Config::ours(FIRST_ROW, SECOND_ROW) };
    let skewed = Config { writers: SKEWED, ..ours };
    assert_promises("row at once, serializable, skewed writers", skewed);
    let between = Config { writers: READ_ONLY_ANOMALY, ..ours };
    assert_promises("row at once, serializable, reader between writers", between);
}

/// A slot of the buffer is overwritten while it is read. Its previous version is lost, so no
/// property requires finding it; a version that is found is still correct.
#[test]
fn reused_buffer_slots_are_never_read_torn() {
    let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
    let config = Config { reader_count: 1, buffer: BufferKind::Reused, ..ours };
    assert_promises("double collect, reused buffer slots", config);
}

#[test]
fn validation_gives_serializability() {
    let frozen = Guards { snapshot: SnapshotWay::Frozen, ..Guards::SERIALIZABLE };
    for (name, guards) in [("double collect", Guards::SERIALIZABLE), ("frozen", frozen)] {
        let ours = Config { guards, ..Config::ours(FIRST_ROW, SECOND_ROW) };
        assert_promises(
            &format!("{name}, serializable, skewed writers"),
            Config { writers: SKEWED, ..ours },
        );
        assert_promises(
            &format!("{name}, serializable, reader between writers"),
            Config { writers: READ_ONLY_ANOMALY, ..ours },
        );
    }
}

#[test]
fn survivors_of_a_crash_go_on_when_serializable() {
    let reads_one = Transaction { reads: SECOND_ROW, writes: FIRST_ROW };
    let config = Config {
        guards: Guards::SERIALIZABLE,
        writers: [reads_one, Transaction::writing(BOTH_ROWS)],
        reader_count: 1,
        crashes: true,
        ..Config::ours(FIRST_ROW, BOTH_ROWS)
    };
    assert_promises("double collect, serializable, crash", config);
}
