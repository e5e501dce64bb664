//! Groups of tables, and their partitioning columns.

use crate::support::{PRICES, Subject, options};
use spade::design::Partition;
use spade::tune::{Options, Tuning, Verdict};
use sql::load::{Amount, Draw, Rows};

fn tuned(name: &str) -> Tuning {
    Subject::shipped(name).tuned(&PRICES.measured(), &options())
}

/// Tables with their partitioning columns, or how they are spread.
fn places(tuning: &Tuning) -> Vec<String> {
    let place = |partition: &Partition| match partition {
        Partition::RoundRobin => "spread".to_owned(),
        Partition::Replicated => "copied".to_owned(),
        Partition::By { columns, .. } => columns.join(" "),
    };
    let each = tuning.design.tables.iter();
    each.map(|table| format!("{} {}", table.table, place(&table.partition))).collect()
}

/// The only group.
fn group(tuning: &Tuning) -> String {
    let groups = tuning.design.tables.iter().filter_map(|table| match &table.partition {
        Partition::By { group, .. } => Some(group.clone()),
        _ => None,
    });
    let mut groups: Vec<String> = groups.collect();
    groups.dedup();
    assert_eq!(groups.len(), 1, "{groups:?}");
    groups.remove(0)
}

#[test]
fn the_tables_of_a_subscriber_are_together() {
    let tuning = tuned("tatp");
    let expected =
        ["subscriber s_id", "access_info s_id", "special_facility s_id", "call_forwarding s_id"];
    assert_eq!(places(&tuning), expected);
    assert_eq!(group(&tuning), "subscriber");
    assert_eq!(tuning.attributes[0].columns.len(), 4);
    assert_eq!(tuning.attributes[0].verdict, Verdict::Chosen);
    let rejected: Vec<_> =
        tuning.attributes.iter().filter(|one| one.verdict == Verdict::Rejected).collect();
    let by_number = rejected.iter().find(|one| one.columns == ["subscriber.sub_nbr"]);
    let by_number = by_number.expect("subscribers are looked up by it");
    assert_eq!(by_number.reason, "no primary key begins with one of its columns");
    assert!(rejected.iter().all(|one| !one.reason.is_empty()));
}

/// Tables are divided by ranges of integers. Equal values of other types are not on one machine.
#[test]
fn nothing_is_partitioned_by_what_has_no_ranges() {
    let mut subject = Subject::shipped("smallbank");
    for table in &mut subject.folder.load.tables {
        let (_, number) = &mut table.columns[0];
        number.draw = Draw::Digits { of: Box::new(number.clone()), width: 1 };
    }
    let tuning = subject.tuned(&PRICES.measured(), &options());
    let places = places(&tuning);
    assert!(
        places.iter().all(|one| one.ends_with("spread") || one.ends_with("copied")),
        "{places:?}"
    );
    let reason = "it is not an integer with a range that the load defines";
    assert!(tuning.attributes.iter().any(|one| one.reason == reason), "{:?}", tuning.attributes);
    assert!(tuning.design.procedures.iter().all(|of| of.by.is_none()));
}

#[test]
fn warehouses_have_all_that_is_theirs_and_items_are_copied() {
    let tuning = tuned("tpcc");
    let places = places(&tuning);
    let expected = [
        "warehouse w_id",
        "district d_w_id",
        "customer c_w_id",
        "orders o_w_id",
        "new_order no_w_id",
        "order_line ol_w_id",
        "stock s_w_id",
        "item copied",
    ];
    for place in expected {
        assert!(places.iter().any(|one| one == place), "{place} in {places:?}");
    }
    // It has no primary key, so no column can divide it.
    assert!(places.iter().any(|one| one == "history spread"), "{places:?}");
    assert_eq!(group(&tuning), "warehouse");
}

#[test]
fn customers_and_records_are_by_their_key() {
    let tuning = tuned("smallbank");
    assert_eq!(
        places(&tuning),
        ["accounts customer_id", "savings customer_id", "checking customer_id"]
    );
    assert_eq!(group(&tuning), "accounts");
    assert_eq!(places(&tuned("ycsb")), ["usertable ycsb_key"]);
}

#[test]
fn an_attribute_with_too_few_values_is_no_key() {
    let options = Options { machines: Some(20), ..options() };
    let tuning = Subject::shipped("tpcc").tuned(&PRICES.measured(), &options);
    let of_warehouses =
        tuning.attributes.iter().find(|one| one.columns.contains(&"warehouse.w_id".to_owned()));
    let of_warehouses = of_warehouses.expect("it is named by most operations");
    assert_eq!(of_warehouses.verdict, Verdict::Rejected);
    assert_eq!(of_warehouses.reason, "it has 10 values, too few for 20 machines");
    // Lookups are by primary key, so the partitioning column must be its first column.
    assert!(!places(&tuning).contains(&"order_line ol_i_id".to_owned()), "{:?}", places(&tuning));
}

#[test]
fn rows_of_other_warehouses_are_counted_as_they_are_drawn() {
    let tuning = tuned("tpcc");
    let of = |name: &str| {
        let found = tuning.procedures.iter().find(|of| of.procedure == name);
        found.expect("it is there").local
    };
    // One order line in a hundred is from another warehouse, and one payment in seven is for a
    // customer of another one; on four machines, a quarter of those are local. One of eight rows of
    // a payment is in history, which is anywhere.
    assert!((0.993..0.9995).contains(&of("new_order")), "{}", of("new_order"));
    assert!((0.84..0.9).contains(&of("payment")), "{}", of("payment"));
    assert_eq!(of("delivery"), 1.0);
}

#[test]
fn ranges_across_partitions_are_not_on_one_machine() {
    let subject = Subject::shipped("ycsb").only("scan_records");
    let tuning = subject.tuned(&PRICES.measured(), &options());
    let scans = tuning.procedures.iter().find(|of| of.procedure == "scan_records");
    let scans = scans.expect("it is there");
    assert_eq!(scans.local, 0.25, "records are by their key on four machines");
    // Rows of one warehouse are on one machine.
    let of_orders = tuned("tpcc");
    let of_orders = of_orders.procedures.iter().find(|of| of.procedure == "stock_level");
    assert_eq!(of_orders.expect("it is there").local, 1.0);
}

#[test]
fn large_tables_are_not_copied() {
    let mut subject = Subject::shipped("tpcc");
    let items = subject.folder.load.tables.iter_mut().find(|table| table.table == "item");
    items.expect("it is there").rows = Rows::Counted(Amount::constant(10_000_000));
    let tuning = subject.tuned(&PRICES.measured(), &options());
    let places = places(&tuning);
    assert!(places.contains(&"item i_id".to_owned()), "by the key it is looked up by: {places:?}");
    let copied = |budget: u64| {
        let options = Options { memory_budget: Some(budget), ..options() };
        let tuning = subject.tuned(&PRICES.measured(), &options);
        tuning.design.tables.iter().any(|table| table.partition == Partition::Replicated)
    };
    assert_eq!([4 << 30, 1 << 40].map(copied), [false, true], "a tenth of the memory");
}

#[test]
fn texts_count_one_of_something_as_one_and_name_no_table_after_itself() {
    let alone = Options { machines: Some(1), threads: Some(1), lanes: Some(1), ..options() };
    let text = Subject::shipped("tatp").tuned(&PRICES.measured(), &alone).text(true);
    assert!(text.contains(" on 1 machine of hand-made "), "{text}");
    assert!(text.contains(" 1 thread and 1 lane "), "{text}");
    let plurals = ["machine", "thread", "lane", "slot", "row"].map(|one| format!(" 1 {one}s"));
    assert!(!plurals.iter().any(|many| text.contains(many)), "{text}");
    let tuning = Subject::shipped("tatp").tuned(&PRICES.measured(), &options());
    let text = tuning.text(false);
    let line = |table: &str| {
        let found = text.lines().find(|line| line.split_whitespace().next() == Some(table));
        found.unwrap_or_else(|| panic!("{table}: {text}")).trim_end().to_owned()
    };
    assert!(line("subscriber").ends_with(" by s_id"), "{text}");
    assert!(line("access_info").ends_with(" by s_id, with subscriber"), "{text}");
}
