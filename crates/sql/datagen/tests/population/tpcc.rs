//! TPC-C's tables directly after the load: clause 4.3.3, and the consistency conditions of clause
//! 3.3.2.

use crate::{assert_even, assert_share, columns, int, population, rows, text};
use datagen::Population;
use sql_value::Value;
use std::collections::{BTreeMap, BTreeSet};

const WAREHOUSES: u64 = 2;

/// The warehouse and number of a district.
type District = (i64, i64);

#[derive(Default, Debug)]
struct Order {
    customer: i64,
    carrier: Option<i64>,
    line_count: i64,
    lines: Vec<i64>,
    amount: i64,
    /// Number of delivered lines.
    delivered: usize,
    is_new: bool,
}

fn orders(population: &Population) -> BTreeMap<(District, i64), Order> {
    let mut orders = BTreeMap::new();
    let names = ["o_w_id", "o_d_id", "o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"];
    let [w, d, o, c, carrier, count] = columns(population, "orders", names);
    for row in rows(population, "orders") {
        let order = Order {
            customer: int(&row[c]),
            carrier: (!row[carrier].is_null()).then(|| int(&row[carrier])),
            line_count: int(&row[count]),
            ..Order::default()
        };
        let key = ((int(&row[w]), int(&row[d])), int(&row[o]));
        assert!(orders.insert(key, order).is_none(), "{key:?} is there twice");
    }
    let [w, d, o] = columns(population, "new_order", ["no_w_id", "no_d_id", "no_o_id"]);
    for row in rows(population, "new_order") {
        let key = ((int(&row[w]), int(&row[d])), int(&row[o]));
        let order = orders.get_mut(&key).expect("a new order is an order");
        assert!(!std::mem::replace(&mut order.is_new, true));
    }
    let names = ["ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_amount", "ol_delivery_d"];
    let [w, d, o, number, amount, date] = columns(population, "order_line", names);
    for row in rows(population, "order_line") {
        let key = ((int(&row[w]), int(&row[d])), int(&row[o]));
        let order = orders.get_mut(&key).expect("a line is of an order");
        order.lines.push(int(&row[number]));
        order.amount += int(&row[amount]);
        order.delivered += usize::from(!row[date].is_null());
        let open = row[date].is_null();
        let amount = int(&row[amount]);
        assert!(if open { (1..=999_999).contains(&amount) } else { amount == 0 });
    }
    orders
}

/// Payments and balances of customers equal those of the history and the orders.
fn check_money(population: &Population, orders: &BTreeMap<(District, i64), Order>) {
    let mut paid = BTreeMap::<(District, i64), i64>::new();
    let mut by_district = BTreeMap::<District, i64>::new();
    let names = ["h_id", "h_c_w_id", "h_c_d_id", "h_c_id", "h_w_id", "h_d_id", "h_amount"];
    let [h, cw, cd, c, w, d, amount] = columns(population, "history", names);
    let mut keys = BTreeSet::new();
    for row in rows(population, "history") {
        assert!(keys.insert(int(&row[h])));
        *paid.entry(((int(&row[cw]), int(&row[cd])), int(&row[c]))).or_default() +=
            int(&row[amount]);
        *by_district.entry((int(&row[w]), int(&row[d]))).or_default() += int(&row[amount]);
    }
    // Condition 9: a district's year-to-date sum is the sum of its history.
    let mut by_warehouse = BTreeMap::<i64, i64>::new();
    let [w, d, ytd, next] =
        columns(population, "district", ["d_w_id", "d_id", "d_ytd", "d_next_o_id"]);
    for row in rows(population, "district") {
        let district = (int(&row[w]), int(&row[d]));
        assert_eq!(by_district.get(&district), Some(&int(&row[ytd])));
        *by_warehouse.entry(district.0).or_default() += int(&row[ytd]);
        // Conditions 2 and 3: the next order number follows the last order, and new orders have no
        // gaps.
        let of_district = orders.range((district, 0)..=(district, i64::MAX));
        let last = of_district.clone().next_back().map(|((_, o), _)| *o);
        assert_eq!(last, Some(int(&row[next]) - 1));
        let new: Vec<i64> =
            of_district.clone().filter(|(_, order)| order.is_new).map(|((_, o), _)| *o).collect();
        assert_eq!(new, (2101..=3000).collect::<Vec<i64>>());
        // Condition 11, directly after the load.
        assert_eq!(of_district.count() - new.len(), 2100);
    }
    // Conditions 1 and 8: a warehouse's year-to-date sum is that of its districts and of its
    // history.
    let [w, ytd] = columns(population, "warehouse", ["w_id", "w_ytd"]);
    for row in rows(population, "warehouse") {
        assert_eq!(by_warehouse.get(&int(&row[w])), Some(&int(&row[ytd])));
    }
    // Conditions 10 and 12: balances.
    let mut delivered = BTreeMap::<(District, i64), i64>::new();
    for ((district, _), order) in orders.iter().filter(|(_, order)| order.carrier.is_some()) {
        *delivered.entry((*district, order.customer)).or_default() += order.amount;
    }
    let names = ["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment"];
    let [w, d, c, balance, payment] = columns(population, "customer", names);
    for row in rows(population, "customer") {
        let key = ((int(&row[w]), int(&row[d])), int(&row[c]));
        let received = delivered.get(&key).copied().unwrap_or(0);
        assert_eq!(int(&row[balance]), received - paid[&key]);
        assert_eq!(int(&row[balance]) + int(&row[payment]), received);
    }
}

#[test]
fn consistency_conditions_hold_after_the_load() {
    let population = population("tpcc", WAREHOUSES, 31);
    let orders = orders(&population);
    assert_eq!(orders.len(), 30_000 * WAREHOUSES as usize);
    for (key, order) in &orders {
        // Conditions 4 and 6: an order has the stated number of lines, numbered from 1.
        assert_eq!(order.lines, (1..=order.line_count).collect::<Vec<i64>>(), "{key:?}");
        // Condition 5: a new order has no carrier. Condition 7: lines are delivered with their
        // order.
        assert_eq!(order.carrier.is_none(), order.is_new, "{key:?}");
        let delivered = if order.is_new { 0 } else { order.lines.len() };
        assert_eq!(order.delivered, delivered, "{key:?}");
        assert_eq!(order.is_new, key.1 > 2100, "{key:?}");
        assert!(order.carrier.is_none_or(|carrier| (1..=10).contains(&carrier)));
    }
    check_money(&population, &orders);
}

#[test]
fn orders_have_five_to_fifteen_lines_and_every_customer_one_order() {
    let population = population("tpcc", WAREHOUSES, 37);
    let orders = orders(&population);
    let with = |count| orders.values().filter(|order| order.line_count == count).count();
    assert_even((5..=15).map(with));
    let mut first = Vec::new();
    for district in (1..=2).flat_map(|w| (1..=10).map(move |d| (w, d))) {
        let of_district = orders.range((district, 0)..=(district, i64::MAX));
        let customers: Vec<i64> = of_district.map(|(_, order)| order.customer).collect();
        let sorted: BTreeSet<i64> = customers.iter().copied().collect();
        assert!(sorted.into_iter().eq(1..=3000));
        first.push(customers);
    }
    first.dedup();
    assert_eq!(first.len(), 20, "no two districts have their customers in the same order");
}

/// The first thousand customers of a district have all names; the others follow NURand's skew.
#[test]
fn customers_are_called_as_specified() {
    let population = population("tpcc", 1, 41);
    let [c, last, credit] = columns(&population, "customer", ["c_id", "c_last", "c_credit"]);
    let rows = rows(&population, "customer");
    let mut of_first = BTreeSet::new();
    let mut of_others = BTreeMap::<&str, usize>::new();
    for row in &rows {
        match int(&row[c]) {
            ..=1000 => assert!(of_first.insert((int(&row[1]), text(&row[last])))),
            _ => *of_others.entry(text(&row[last])).or_default() += 1,
        }
    }
    assert_eq!(of_first.len(), 10_000);
    // With a = 255, the numbers with all eight lower bits set are (3/2)^8 times as frequent as 1 in
    // 1000; one of them gives the name number (255 + 123) mod 1000 = 378.
    let hottest = "PRICALLYATION";
    assert_share(of_others[hottest], 20_000, 25.6 / 1000.0);
    let bad = rows.iter().filter(|row| text(&row[credit]) == "BC").count();
    assert_share(bad, rows.len(), 0.1);
}

#[test]
fn texts_are_as_specified() {
    let population = population("tpcc", 1, 43);
    let [zip] = columns(&population, "warehouse", ["w_zip"]);
    assert!(rows(&population, "warehouse").iter().all(|row| {
        let zip = text(&row[zip]);
        zip.len() == 9 && zip.ends_with("11111") && zip.bytes().all(|byte| byte.is_ascii_digit())
    }));
    let [data] = columns(&population, "item", ["i_data"]);
    let rows = rows(&population, "item");
    let texts: Vec<&str> = rows.iter().map(|row| text(&row[data])).collect();
    assert!(texts.iter().all(|text| (26..=50).contains(&text.len())));
    let places: Vec<usize> = texts.iter().filter_map(|text| text.find("ORIGINAL")).collect();
    assert_share(places.len(), texts.len(), 0.1);
    assert!(places.contains(&0) && places.contains(&42));
}

#[test]
fn dates_and_amounts_have_their_types() {
    let population = population("tpcc", 1, 47);
    let [entry] = columns(&population, "orders", ["o_entry_d"]);
    let first = rows(&population, "orders").swap_remove(0);
    assert_eq!(first[entry], Value::Timestamp(0));
    let [discount] = columns(&population, "customer", ["c_discount"]);
    let first = population.rows(2, 0, 1).next().expect("there are customers");
    let Value::Numeric(number) = &first[discount] else { panic!("it is a decimal") };
    let units = number.units;
    assert!(number.scale == 4 && (0..=5000).contains(&units));
}

/// The ranges of columns, by which keys are placed.
#[test]
fn ranges_of_columns_are_known_where_they_are_integers() {
    let population = population("tpcc", 2, 1);
    let range = |table: &str, column: &str| {
        let [column] = columns(&population, table, [column]);
        population.column_range(crate::number(&population, table), column)
    };
    assert_eq!(range("stock", "s_w_id"), Some((1, 2)));
    assert_eq!(range("item", "i_id"), Some((1, 100_000)));
    assert_eq!(range("order_line", "ol_w_id"), Some((1, 2)), "as its order's");
    assert_eq!(range("order_line", "ol_supply_w_id"), Some((1, 2)), "as its own other column");
    assert_eq!(range("customer", "c_payment_cnt"), Some((1, 1)));
    assert_eq!(range("orders", "o_carrier_id"), None, "cases beyond those listed are null");
    assert_eq!(range("item", "i_price"), None, "it has digits behind the point");
    assert_eq!(range("customer", "c_last"), None);
}
