//! The calls of clients.

use crate::{WORKLOADS, assert_even, assert_share, int, population};
use datagen::{Arguments, Call, Calls, Judgement, Mix, Population};
use sql_value::Value;
use std::collections::{BTreeMap, BTreeSet};

fn calls(population: &Population, client: u64, clients: u64, count: usize) -> Vec<Call> {
    let mut calls = population.calls(client, clients, Mix::Drawn);
    (0..count).map(|_| calls.next_call(0)).collect()
}

fn of<'a>(population: &Population, calls: &'a [Call], name: &str) -> Vec<&'a [Value]> {
    let of = calls.iter().filter(|call| population.procedure(call.procedure) == name);
    of.map(|call| &*call.arguments).collect()
}

#[test]
fn calls_follow_from_seed_and_client() {
    for workload in WORKLOADS {
        let population = population(workload, 1, 7);
        let first = calls(&population, 2, 5, 500);
        assert_eq!(first, calls(&population, 2, 5, 500));
        assert_ne!(first, calls(&population, 3, 5, 500));
    }
}

/// Many clients draw keys of history, and no key twice.
#[test]
fn sequences_of_clients_have_nothing_in_common() {
    let population = population("tpcc", 2, 7);
    let mut keys = BTreeSet::new();
    let mut count = 0;
    for client in 0..20 {
        let calls = calls(&population, client, 20, 1000);
        let mut own: Vec<i64> =
            of(&population, &calls, "payment").iter().map(|arguments| int(&arguments[0])).collect();
        assert!(own.is_sorted_by(|left, right| *right == left + 1), "one after the other");
        count += own.len();
        keys.extend(own.drain(..));
    }
    assert_eq!(keys.len(), count);
    assert!(keys.first().is_some_and(|least| *least >= 140_737_488_355_328));
}

/// Drawing arguments again changes neither the next call nor the sequences.
#[test]
fn arguments_are_drawn_again_until_one_is_wanted() {
    let population = population("tpcc", 4, 7);
    let mut calls = Calls::new(&population, 1, 20, Mix::Deck);
    let mut plain = Calls::new(&population, 1, 20, Mix::Deck);
    let mut arguments = Arguments::default();
    let (mut keys, mut looked) = (Vec::new(), 0);
    for _ in 0..2_000 {
        let procedure = calls.next_into(0, &mut arguments);
        assert_eq!(procedure, plain.next_call(0).procedure);
        if population.procedure(procedure) != "payment" {
            continue;
        }
        let before = int(&arguments.values()[0]);
        let wanted = calls.redraw_into(0, (procedure, 1), &mut arguments, |warehouse| {
            looked += 1;
            if int(warehouse) == 3 { Judgement::Wanted } else { Judgement::Another }
        });
        assert!(wanted && int(&arguments.values()[1]) == 3);
        assert_eq!((int(&arguments.values()[0]), arguments.values().len()), (before, 9));
        keys.push(before);
    }
    assert!(keys.is_sorted_by(|left, right| *right == left + 1), "one after the other");
    // One of four warehouses matches.
    assert!((3.5..4.5).contains(&(f64::from(looked) / keys.len() as f64)), "{looked}");
    let mut calls = Calls::new(&population, 1, 20, Mix::Deck);
    let procedure = calls.next_into(0, &mut arguments);
    let stays = calls.redraw_into(0, (procedure, 0), &mut arguments, |_| Judgement::Stay);
    assert!(!stays && arguments.values().len() > 1, "all of them are there");
}

#[test]
fn new_orders_are_as_specified() {
    let population = population("tpcc", 4, 12);
    let calls = calls(&population, 0, 1, 60_000);
    let orders = of(&population, &calls, "new_order");
    assert_share(orders.len(), calls.len(), 0.45);
    let (mut lines, mut remote, mut lengths) = (0, 0, BTreeMap::<usize, usize>::new());
    for arguments in &orders {
        let [
            _,
            _,
            customer,
            Value::Array(items),
            Value::Array(suppliers),
            Value::Array(quantities),
        ] = arguments
        else {
            panic!("{arguments:?}");
        };
        assert!((1..=3000).contains(&int(customer)));
        assert_eq!((items.len(), items.len()), (suppliers.len(), quantities.len()));
        assert!(items.iter().all(|item| (1..=100_001).contains(&int(item))));
        assert!(suppliers.iter().all(|supplier| (1..=4).contains(&int(supplier))));
        lines += items.len();
        remote += suppliers.iter().filter(|supplier| **supplier != arguments[0]).count();
        *lengths.entry(items.len()).or_default() += 1;
    }
    assert_share(remote, lines, 0.01);
    assert_eq!(lengths.len(), 11);
    assert_even(lengths.into_values());
}

#[test]
fn payments_are_by_name_or_by_number() {
    let population = population("tpcc", 4, 13);
    let calls = calls(&population, 0, 1, 60_000);
    let payments = of(&population, &calls, "payment");
    let by_name = payments.iter().filter(|arguments| arguments[5] == Value::Bool(true)).count();
    assert_share(by_name, payments.len(), 0.6);
    assert!(payments.iter().all(|arguments| {
        let by_name = arguments[5] == Value::Bool(true);
        arguments[6].is_null() == by_name && arguments[7].is_null() != by_name
    }));
    let remote = payments.iter().filter(|arguments| arguments[1] != arguments[3]).count();
    assert_share(remote, payments.len(), 0.15);
}

/// With one warehouse there is no other, and calls go to the home warehouse.
#[test]
fn nothing_is_left_out_where_nothing_else_is_there() {
    let population = population("tpcc", 1, 13);
    let calls = calls(&population, 0, 1, 2000);
    for arguments in of(&population, &calls, "payment") {
        assert_eq!((int(&arguments[1]), int(&arguments[3])), (1, 1));
    }
}

#[test]
fn accounts_of_one_payment_differ() {
    let population = population("smallbank", 1, 13);
    let calls = calls(&population, 0, 1, 20_000);
    for name in ["send_payment", "amalgamate"] {
        let pairs = of(&population, &calls, name);
        assert!(pairs.iter().all(|arguments| arguments[0] != arguments[1]));
        let hot = pairs.iter().filter(|arguments| int(&arguments[0]) < 4000).count();
        assert_share(hot, pairs.len(), 0.9 + 0.1 * 0.04);
    }
}

/// The most popular record of YCSB has the share of rank 1 in Zipf's law over all records.
#[test]
fn popular_records_are_popular() {
    let population = population("ycsb", 1, 13);
    let calls = calls(&population, 0, 1, 50_000);
    let mut counts = BTreeMap::<i64, usize>::new();
    let reads = of(&population, &calls, "read_record");
    reads.iter().for_each(|arguments| *counts.entry(int(&arguments[0])).or_default() += 1);
    let sum: f64 = (1..=100_000).map(|rank| f64::from(rank).powf(-0.99)).sum();
    let most = counts.values().max().copied().unwrap_or(0);
    assert_share(most, reads.len(), 1.0 / sum);
}

#[test]
fn a_deck_has_each_procedure_as_often_as_its_frequency_says() {
    let population = population("tpcc", 1, 7);
    let mut calls = population.calls(0, 1, Mix::Deck);
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let round: Vec<usize> = (0..100).map(|_| calls.next_call(0).procedure).collect();
        let count = |name: &str| {
            round.iter().filter(|procedure| population.procedure(**procedure) == name).count()
        };
        let counts = ["new_order", "payment", "order_status", "delivery", "stock_level"].map(count);
        assert_eq!(counts, [45, 43, 4, 4, 4]);
        rounds.push(round);
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
}
