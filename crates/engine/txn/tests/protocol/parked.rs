//! Transactions that are parked between their statements, and resumed on another lane.

use crate::mutants::{is_caught, random};
use crate::random::{Mix, SNAPSHOT, TIGHT, check_all};
use fabric::Mutant;
use layout::Storage;
use sim::Carrier;
use txn::{Isolation, Oracle};

const PARKING: Mix = Mix { parks: true, ..TIGHT };

#[test]
fn parked_snapshots_are_snapshots() {
    check_all(Mix { parks: true, ..SNAPSHOT }, 0..500);
}

#[test]
fn parked_transactions_have_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, parks: true, ..SNAPSHOT }, 0..500);
    check_all(Mix { isolation: Isolation::Serializable, ..PARKING }, 0..300);
}

#[test]
fn growth_and_collection_hide_nothing_from_parked_transactions() {
    check_all(PARKING, 0..300);
    check_all(Mix { keys: 3, is_patient: true, ..PARKING }, 0..500);
    check_all(Mix { has_notes: true, keys: 3, ..PARKING }, 0..300);
}

#[test]
fn parked_transactions_under_frozen_vectors() {
    check_all(Mix { oracle: Oracle::Frozen, ..PARKING }, 0..300);
}

#[test]
fn parked_transactions_of_lanes_that_share_a_slot() {
    check_all(Mix { shares_slot: true, sessions: 5, ..PARKING }, 0..300);
    let frozen = Mix { oracle: Oracle::Frozen, has_collector: true, fetches: true, ..PARKING };
    check_all(Mix { shares_slot: true, sessions: 5, ..frozen }, 0..300);
}

#[test]
fn parked_inserts_behind_kept_leaves() {
    check_all(Mix { storage: Storage::Tree, keeps_leaves: true, ..PARKING }, 0..300);
}

/// Without the words that make collection safe in any case, only the pin keeps old versions.
#[test]
fn a_parked_snapshot_that_pins_nothing() {
    let mix = Mix { storage: Storage::HashOutside, keys: 3, is_patient: true, ..PARKING };
    let without_words = |config: sim::SimConfig, mutant| {
        let config = config.with_mutant(Mutant::CollectSkipCollectedWord);
        random(Carrier::Caller, mix)(config, mutant)
    };
    is_caught(&[Mutant::ParkUnpinned], 300, &without_words);
}
