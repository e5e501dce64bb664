//! The loaded rows have the values of [TPC-C 4.3.3.1].

use super::super::schema::{
    customer, district, history, item, order_line, orders, stock, warehouse,
};
use super::super::tables::Tables;
use super::super::text::is_original;
use super::*;
use layout::RecordRef;
use txn::TableId;

/// Enough customers for shares to be meaningful; some share a last name.
fn config() -> Config {
    let scale =
        Scale { items: 5000, districts: 3, customers_per_district: 300, orders_per_district: 300 };
    Config { scale, seed: 3, ..Config::new(2) }
}

fn for_each(database: &Database<LocalEnv>, table: TableId, mut visit: impl FnMut(RecordRef<'_>)) {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("no other transaction runs");
    run_now(txn.for_each(table, &mut visit)).expect("the scan succeeds");
}

fn load() -> (Database<LocalEnv>, Tables) {
    let tpcc = Tpcc::new(config()).expect("the configuration makes sense");
    let database = loaded(&tpcc);
    let tables = Tables::find(&database, &config(), 0).expect("the tables are there");
    (database, tables)
}

fn assert_length(row: &RecordRef<'_>, column: usize, lengths: std::ops::RangeInclusive<usize>) {
    assert!(lengths.contains(&row.bytes(column).len()), "column {column}: {:?}", row.text(column));
}

fn assert_address(row: &RecordRef<'_>, street_1: usize) {
    (street_1..street_1 + 3).for_each(|column| assert_length(row, column, 10..=20));
    assert_length(row, street_1 + 3, 2..=2);
    assert!(row.text(street_1 + 4).len() == 9 && row.text(street_1 + 4).ends_with("11111"));
}

#[test]
fn items_and_stock() {
    let (database, tables) = load();
    let (mut items, mut original_items) = (0_u32, 0_u32);
    for_each(&database, tables.item, |row| {
        items += 1;
        original_items += u32::from(is_original(row.bytes(item::I_DATA)));
        assert_length(&row, item::I_NAME, 14..=24);
        assert_length(&row, item::I_DATA, 26..=50);
        assert!((100..=10_000).contains(&row.int(item::I_PRICE)));
        assert!((1..=10_000).contains(&row.int(item::I_IM_ID)));
    });
    assert_eq!(items, 5000);
    // Six standard deviations of binomials with p = 0.1.
    assert!(original_items.abs_diff(500) < 128, "{original_items}");
    let (mut stocks, mut original_stocks) = (0_u32, 0_u32);
    for_each(&database, tables.stock, |row| {
        stocks += 1;
        original_stocks += u32::from(is_original(row.bytes(stock::S_DATA)));
        assert!((10..=100).contains(&row.int(stock::S_QUANTITY)));
        let texts = stock::S_DIST_01..stock::S_DIST_01 + stock::DISTRICT_TEXTS;
        texts.for_each(|column| assert_length(&row, column, 24..=24));
        let counters = [stock::S_YTD, stock::S_ORDER_CNT, stock::S_REMOTE_CNT];
        assert_eq!(counters.map(|column| row.int(column)), [0, 0, 0]);
    });
    assert_eq!(stocks, 10_000);
    assert!(original_stocks.abs_diff(1000) < 180, "{original_stocks}");
}

#[test]
fn warehouses_and_districts() {
    let (database, tables) = load();
    let mut warehouses = 0;
    for_each(&database, tables.warehouse, |row| {
        warehouses += 1;
        assert_length(&row, warehouse::W_NAME, 6..=10);
        assert_address(&row, warehouse::W_STREET_1);
        assert!((0..=2000).contains(&row.int(warehouse::W_TAX)));
        assert_eq!(row.int(warehouse::W_YTD), 3 * 300 * 1000);
    });
    let mut districts = 0;
    for_each(&database, tables.district, |row| {
        districts += 1;
        assert_length(&row, district::D_NAME, 6..=10);
        assert_address(&row, district::D_STREET_1);
        assert!((0..=2000).contains(&row.int(district::D_TAX)));
        assert_eq!((row.int(district::D_YTD), row.int(district::D_NEXT_O_ID)), (300 * 1000, 301));
    });
    assert_eq!((warehouses, districts), (2, 6));
}

#[test]
fn customers_and_their_histories() {
    let (database, tables) = load();
    let (mut customers, mut bad_credit) = (0_u32, 0_u32);
    let mut first_names = std::collections::BTreeSet::new();
    let mut names = std::collections::BTreeMap::<String, u32>::new();
    for_each(&database, tables.customer, |row| {
        customers += 1;
        bad_credit += u32::from(row.text(customer::C_CREDIT) == "BC");
        assert!(["BC", "GC"].contains(&row.text(customer::C_CREDIT)));
        assert_eq!(row.text(customer::C_MIDDLE), "OE");
        assert_length(&row, customer::C_FIRST, 8..=16);
        assert_address(&row, customer::C_STREET_1);
        assert_length(&row, customer::C_PHONE, 16..=16);
        assert_length(&row, customer::C_DATA, 300..=500);
        assert!((0..=5000).contains(&row.int(customer::C_DISCOUNT)));
        let numbers = [customer::C_CREDIT_LIM, customer::C_BALANCE, customer::C_YTD_PAYMENT];
        assert_eq!(numbers.map(|column| row.int(column)), [5_000_000, -1000, 1000]);
        let counts = [customer::C_PAYMENT_CNT, customer::C_DELIVERY_CNT];
        assert_eq!(counts.map(|column| row.int(column)), [1, 0]);
        first_names.insert(row.text(customer::C_FIRST).to_owned());
        *names.entry(row.text(customer::C_LAST).to_owned()).or_default() += 1;
    });
    assert_eq!(customers, 1800);
    assert!(bad_credit.abs_diff(180) < 77, "{bad_credit}");
    assert!(first_names.len() > 1790);
    // Each of the six districts assigns all hundred names once, then draws 200 more.
    assert_eq!(names.len(), 100);
    assert!(names.values().all(|&count| count >= 6));
    assert!(names.values().any(|&count| count > 25), "NURand prefers some names");

    let mut histories = std::collections::BTreeSet::new();
    for_each(&database, tables.history, |row| {
        let owner = [history::H_C_W_ID, history::H_C_D_ID, history::H_C_ID];
        let owner = owner.map(|column| row.int(column));
        assert!(histories.insert(owner), "one history per customer");
        assert_eq!([row.int(history::H_W_ID), row.int(history::H_D_ID)], owner[..2]);
        assert_eq!(row.int(history::H_AMOUNT), 1000);
        assert_length(&row, history::H_DATA, 12..=24);
    });
    assert_eq!(histories.len(), 1800);
}

#[test]
fn orders_and_their_lines() {
    let (database, tables) = load();
    let mut customers = [const { Vec::new() }; 6];
    for_each(&database, tables.orders, |row| {
        let district = (row.int(orders::O_W_ID) - 1) * 3 + row.int(orders::O_D_ID) - 1;
        customers[district as usize].push(row.int(orders::O_C_ID));
        let is_open = row.int(orders::O_ID) > 210;
        assert_eq!(row.is_null(orders::O_CARRIER_ID), is_open);
        assert!(is_open || (1..=10).contains(&row.int(orders::O_CARRIER_ID)));
        assert!((5..=15).contains(&row.int(orders::O_OL_CNT)));
        assert_eq!(row.int(orders::O_ALL_LOCAL), 1);
    });
    assert_ne!(customers[0], customers[1]);
    for district in &mut customers {
        assert!(!district.is_sorted());
        district.sort_unstable();
        assert!(district.iter().copied().eq(1..=300), "a permutation of the customers");
    }
    let mut lines = 0_u32;
    for_each(&database, tables.order_line, |row| {
        lines += 1;
        let is_open = row.int(order_line::OL_O_ID) > 210;
        assert_eq!(row.is_null(order_line::OL_DELIVERY_D), is_open);
        let amounts = if is_open { 1..=999_999 } else { 0..=0 };
        assert!(amounts.contains(&row.int(order_line::OL_AMOUNT)));
        assert!((1..=5000).contains(&row.int(order_line::OL_I_ID)));
        assert_eq!(row.int(order_line::OL_SUPPLY_W_ID), row.int(order_line::OL_W_ID));
        assert_eq!(row.int(order_line::OL_QUANTITY), 5);
        assert_length(&row, order_line::OL_DIST_INFO, 24..=24);
    });
    assert!(lines.abs_diff(18_000) < 900, "{lines}");
    let mut open = 0;
    for_each(&database, tables.new_order, |_| open += 1);
    assert_eq!(open, 6 * 90);
}
