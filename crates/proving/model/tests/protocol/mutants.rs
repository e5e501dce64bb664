//! Each guard of our protocol is needed: without it some property has a counterexample.

use crate::run::counterexample;
use model::config::{
    BOTH_ROWS, Config, FIRST_ROW, Guards, InstallOrder, NO_ROW, RowSet, SECOND_ROW, SnapshotWay,
    Transaction,
};
use model::properties::{
    ALONE_ENDS, ALWAYS_READABLE, NO_FRACTURED_READ, NO_LONG_FORK, NO_LOST_UPDATE, NO_TORN_READ,
    READS_OF_SNAPSHOT, SERIALIZABLE,
};

fn mutant(guards: Guards, first: RowSet, second: RowSet) -> Config {
    Config { guards, ..Config::ours(first, second) }
}

#[test]
fn no_publish_wait_gives_fractured_reads() {
    let guards = Guards { publish_waits: false, ..Guards::OURS };
    counterexample("no publish wait", mutant(guards, BOTH_ROWS, NO_ROW), NO_FRACTURED_READ);
}

#[test]
fn single_write_install_gives_torn_reads() {
    let guards = Guards { install: InstallOrder::SingleWrite, ..Guards::OURS };
    counterexample("single-write install", mutant(guards, FIRST_ROW, NO_ROW), NO_TORN_READ);
}

#[test]
fn no_second_look_at_the_version_gives_torn_reads() {
    let guards = Guards { version_read_again: false, ..Guards::OURS };
    counterexample("version read once", mutant(guards, FIRST_ROW, NO_ROW), NO_TORN_READ);
}

/// The header does not change from the lock to the end of the install, so it cannot serve as the
/// seqlock.
#[test]
fn seqlock_on_the_header_gives_torn_reads() {
    let guards = Guards { version_beside_payload: false, ..Guards::OURS };
    counterexample("seqlock on the header", mutant(guards, FIRST_ROW, NO_ROW), NO_TORN_READ);
}

#[test]
fn no_successor_check_gives_stale_reads() {
    let guards = Guards { successor_check: false, ..Guards::OURS };
    counterexample("no successor check", mutant(guards, FIRST_ROW, FIRST_ROW), READS_OF_SNAPSHOT);
}

#[test]
fn no_snapshot_check_at_lock_gives_lost_updates() {
    let guards = Guards { swap_from_version_read: false, ..Guards::OURS };
    let config = mutant(guards, FIRST_ROW, FIRST_ROW);
    counterexample("no snapshot check at lock", config, NO_LOST_UPDATE);
}

#[test]
fn unlock_before_install_gives_lost_updates() {
    let guards = Guards { install: InstallOrder::UnlockFirstToOld, ..Guards::OURS };
    let config = mutant(guards, FIRST_ROW, FIRST_ROW);
    counterexample("unlock before install", config, NO_LOST_UPDATE);
}

#[test]
fn merging_the_own_slot_gives_long_forks() {
    let guards = Guards { leave_own_slot: false, ..Guards::OURS };
    let config = Config { sessions: true, ..mutant(guards, FIRST_ROW, SECOND_ROW) };
    counterexample("own slot merged, double collect", config, NO_LONG_FORK);
    let guards = Guards { snapshot: SnapshotWay::Frozen, ..guards };
    let config = Config { guards, ..config };
    counterexample("own slot merged, frozen", config, NO_LONG_FORK);
}

#[test]
fn single_collect_gives_long_forks() {
    let guards = Guards { snapshot: SnapshotWay::SingleCollect, ..Guards::OURS };
    counterexample("single collect", mutant(guards, FIRST_ROW, SECOND_ROW), NO_LONG_FORK);
}

/// A frozen vector may never have been the current vector: it is only ordered among frozen ones.
#[test]
fn mixing_frozen_and_collected_snapshots_gives_long_forks() {
    let guards = Guards { snapshot: SnapshotWay::Mixed, ..Guards::OURS };
    counterexample("mixed", mutant(guards, FIRST_ROW, SECOND_ROW), NO_LONG_FORK);
}

#[test]
fn freezing_without_lock_gives_long_forks() {
    let snapshot = SnapshotWay::Frozen;
    let guards = Guards { snapshot, freeze_under_lock: false, ..Guards::OURS };
    counterexample("freezing without lock", mutant(guards, FIRST_ROW, SECOND_ROW), NO_LONG_FORK);
}

/// If the payload is overwritten before the old version is safe, a writer that dies leaves an
/// unreadable row.
#[test]
fn payload_before_old_version_makes_rows_unreadable() {
    let guards = Guards { install: InstallOrder::PayloadFirst, ..Guards::OURS };
    let config = Config { crashes: true, ..mutant(guards, FIRST_ROW, NO_ROW) };
    counterexample("payload first", config, ALWAYS_READABLE);
    counterexample("payload first, writer dead", config, ALONE_ENDS);
}

/// If the chain is among the words of the row, the new version may appear before an old chain: a
/// reader then finds none of the versions before it, for ever if the writer dies.
#[test]
fn a_chain_in_the_write_of_the_row_makes_rows_unreadable() {
    let guards = Guards { install: InstallOrder::ChainInRow, ..Guards::AT_ONCE };
    let config = Config { crashes: true, ..mutant(guards, FIRST_ROW, NO_ROW) };
    let end = counterexample("chain in the row", config, ALWAYS_READABLE);
    assert!(!end.rows[0].has_chain);
    counterexample("chain in the row, writer dead", config, ALONE_ENDS);
}

/// A version word cannot mark a row whose words come in any order.
#[test]
fn a_row_at_once_without_checksums_gives_torn_reads() {
    let guards = Guards { checksum: false, ..Guards::AT_ONCE };
    counterexample("no checksums", mutant(guards, FIRST_ROW, NO_ROW), NO_TORN_READ);
}

/// A free header proves nothing about the image that it is written with: only a writer that swaps
/// from a version covered by its snapshot finds the row installed.
#[test]
fn swapping_from_a_header_of_a_row_at_once_gives_lost_updates() {
    let guards = Guards { swap_from_version_read: false, ..Guards::AT_ONCE };
    let config = mutant(guards, FIRST_ROW, FIRST_ROW);
    counterexample("row at once, no snapshot check at lock", config, NO_LOST_UPDATE);
}

#[test]
fn no_validation_by_writers_gives_write_skew() {
    let guards = Guards { writers_validate: false, ..Guards::SERIALIZABLE };
    let writers = [
        Transaction { reads: SECOND_ROW, writes: FIRST_ROW },
        Transaction { reads: FIRST_ROW, writes: SECOND_ROW },
    ];
    let config = Config { writers, reader_count: 0, ..mutant(guards, FIRST_ROW, SECOND_ROW) };
    counterexample("writers do not validate", config, SERIALIZABLE);
}

/// The first writer has read the second row before, and the reader sees the second writer's commit
/// but not the first one's.
#[test]
fn no_validation_by_readers_gives_the_read_only_anomaly() {
    let guards = Guards { readers_validate: false, ..Guards::SERIALIZABLE };
    let writers =
        [Transaction { reads: SECOND_ROW, writes: FIRST_ROW }, Transaction::writing(SECOND_ROW)];
    let config = Config { writers, reader_count: 1, ..mutant(guards, FIRST_ROW, SECOND_ROW) };
    counterexample("readers do not validate", config, SERIALIZABLE);
}
