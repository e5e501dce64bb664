//! TATP's tables, and the success rates of its transactions.

use crate::{assert_even, assert_share, changed, columns, int, population, rows, scale, text};
use datagen::{Mix, Population};
use std::collections::{BTreeMap, BTreeSet};

/// The rows that the transactions look up.
struct Database {
    access: BTreeSet<(i64, i64)>,
    /// Whether each facility is active.
    facilities: BTreeMap<(i64, i64), bool>,
    /// The end by facility and start.
    forwarding: BTreeMap<(i64, i64, i64), i64>,
}

impl Database {
    fn load(population: &Population) -> Self {
        let keys = |table, names: [&str; 2]| {
            let [s_id, kind] = columns(population, table, names);
            let rows = rows(population, table);
            rows.into_iter().map(move |row| ((int(&row[s_id]), int(&row[kind])), row))
        };
        let [active] = columns(population, "special_facility", ["is_active"]);
        let [start, end] = columns(population, "call_forwarding", ["start_time", "end_time"]);
        let access: Vec<_> = keys("access_info", ["s_id", "ai_type"]).map(|(key, _)| key).collect();
        let facilities: Vec<_> = keys("special_facility", ["s_id", "sf_type"])
            .map(|(key, row)| (key, int(&row[active]) == 1))
            .collect();
        let forwarding: Vec<_> = keys("call_forwarding", ["s_id", "sf_type"])
            .map(|((s_id, kind), row)| ((s_id, kind, int(&row[start])), int(&row[end])))
            .collect();
        let counts = [access.len(), facilities.len(), forwarding.len()];
        let database = Self {
            access: access.into_iter().collect(),
            facilities: facilities.into_iter().collect(),
            forwarding: forwarding.into_iter().collect(),
        };
        // All keys differ.
        let different =
            [database.access.len(), database.facilities.len(), database.forwarding.len()];
        assert_eq!(counts, different);
        database
    }
}

#[test]
fn tables_are_filled_as_specified() {
    let population = population("tatp", 1, 17);
    let database = Database::load(&population);
    for keys in [
        database.access.iter().copied().collect::<Vec<_>>(),
        database.facilities.keys().copied().collect(),
    ] {
        let mut counts = BTreeMap::<i64, usize>::new();
        let mut types = [0; 5];
        for (s_id, kind) in &keys {
            assert!((1..=100_000).contains(s_id) && (1..=4).contains(kind));
            *counts.entry(*s_id).or_default() += 1;
            types[*kind as usize] += 1;
        }
        assert_eq!(counts.len(), 100_000, "every subscriber has one at least");
        let with = |wanted| counts.values().filter(|count| **count == wanted).count();
        assert_even((1..=4).map(with));
        assert_even(types.into_iter().skip(1));
    }
    let active = database.facilities.values().filter(|active| **active).count();
    assert_share(active, database.facilities.len(), 0.85);
    let mut counts = BTreeMap::<(i64, i64), usize>::new();
    for ((s_id, kind, start), end) in &database.forwarding {
        assert!(database.facilities.contains_key(&(*s_id, *kind)));
        assert!([0, 8, 16].contains(start) && (start + 1..=start + 8).contains(end));
        *counts.entry((*s_id, *kind)).or_default() += 1;
    }
    let with = |wanted| counts.values().filter(|count| **count == wanted).count();
    assert_even((1..=3).map(with).chain([database.facilities.len() - counts.len()]));
}

#[test]
fn numbers_of_subscribers_have_fifteen_digits() {
    let population = population("tatp", 1, 17);
    let [s_id, number] = columns(&population, "subscriber", ["s_id", "sub_nbr"]);
    for (row, at) in rows(&population, "subscriber").iter().zip(1..) {
        assert_eq!(int(&row[s_id]), at);
        assert_eq!(text(&row[number]), format!("{at:015}"));
    }
}

/// The rows and arguments give the specification's success rates, without changes in between.
/// Subscribers are drawn without skew, because with it a hundredth of all calls concern a single
/// subscriber, whose rows then decide the rate. The specification's 23.9 % for
/// `get_new_destination` does not follow from its own tables and arguments: a facility exists in
/// 62.5 % of cases, is active in 85 % of these, and forwards beyond the end time in 27.836 % of
/// these, counted over all numbers of rows, start times and end times.
#[test]
fn transactions_succeed_as_often_as_specified() {
    let folder = changed("tatp", "a = 65535", "a = 0");
    let population = Population::new(&folder.program, &folder.load, scale(1, 23));
    let population = population.expect("it can be drawn");
    let database = Database::load(&population);
    let mut tried = BTreeMap::<String, (usize, usize)>::new();
    let mut calls = population.calls(0, 1, Mix::Deck);
    for _ in 0..200_000 {
        let call = calls.next_call(0);
        let name = population.procedure(call.procedure);
        let subscriber = match &call.arguments[0] {
            sql_value::Value::Text(digits) => digits.parse().expect("it has digits alone"),
            number => int(number),
        };
        assert!((1..=100_000).contains(&subscriber));
        let argument = |at: usize| int(&call.arguments[at]);
        let succeeds = match name {
            "get_subscriber_data" | "update_location" => true,
            "get_access_data" => database.access.contains(&(subscriber, argument(1))),
            "update_subscriber_data" => {
                database.facilities.contains_key(&(subscriber, argument(2)))
            }
            "get_new_destination" => {
                let (kind, start, end) = (argument(1), argument(2), argument(3));
                let until =
                    database.forwarding.range((subscriber, kind, 0)..=(subscriber, kind, start));
                database.facilities.get(&(subscriber, kind)) == Some(&true)
                    && until.map(|(_, until)| *until).any(|until| end < until)
            }
            "insert_call_forwarding" => {
                let (kind, start) = (argument(1), argument(2));
                database.facilities.contains_key(&(subscriber, kind))
                    && !database.forwarding.contains_key(&(subscriber, kind, start))
            }
            "delete_call_forwarding" => {
                database.forwarding.contains_key(&(subscriber, argument(1), argument(2)))
            }
            other => panic!("TATP has no {other}"),
        };
        let counts = tried.entry(name.to_owned()).or_default();
        *counts = (counts.0 + usize::from(succeeds), counts.1 + 1);
    }
    for (name, frequency, rate) in [
        ("get_subscriber_data", 35, 1.0),
        ("get_new_destination", 10, 0.625 * 0.85 * 0.278_356),
        ("get_access_data", 35, 0.625),
        ("update_subscriber_data", 2, 0.625),
        ("update_location", 14, 1.0),
        ("insert_call_forwarding", 2, 0.3125),
        ("delete_call_forwarding", 2, 0.3125),
    ] {
        let (succeeded, all) = tried[name];
        assert_eq!(all, 2000 * frequency, "a deck has exact shares");
        assert_share(succeeded, all, rate);
    }
}

#[test]
fn ranges_of_listed_numbers_go_from_the_least_to_the_most() {
    let population = population("tatp", 1, 1);
    let [start, end] = columns(&population, "call_forwarding", ["start_time", "end_time"]);
    let table = crate::number(&population, "call_forwarding");
    assert_eq!(population.column_range(table, start), Some((0, 17)));
    assert_eq!(population.column_range(table, end), None, "where no case applies it would be null");
}
