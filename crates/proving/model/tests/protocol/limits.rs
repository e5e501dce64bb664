//! Results about our protocol beyond its promises: guards that other guards already imply, and the
//! assumptions that the protocol needs.

use crate::run::{assert_all, assert_promises, counterexample};
use model::config::{
    BOTH_ROWS, BufferKind, Config, FIRST_ROW, Guards, InstallOrder, SECOND_ROW, SnapshotWay,
};
use model::properties::{ALONE_ENDS, ALWAYS_READABLE, promises};
use model::state::Version;

/// An early unlock is harmless if it shows the new version: no writer may swap from a version that
/// its snapshot does not cover, and no snapshot covers it before the publish, which waits for the
/// installs. The header still comes last, so that a row under installation names its owner.
#[test]
fn unlocking_early_with_the_new_version_is_harmless() {
    let guards = Guards { install: InstallOrder::UnlockFirstToNew, ..Guards::OURS };
    let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
    let config = Config { guards, crashes: true, reader_count: 1, ..ours };
    assert_promises("unlock first with the new version", config);
}

/// One write of the whole row is harmless if words take effect in address order with the version
/// before the payload: the new version is then as good a mark as the invalid one. The contract of
/// the fabric does not guarantee such an order.
#[test]
fn single_write_in_address_order_is_harmless() {
    let guards = Guards { install: InstallOrder::SingleWrite, ..Guards::OURS };
    let ours = Config::ours(BOTH_ROWS, BOTH_ROWS);
    let config = Config { guards, left_to_right: true, reader_count: 1, ..ours };
    assert_all("single write in address order", config, promises(&config));
}

/// A process that dies with the freezing lock stops time: older snapshots remain, but a session
/// that needs its own commit waits for ever. The lock must therefore end with its holder.
#[test]
fn a_freezer_that_dies_stops_sessions_that_need_a_newer_vector() {
    let guards = Guards { snapshot: SnapshotWay::Frozen, ..Guards::OURS };
    let ours = Config::ours(FIRST_ROW, SECOND_ROW);
    let config = Config { guards, sessions: true, crashes: true, freezer_crashes: true, ..ours };
    let end = counterexample("dead freezer", config, ALONE_ENDS);
    assert!(end.frozen.locked);
}

/// Without overflow an old snapshot may find no version: that is the reason for `SnapshotTooOld`,
/// and for a writer's need of the mover's word before it reuses a slot.
#[test]
fn reused_buffer_slots_lose_versions() {
    let ours = Config::ours(FIRST_ROW, FIRST_ROW);
    let config = Config { reader_count: 1, buffer: BufferKind::Reused, ..ours };
    let end = counterexample("reused buffer slots", config, ALWAYS_READABLE);
    let slot = end.rows[0].buffer[0];
    assert_ne!(slot.version, Some(Version::INITIAL), "what the first update put there is gone");
    assert!(end.rows[0].displaced_count > 0);
}
