//! The designs that the tuner's design is compared with.

use crate::support::{PRICES, Subject, options, shipped_measurements};
use spade::design::{Access, Design, Partition};
use spade::tune::Options;
use std::collections::BTreeSet;

fn texts(designs: &[Design]) -> BTreeSet<String> {
    designs.iter().map(Design::json).collect()
}

#[test]
fn a_sweep_is_bounded_always_the_same_and_has_no_design_that_is_much_better_than_the_tuned_one() {
    let (measured, options) = (shipped_measurements(), Options::default());
    for (name, least) in [("smallbank", 100), ("tatp", 100), ("tpcc", 100), ("ycsb", 10)] {
        let subject = Subject::shipped(name);
        let designs = subject.sweep(&measured, &options);
        assert!((least..=200).contains(&designs.len()), "{name}: {}", designs.len());
        assert_eq!(texts(&designs).len(), designs.len(), "{name}: each once");
        assert_eq!(designs, subject.sweep(&measured, &options), "{name}");
        let forecaster = subject.forecaster(&measured, &options);
        let rate = |design: &Design| {
            let found = forecaster.throughput(design);
            found.unwrap_or_else(|error| panic!("{name}: {error}")).0
        };
        let rates: Vec<f64> = designs.iter().map(rate).collect();
        let tuned = rate(&subject.tuned(&measured, &options).design);
        let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let best = rates.iter().copied().fold(0.0, f64::max);
        println!("{name}: {} designs, {worst} to {best}, tuned {tuned}", designs.len());
        // The search gives up some throughput for lower stage demands, and decides one thing at a
        // time.
        assert!(tuned >= 0.97 * best && worst > 0.0 && worst < 0.8 * best, "{name}");
    }
}

#[test]
fn a_sweep_does_not_depend_on_costs() {
    let subject = Subject::shipped("tatp");
    let dear = crate::support::Prices { call: 1e6, ..PRICES };
    let (cheap, dear) = (PRICES.measured(), dear.measured());
    assert_eq!(subject.sweep(&cheap, &options()), subject.sweep(&dear, &options()));
    assert_ne!(
        subject.tuned(&cheap, &options()).design,
        subject.tuned(&dear, &options()).design,
        "what is tuned does"
    );
}

/// A read-only table has one variant of old versions; if all combinations are tried, an updated
/// table has all variants.
#[test]
fn old_versions_are_varied_where_rows_are_updated() {
    let measured = shipped_measurements();
    let designs = |name: &str| Subject::shipped(name).sweep(&measured, &Options::default());
    let of = |designs: &[Design], name: &str| -> BTreeSet<(u32, bool)> {
        let tables = designs.iter().flat_map(|design| &design.tables);
        let tables = tables.filter(|of| of.table == name);
        tables.map(|of| (of.versions_beside, of.keeps_versions)).collect()
    };
    let all = BTreeSet::from([(8, true), (1, true), (8, false)]);
    let tpcc = designs("tpcc");
    assert_eq!((of(&tpcc, "district"), of(&tpcc, "item").len()), (all.clone(), 1));
    let ycsb = designs("ycsb");
    assert_eq!(of(&ycsb, "usertable"), all);
    assert_eq!(ycsb.len() % 3, 0, "each with all else");
}

#[test]
fn access_and_partitions_are_combined_and_each_table_is_varied() {
    let subject = Subject::shipped("smallbank");
    let designs = subject.sweep(&shipped_measurements(), &Options::default());
    let shipped = |design: &Design| {
        let each = design.procedures.iter().map(|of| of.access == Access::Shipped);
        each.collect::<Vec<bool>>()
    };
    let accesses: BTreeSet<Vec<bool>> = designs.iter().map(shipped).collect();
    assert_eq!(accesses.len(), 64, "six procedures are shipped or not");
    for (at, table) in designs[0].tables.iter().enumerate() {
        let storages = designs.iter().map(|design| {
            let of = &design.tables[at];
            format!("{:?} {} {:?}", of.storage, of.neighbourhood, of.placement)
        });
        let storages: BTreeSet<String> = storages.collect();
        assert!(storages.len() >= 7, "{}: {storages:?}", table.table);
        let is_alone = |design: &&Design| {
            let spread = design.tables.iter().map(|of| of.partition == Partition::RoundRobin);
            let spread: Vec<bool> = spread.collect();
            spread[at] && spread.iter().filter(|one| **one).count() == 1
        };
        assert!(designs.iter().any(|design| is_alone(&design)), "{} is spread", table.table);
    }
}
