//! Every check detects the damage that it is for.

use super::super::schema::{
    customer, district, history, item, order_line, orders, stock, warehouse,
};
use super::super::{keys, tables::Tables};
use super::*;
use txn::{TableId, Transaction};

type Damage = fn(&mut Transaction<'_, LocalEnv>, &Tables);

/// Order 25 of district 1 is open, order 5 is delivered; warehouse 1 has items 1 to 200.
const DAMAGES: &[(&str, Damage)] = &[
    ("condition 1", |txn, tables| {
        change(txn, tables.district, keys::district(1, 2), district::D_YTD, 1);
    }),
    ("condition 2", |txn, tables| {
        change(txn, tables.district, keys::district(1, 2), district::D_NEXT_O_ID, 1);
    }),
    ("condition 2", |txn, tables| remove(txn, tables.new_order, keys::order(1, 1, 30))),
    ("condition 3", |txn, tables| remove(txn, tables.new_order, keys::order(1, 1, 25))),
    ("condition 4", |txn, tables| remove(txn, tables.order_line, keys::order_line(1, 1, 5, 2))),
    ("condition 5", |txn, tables| remove(txn, tables.new_order, keys::order(1, 1, 22))),
    ("condition 5", |txn, tables| {
        set(txn, tables.orders, keys::order(1, 1, 25), orders::O_CARRIER_ID, 3);
    }),
    ("condition 6", |txn, tables| {
        change(txn, tables.orders, keys::order(1, 1, 5), orders::O_OL_CNT, 1);
    }),
    ("condition 7", |txn, tables| {
        set(txn, tables.order_line, keys::order_line(1, 1, 25, 1), order_line::OL_DELIVERY_D, 1);
    }),
    ("condition 8", |txn, tables| {
        change(txn, tables.warehouse, keys::warehouse(2), warehouse::W_YTD, -1);
    }),
    ("condition 9", |txn, tables| {
        change(txn, tables.history, keys::history(7), history::H_AMOUNT, 1);
    }),
    ("condition 10", |txn, tables| {
        change(txn, tables.customer, keys::customer(1, 1, 4), customer::C_BALANCE, 1);
    }),
    ("condition 11", |txn, tables| remove(txn, tables.new_order, keys::order(1, 1, 22))),
    ("condition 12", |txn, tables| {
        change(txn, tables.customer, keys::customer(1, 1, 4), customer::C_YTD_PAYMENT, 1);
    }),
    ("every row's numbers are in range", |txn, tables| {
        add(txn, tables.order_line, keys::order_line(3, 1, 5, 1));
    }),
    ("O_ID has no gaps", |txn, tables| remove(txn, tables.orders, keys::order(1, 1, 5))),
    ("O_ALL_LOCAL", |txn, tables| {
        set(txn, tables.order_line, keys::order_line(1, 1, 5, 1), order_line::OL_SUPPLY_W_ID, 2);
    }),
    ("OL_AMOUNT", |txn, tables| add(txn, tables.order_line, keys::order_line(1, 1, 5, 16))),
    ("OL_AMOUNT", |txn, tables| {
        let row = add_line_of_new_order(txn, tables);
        txn.update(row).set_int(order_line::OL_AMOUNT, 1);
    }),
    ("S_YTD", |txn, tables| change(txn, tables.stock, keys::stock(1, 9), stock::S_YTD, 1)),
    ("S_YTD", |txn, tables| change(txn, tables.stock, keys::stock(1, 9), stock::S_ORDER_CNT, 1)),
    ("S_YTD", |txn, tables| change(txn, tables.stock, keys::stock(1, 9), stock::S_REMOTE_CNT, 1)),
    ("S_QUANTITY", |txn, tables| set(txn, tables.stock, keys::stock(1, 9), stock::S_QUANTITY, 9)),
    ("C_DELIVERY_CNT", |txn, tables| {
        change(txn, tables.customer, keys::customer(1, 1, 4), customer::C_DELIVERY_CNT, 1);
    }),
    ("C_PAYMENT_CNT", |txn, tables| {
        change(txn, tables.customer, keys::customer(1, 1, 4), customer::C_PAYMENT_CNT, 1);
    }),
    ("warehouse, district", |txn, tables| {
        remove(txn, tables.customer, keys::customer(1, 1, 4));
    }),
    ("warehouse, district", |txn, tables| {
        set(txn, tables.item, keys::item(4), item::I_PRICE, 0);
    }),
    ("orders = loaded", |txn, tables| remove(txn, tables.orders, keys::order(1, 1, 30))),
    ("open orders", |txn, tables| remove(txn, tables.new_order, keys::order(1, 1, 22))),
    ("history = loaded", |txn, tables| remove(txn, tables.history, keys::history(7))),
    ("sum(C_DELIVERY_CNT)", |txn, tables| {
        change(txn, tables.customer, keys::customer(1, 1, 4), customer::C_DELIVERY_CNT, 1);
    }),
];

#[test]
fn every_check_notices_its_damage() {
    let tpcc = small(2);
    let totals = RunTotals::new(TYPE_COUNT);
    for (name, damage) in DAMAGES {
        let database = loaded(&tpcc);
        commit(&database, *damage);
        let failed = failures(&check(&tpcc, &database, &totals, true));
        assert!(failed.iter().any(|failed| failed.starts_with(name)), "{name}: only {failed:?}");
    }
}

#[test]
fn every_check_has_its_damage() {
    let tpcc = small(1);
    let results = check(&tpcc, &loaded(&tpcc), &RunTotals::new(TYPE_COUNT), true);
    for result in results {
        // "condition 1" must not match "condition 10".
        let is_named = |&&(name, _): &&(&str, Damage)| {
            result.name.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_numeric))
        };
        assert!(DAMAGES.iter().any(|damage| is_named(&damage)), "no damage for {}", result.name);
    }
}

/// A committed transaction that is missing in the database, and one that was not counted.
#[test]
fn lost_and_uncounted_transactions_are_noticed() {
    let tpcc = small(2);
    let database = loaded(&tpcc);
    let mut totals = run(&tpcc, &database, (0, 1), 100);
    assert_all_hold(&check(&tpcc, &database, &totals, false));
    let extra = run(&tpcc, &database, (0, 1), 100);
    let failed = failures(&check(&tpcc, &database, &totals, false));
    assert_eq!(failed.len(), 4, "{failed:?}");
    totals.merge(&extra);
    totals.merge(&extra);
    let failed = failures(&check(&tpcc, &database, &totals, false));
    assert_eq!(failed.len(), 4, "{failed:?}");
}

fn failures(results: &[CheckResult]) -> Vec<&'static str> {
    results.iter().filter(|result| !result.ok).map(|result| result.name).collect()
}

fn commit(database: &Database<LocalEnv>, damage: Damage) {
    let tables = Tables::find(database, small(2).config(), 0).expect("the tables are there");
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("no other transaction runs");
    damage(&mut txn, &tables);
    assert_eq!(run_now(txn.commit()), txn::Outcome::Committed);
}

fn find(txn: &mut Transaction<'_, LocalEnv>, table: TableId, key: layout::Key) -> RowId {
    run_now(txn.read(table, &key)).expect("no other transaction runs").expect("the row is there")
}

fn set(
    txn: &mut Transaction<'_, LocalEnv>,
    table: TableId,
    key: layout::Key,
    column: usize,
    value: i64,
) {
    let row = find(txn, table, key);
    txn.update(row).set_int(column, value);
}

fn change(
    txn: &mut Transaction<'_, LocalEnv>,
    table: TableId,
    key: layout::Key,
    column: usize,
    by: i64,
) {
    let row = find(txn, table, key);
    let value = txn.row(row).int(column) + by;
    txn.update(row).set_int(column, value);
}

fn remove(txn: &mut Transaction<'_, LocalEnv>, table: TableId, key: layout::Key) {
    let row = find(txn, table, key);
    txn.delete(row);
}

/// Adds an order line with valid references.
fn add(txn: &mut Transaction<'_, LocalEnv>, table: TableId, key: layout::Key) {
    let row = run_now(txn.insert(table, &key)).expect("the key is new");
    let mut line = txn.update(row);
    line.set_int(order_line::OL_I_ID, 1);
    line.set_int(order_line::OL_SUPPLY_W_ID, 1);
}

/// Adds the first line of the next order of district 1.
fn add_line_of_new_order(txn: &mut Transaction<'_, LocalEnv>, tables: &Tables) -> RowId {
    let key = keys::order_line(1, 1, Scale::SMALL.orders_per_district + 1, 1);
    add(txn, tables.order_line, key);
    find(txn, tables.order_line, key)
}
