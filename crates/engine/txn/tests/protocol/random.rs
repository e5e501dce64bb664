//! Random transactions over a few rows, in hostile worlds; all their results are checked.

use crate::support::STORAGES;
use crate::support::cluster::Cluster;
use crate::support::history::{Execution, cycle, violations};
pub use crate::support::mix::{Dice, Mix, SHORT_NOTES, SNAPSHOT, TIGHT, programs};
use layout::IndexKind;
use sim::{Carrier, SimConfig};
use txn::{Isolation, Oracle};

pub fn run(config: SimConfig, mix: &Mix) -> (Vec<Execution>, Cluster) {
    let mut dice = Dice(config.seed ^ 0xd1ce);
    let servers = 1 + (config.seed % 2) as u16 + u16::from(mix.is_copied);
    let (mut cluster, tables) = mix.open(config, servers, &mut dice);
    (cluster.has_collector, cluster.fetches) = (mix.has_collector, mix.fetches);
    let history = cluster.run(tables, &mix.setup(), &programs(&mut dice, mix));
    (history, cluster)
}

fn check(carrier: Carrier, seed: u64, mix: &Mix) {
    let config = SimConfig::hostile(seed).named(format!("{mix:?}")).carried_by(carrier);
    let (history, cluster) = run(config, mix);
    let identity = cluster.world.identity();
    assert_eq!(violations(&history), Vec::<String>::new(), "{identity}");
    if mix.isolation == Isolation::Serializable {
        assert_eq!(cycle(&history), None, "{identity}");
    }
    cluster.check();
}

pub fn check_all(base: Mix, seeds: std::ops::Range<u64>) {
    let offset: u64 =
        std::env::var("PROTOCOL_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let factor: u64 =
        std::env::var("PROTOCOL_FACTOR").map_or(1, |factor| factor.parse().expect("a number"));
    for seed in seeds.start + offset..offset + seeds.end * factor {
        let storage = STORAGES[(seed % 3) as usize];
        let index = [None, Some(IndexKind::Hash), Some(IndexKind::Tree)][(seed / 3 % 3) as usize];
        let mix = Mix { storage, index, ..base };
        let carrier = [Carrier::Card, Carrier::Caller, Carrier::Server][(seed / 9 % 3) as usize];
        check(carrier, seed, &mix);
    }
}

#[test]
fn snapshots_are_snapshots() {
    check_all(SNAPSHOT, 0..1000);
}

#[test]
fn serializable_transactions_have_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, ..SNAPSHOT }, 0..1000);
}

#[test]
fn frozen_vectors_are_snapshots() {
    check_all(Mix { oracle: Oracle::Frozen, ..SNAPSHOT }, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing() {
    check_all(TIGHT, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing_on_hot_rows() {
    check_all(Mix { keys: 3, ..TIGHT }, 0..500);
}

#[test]
fn growth_and_collection_keep_an_order() {
    check_all(Mix { isolation: Isolation::Serializable, ..TIGHT }, 0..500);
}

#[test]
fn growth_and_collection_hide_nothing_in_wide_buckets() {
    check_all(Mix { slots: Some(12), ..TIGHT }, 0..300);
    check_all(Mix { slots: Some(32), ..TIGHT }, 0..300);
}

#[test]
fn growth_and_collection_under_frozen_vectors() {
    check_all(Mix { oracle: Oracle::Frozen, ..TIGHT }, 0..500);
}

#[test]
fn values_out_of_line_are_those_of_their_rows() {
    check_all(Mix { has_notes: true, ..SNAPSHOT }, 0..500);
}

/// Updates make a value of the row one out of line and back.
#[test]
fn values_in_and_out_of_line_are_those_of_their_rows() {
    check_all(SHORT_NOTES, 0..200);
    check_all(Mix { notes_in_row: Some(41), ..SHORT_NOTES }, 200..300);
    let tight =
        Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..SHORT_NOTES };
    check_all(tight, 0..300);
    check_all(Mix { keys: 3, ..tight }, 0..300);
}

#[test]
fn collection_frees_no_visible_value() {
    check_all(Mix { has_notes: true, ..TIGHT }, 0..300);
}

#[test]
fn collection_frees_no_visible_value_of_hot_rows() {
    check_all(Mix { has_notes: true, keys: 3, ..TIGHT }, 0..500);
}

#[test]
fn values_out_of_line_under_frozen_vectors() {
    check_all(Mix { has_notes: true, oracle: Oracle::Frozen, ..TIGHT }, 0..300);
}

#[test]
fn lanes_share_a_slot() {
    check_all(Mix { shares_slot: true, sessions: 5, ..SNAPSHOT }, 0..500);
}

#[test]
fn lanes_share_a_slot_of_frozen_vectors() {
    check_all(Mix { shares_slot: true, sessions: 5, oracle: Oracle::Frozen, ..SNAPSHOT }, 0..300);
}

#[test]
fn a_collector_freezes_vectors_for_lanes_that_share_a_slot() {
    let frozen = Mix { oracle: Oracle::Frozen, has_collector: true, ..SNAPSHOT };
    check_all(Mix { shares_slot: true, sessions: 5, ..frozen }, 0..300);
}

/// A collector freezes the vectors, and each compute server fetches them for all its lanes.
const FETCHED: Mix = Mix {
    oracle: Oracle::Frozen,
    has_collector: true,
    fetches: true,
    shares_slot: true,
    sessions: 5,
    ..SNAPSHOT
};

#[test]
fn fetched_vectors_are_snapshots() {
    check_all(FETCHED, 0..300);
}

/// The same under growth and collection.
const FETCHED_TIGHT: Mix =
    Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..FETCHED };

#[test]
fn collection_frees_nothing_that_a_fetched_vector_covers() {
    check_all(FETCHED_TIGHT, 0..300);
}

/// Each of the two compute servers reads a different copy.
#[test]
fn vectors_fetched_from_copies_are_snapshots() {
    check_all(Mix { vector_copies: 2, ..FETCHED }, 0..300);
}

#[test]
fn collection_frees_nothing_that_a_copied_vector_covers() {
    check_all(Mix { vector_copies: 2, ..FETCHED_TIGHT }, 0..300);
}

#[test]
fn collection_on_hot_rows_under_vectors_from_copies() {
    check_all(Mix { vector_copies: 2, keys: 3, ..FETCHED_TIGHT }, 0..300);
}

#[test]
fn rows_that_keep_their_old_versions_show_the_right_ones() {
    check_all(Mix { keeps_versions: true, keys: 3, ..TIGHT }, 0..300);
}

/// Rows, leaves and vectors as in the fastest configuration.
pub const FASTEST: Mix = Mix { keeps_versions: true, keeps_leaves: true, ..FETCHED };

#[test]
fn inserts_into_kept_leaves_show_snapshots() {
    check_all(Mix { keeps_leaves: true, ..SNAPSHOT }, 0..300);
    check_all(Mix { keeps_leaves: true, ..TIGHT }, 0..300);
}

#[test]
fn kept_leaves_are_witnesses_of_serializable_transactions() {
    let serializable = Mix { isolation: Isolation::Serializable, keeps_leaves: true, ..TIGHT };
    check_all(serializable, 0..300);
}

#[test]
fn the_fastest_configuration_shows_snapshots() {
    check_all(FASTEST, 0..300);
    let tight =
        Mix { transactions: TIGHT.transactions, keys: TIGHT.keys, is_tight: true, ..FASTEST };
    check_all(tight, 0..300);
}

#[test]
fn collection_for_lanes_that_share_a_slot() {
    check_all(Mix { shares_slot: true, sessions: 5, ..TIGHT }, 0..300);
}
