//! All mutants, by the step of the protocol whose guard they remove.
//!
//! Decision: docs/decisions/0005-mutants-exist-only-in-simulated-worlds.md

use crate::kind::{
    CROWD, FETCHED_LATE, FROZEN, GROWING, GROWING_CARDS, GROWING_HOT, HOT, KEPT, KEPT_VERSIONS,
    Kind, LONG, LOSSY, MOVING, MOVING_CARDS, MOVING_FETCHED, MOVING_HASH, MOVING_KEPT,
    MOVING_SERIAL, OWNED, OWNED_NEW, OWNED_OUTSIDE, PILED, ROOMY, SERIAL, SHARED, SLOW, SLOW_CARDS,
    STAGGERED, WRAP,
};
use crate::mutant::Mutant;
use layout::Storage;

const ROOMY_HASH: Kind = ROOMY.storing(Storage::HashInlined);
const ROOMY_TREE: Kind = ROOMY.storing(Storage::Tree);
const MOVING_TREE: Kind = MOVING.storing(Storage::Tree);
const SERIAL_HASH: Kind = MOVING_SERIAL.storing(Storage::HashInlined);
const SERIAL_TREE: Kind = MOVING_SERIAL.storing(Storage::Tree);

/// A mutant of one guard.
const fn guard(name: &'static str, guard: &'static str, kind: Kind) -> Mutant {
    Mutant { name, also: &[], guard, kind }
}

/// The mutant with this name.
pub fn named(name: &str) -> Option<&'static Mutant> {
    MUTANTS.iter().find(|mutant| mutant.name == name)
}

pub const MUTANTS: &[Mutant] = &[
    guard("fabric::untorn_rows", "rows, leaves and old versions are read whole", ROOMY),
    guard("oracle::single_collect", "the vector is read until two reads agree", CROWD),
    guard("oracle::stale_snapshot", "every transaction takes a snapshot of its own", ROOMY),
    guard("oracle::skip_new_slots", "a vector that became longer is read whole", STAGGERED),
    guard("oracle::freeze_unlocked", "vectors are frozen one at a time", FROZEN),
    guard("oracle::torn_frozen", "a frozen vector is intact", FROZEN),
    guard("oracle::overlook_own_commit", "a frozen vector has the session's own commits", FROZEN),
    guard("oracle::merge_own_slot", "own commits wait for a shared vector", FROZEN),
    guard("read::trust_directory", "a bucket is still where the key belongs", GROWING),
    guard("read::trust_chain", "no split took slots out of a chain while it was read", GROWING),
    guard("read::skip_collected", "a missing row was not collected after the snapshot", MOVING),
    guard("read::successor_unchecked", "the successor of an old version is not covered", HOT),
    guard("read::old_of_any_row", "an old version is of the wanted row", SLOW),
    guard("read::skip_overflow", "old versions are also looked for in the overflow list", HOT),
    guard("read::trust_first_reading", "conclusions about a row are read twice", SLOW),
    guard("read::row_unwitnessed", "rows read are validated", SERIAL),
    guard("read::old_unwitnessed", "old versions read are validated", SERIAL),
    guard("read::absence_unwitnessed", "absent keys of buckets are validated", SERIAL_HASH),
    guard("read::gap_unwitnessed", "absent keys of leaves are validated", SERIAL_TREE),
    guard("scan::range_unwitnessed", "scanned ranges are validated", SERIAL_TREE),
    guard("scan::bucket_unwitnessed", "visited buckets are validated", SERIAL_HASH),
    guard("scan::trust_entry", "the row behind an entry has the entry's key", OWNED),
    guard("write::mix_bucket_readings", "absences are proved by one reading of a bucket", MOVING),
    guard("write::steal_bucket_lock", "a locked bucket is not inserted into", GROWING),
    guard("write::steal_leaf_lock", "a locked leaf is not inserted into", MOVING_TREE),
    guard("commit::skip_snapshot_check", "no old version is overwritten", ROOMY),
    guard("commit::skip_entry", "a changed row gets its index entry", OWNED),
    guard("commit::skip_unique_check", "rows with a unique key are checked", OWNED),
    guard("commit::skip_unique_lock", "a unique key is assigned under its leaf's lock", OWNED),
    guard("commit::mix_leaf_readings", "absences are proved by one reading of a leaf", MOVING_TREE),
    guard("commit::skip_row_locks", "the first committer wins", ROOMY),
    guard("commit::skip_insert_word", "an insert locks its bucket", ROOMY_HASH),
    guard("commit::skip_leaf_lock", "an insert locks its leaf", ROOMY_TREE),
    guard("commit::chain_before_lock", "the chain is read under the lock", HOT),
    guard("commit::skip_validation", "reads are validated", SERIAL),
    guard("commit::skip_readers", "read-only transactions validate, too", SERIAL),
    guard("commit::validate_before_locks", "reads are validated under all locks", SERIAL),
    guard(
        "commit::trust_leaf_insert_word",
        "validation reads rewrite counters of leaves",
        SERIAL_TREE,
    ),
    guard(
        "commit::trust_own_bucket_lock",
        "an own lock was taken from the state read",
        MOVING_SERIAL,
    ),
    guard(
        "commit::overwrite_needed_slot",
        "a slot of old versions is free before it is written",
        HOT,
    ),
    guard("commit::unlock_before_install", "rows stay locked until they are written", ROOMY),
    guard(
        "commit::unlock_bucket_first",
        "a bucket stays locked until its slots are written",
        GROWING,
    ),
    guard("commit::unlock_leaf_first", "a leaf stays locked until it is written", ROOMY_TREE),
    guard(
        "commit::payload_before_old_version",
        "an old version is saved before it is overwritten",
        HOT,
    ),
    guard("commit::publish_before_install", "publishing follows installing", ROOMY),
    guard("commit::publish_with_install", "publishing waits for all installs", ROOMY),
    guard("commit::publish_past_gap", "a shared slot publishes completed numbers only", SHARED),
    guard("commit::answer_before_publish", "a commit is reported when it is visible", ROOMY),
    guard("commit::release_unheld", "an abort releases its own locks only", ROOMY),
    guard("commit::number_reused", "a number serves one attempt", ROOMY),
    guard("lane::reused_after_unknown", "a lane ends with an unknown outcome", LOSSY),
    guard("lane::pass_last_number", "a lane takes a new slot before its numbers end", WRAP),
    guard("value::skip_version", "a value out of line is that of its row", LONG),
    guard("collect::skip_collected_word", "collection is announced in advance", MOVING),
    guard("collect::tell_unraised", "the collector announces it in advance", MOVING_FETCHED),
    guard("collect::ignore_lanes", "collection waits for older snapshots", MOVING)
        .without(&["collect::skip_collected_word"]),
    guard(
        "collect::clock_unraised",
        "a horizon's stamp is later than that of those before it",
        MOVING,
    ),
    guard("collect::garbage_before_horizon", "garbage waits for a horizon", MOVING),
    guard("collect::buffers_before_horizon", "old versions wait for a horizon", HOT),
    guard("collect::detach_changed", "a changed row keeps its old versions", HOT),
    guard("collect::skip_bucket_stamp", "a bucket records collections", MOVING_HASH),
    guard("collect::skip_leaf_stamp", "a leaf records collections", MOVING_TREE),
    guard("collect::unlocked_bucket", "a bucket is locked before slots are emptied", MOVING_HASH),
    guard("collect::trust_tombstone", "a tombstone is still the newest version", MOVING),
    guard("collect::row_unmarked", "a collected row is marked as gone", OWNED_OUTSIDE),
    guard("mover::skip_link", "a moved version is in the overflow list", HOT),
    guard("mover::drop_needed", "the overflow list keeps needed versions", PILED),
    guard("hash::split_unlocked", "a bucket is locked before it is split", GROWING),
    guard("hash::copy_unlocked", "rows are locked before they move", GROWING_HOT),
    guard("hash::steal_row_locks", "rows under commit do not move", GROWING_HOT),
    guard("hash::trust_first_copy", "rows that move are read under their locks", GROWING_HOT),
    guard("hash::redirect_first", "readers are sent to a bucket that is complete", GROWING),
    guard("hash::moved_row_unlocked", "a row that moved stays locked", GROWING_HOT),
    guard("oracle::torn_copy", "a packed vector is intact", FETCHED_LATE),
    guard("oracle::other_base", "a packed vector is unpacked over its own base", FETCHED_LATE),
    guard("read::trust_kept_absence", "absence in a cached leaf is for inserts only", KEPT),
    guard("read::trust_kept_leaf", "reads do not use cached leaves", KEPT),
    guard("commit::chain_with_row", "a new chain is written before the row", SLOW_CARDS),
    guard("commit::trust_half_installed", "a row with a unique key is installed", OWNED_NEW),
    guard(
        "commit::trust_old_chain",
        "the chain of a tombstone is read under the lock",
        MOVING_KEPT,
    ),
    guard(
        "commit::free_slot_early",
        "every reader sees the version before a slot is free",
        KEPT_VERSIONS,
    ),
    guard("collect::adopt_candidate", "lanes adopt announced horizons only", MOVING_FETCHED),
    guard("collect::unlocked_leaf", "a leaf is locked before entries go", MOVING_TREE),
    guard("collect::trust_first_leaf", "a leaf that loses entries is as read", MOVING_CARDS),
    guard("hash::move_half_installed", "rows that move are installed", GROWING_CARDS),
    guard("tree::keep_rewrite_counter", "a split raises the rewrite counter", SERIAL_TREE),
];
