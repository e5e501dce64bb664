//! Every check detects the damage that it is for.

use super::super::population::Loaded;
use super::super::schema::{special_facility, subscriber};
use super::super::{keys, tables::Tables};
use super::*;
use layout::Key;
use txn::{RowId, TableId, Transaction};

type Damage = fn(&mut Transaction<'_, LocalEnv>, &Tables);

/// The detected defects, by the beginnings of the checks' names.
const DAMAGES: &[(&[&str], Damage)] = &[
    (&["every row has a valid key", "forwardings = loaded"], |txn, tables| {
        // No calls are forwarded from three o'clock on.
        let facility = facility_of(7);
        let key = keys::call_forwarding(7, facility, 3);
        run_now(txn.insert(tables.call_forwarding, &key)).expect("the key is new");
    }),
    (
        &["every access and every facility", "subscribers, accesses", "each number"],
        |txn, tables| {
            remove(txn, tables.subscriber, keys::subscriber(5));
        },
    ),
    (&["subscribers, accesses"], |txn, tables| {
        let kind = loaded(5).access_types().next().expect("at least one");
        remove(txn, tables.access_info, keys::typed(5, kind));
    }),
    (
        &["every forwarding belongs to an existing facility", "subscribers, accesses"],
        |txn, tables| {
            let (s_id, kind) = forwarded();
            remove(txn, tables.special_facility, keys::typed(s_id, kind));
        },
    ),
    (&["forwardings = loaded"], |txn, tables| {
        let (s_id, kind) = forwarded();
        let mut times = loaded(s_id).forwarding_times();
        let (_, start) = times.find(|&(of, _)| of == kind).expect("it was found by that");
        remove(txn, tables.call_forwarding, keys::call_forwarding(s_id, kind, start));
    }),
    (&["each number leads to its subscriber"], |txn, tables| {
        let row = find(txn, tables.subscriber, keys::subscriber(5));
        txn.update(row).set_bytes(subscriber::SUB_NBR, b"999999999999999");
    }),
    (&["BIT_1 and DATA_A"], |txn, tables| {
        let row = find(txn, tables.subscriber, keys::subscriber(5));
        let bit_1 = txn.row(row).int(subscriber::BIT_1);
        txn.update(row).set_int(subscriber::BIT_1, 1 - bit_1);
    }),
    (&["BIT_1 and DATA_A"], |txn, tables| {
        let key = keys::typed(5, facility_of(5));
        let row = find(txn, tables.special_facility, key);
        let data_a = txn.row(row).int(special_facility::DATA_A);
        txn.update(row).set_int(special_facility::DATA_A, data_a + 1);
    }),
    (&["VLR_LOCATION is"], |txn, tables| {
        let row = find(txn, tables.subscriber, keys::subscriber(5));
        let location = txn.row(row).int(subscriber::VLR_LOCATION);
        txn.update(row).set_int(subscriber::VLR_LOCATION, location ^ 1);
    }),
];

fn config() -> TatpConfig {
    TatpConfig::new(50)
}

fn loaded(s_id: i32) -> Loaded {
    Loaded::new(&config(), s_id)
}

fn facility_of(s_id: i32) -> i16 {
    loaded(s_id).facility_types().next().expect("at least one")
}

/// A facility that forwards calls.
fn forwarded() -> (i32, i16) {
    let first = |s_id| loaded(s_id).forwarding_times().next().map(|(kind, _)| (s_id, kind));
    (1..=50).find_map(first).expect("one of fifty forwards calls")
}

fn find(txn: &mut Transaction<'_, LocalEnv>, table: TableId, key: Key) -> RowId {
    run_now(txn.read(table, &key)).expect("no other transaction runs").expect("the row is there")
}

fn remove(txn: &mut Transaction<'_, LocalEnv>, table: TableId, key: Key) {
    let row = find(txn, table, key);
    txn.delete(row);
}

fn damaged(trial: &mut Trial<Tatp>, damage: Damage) -> Vec<&'static str> {
    let tables = Tables::find(&trial.database).expect("loaded");
    trial.damage(|transaction| damage(transaction, &tables));
    trial.failures()
}

#[test]
fn every_check_of_the_tables_notices_its_damage_and_no_other_does() {
    for (expected, damage) in DAMAGES {
        let failures = damaged(&mut load(config()), *damage);
        assert_eq!(failures.len(), expected.len(), "{expected:?} and {failures:?}");
        for name in *expected {
            assert!(
                failures.iter().any(|failure| failure.starts_with(name)),
                "{name}: {failures:?}"
            );
        }
    }
}

#[test]
fn every_check_has_its_damage() {
    for check in load(config()).check() {
        let is_named = |names: &[&str]| names.iter().any(|name| check.name.starts_with(name));
        let is_damaged = DAMAGES.iter().any(|(names, _)| is_named(names));
        assert!(is_damaged || check.name.contains("success rates"), "no damage for {}", check.name);
    }
}

/// The rates are those of the run, so the damage must come before the run.
#[test]
fn transactions_that_find_too_little_are_noticed() {
    let mut trial = load(small(Isolation::Snapshot));
    let tables = Tables::find(&trial.database).expect("loaded");
    for first in (1..=2000).step_by(100) {
        trial.damage(|txn| {
            for s_id in first..first + 100 {
                for kind in Loaded::new(&small(Isolation::Snapshot), s_id).access_types().take(1) {
                    remove(txn, tables.access_info, keys::typed(s_id, kind));
                }
            }
        });
    }
    trial.run(20_000);
    let failures = trial.failures();
    assert!(failures.iter().any(|name| name.contains("success rates")), "{failures:?}");
}

/// A committed transaction that is missing in the database, and one that was not counted.
#[test]
fn lost_updates_and_uncounted_inserts_are_detected() {
    let mut trial = load(config());
    trial.run(2000);
    let (all, before) = (trial.totals.clone(), RunTotals::new(TYPES.len()));
    trial.totals = before;
    assert_eq!(trial.failures(), ["forwardings = loaded + inserted - deleted"]);
    trial.totals = all;
    // A subscriber is reset to the load's values, as if every update had been lost.
    let tables = Tables::find(&trial.database).expect("loaded");
    for s_id in 1..=50 {
        trial.damage(|txn| {
            let row = find(txn, tables.subscriber, keys::subscriber(s_id));
            let Loaded { location, bit_1, .. } = loaded(s_id);
            txn.update(row).set_int(subscriber::VLR_LOCATION, location.into());
            txn.update(row).set_int(subscriber::BIT_1, bit_1.into());
        });
    }
    let failures = trial.failures();
    let names = ["BIT_1", "VLR_LOCATION"];
    let noticed = names.map(|name| failures.iter().any(|failure| failure.starts_with(name)));
    assert_eq!(noticed, [true; 2], "{failures:?}");
}

/// The judge of a recorded run detects half of an update, as if it had not been atomic.
#[test]
fn half_an_update_is_noticed_by_the_judge() {
    let mut trial = load(TatpConfig { recorded: true, ..TatpConfig::new(20) });
    trial.run(2000);
    let tables = Tables::find(&trial.database).expect("loaded");
    trial.damage(|txn| {
        for s_id in 1..=20 {
            let row = find(txn, tables.subscriber, keys::subscriber(s_id));
            let old = Loaded::new(&TatpConfig::new(20), s_id).bit_1;
            txn.update(row).set_int(subscriber::BIT_1, old.into());
        }
    });
    let failures = trial.failures();
    assert!(failures.contains(&crate::verdicts::SNAPSHOT), "{failures:?}");
}
