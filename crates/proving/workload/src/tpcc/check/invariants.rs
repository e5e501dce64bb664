//! Further invariants of every consistent database, which the specification does not list.

use super::facts::{Facts, RowName};
use super::{differ, for_all};
use crate::driver::CheckResult;

pub fn check(facts: &Facts) -> Vec<CheckResult> {
    vec![
        orders_are_dense(facts),
        all_local_is_right(facts),
        line_amounts_are_right(facts),
        stock_matches_lines(facts),
        stock_quantity_is_in_range(facts),
        delivery_count_is_right(facts),
        payment_count_is_right(facts),
    ]
}

fn orders_are_dense(facts: &Facts) -> CheckResult {
    for_all("O_ID has no gaps", "districts", facts.districts(), |(place, district)| {
        differ(place, district.order_count(), district.next_order - 1)
    })
}

fn all_local_is_right(facts: &Facts) -> CheckResult {
    let name = "O_ALL_LOCAL = every line is supplied by the home warehouse";
    for_all(name, "orders", facts.orders().filter(|(_, order)| order.has_row), |(place, order)| {
        let is_all_local = order.lines.remote_count == 0;
        differ(place, i64::from(order.is_all_local), i64::from(is_all_local))
    })
}

fn line_amounts_are_right(facts: &Facts) -> CheckResult {
    let name = "OL_AMOUNT = I_PRICE * OL_QUANTITY, and OL_NUMBER is 1 to 15";
    for_all(name, "orders", facts.orders(), |(place, order)| {
        differ(place, 0, i64::from(order.lines.wrong_count))
    })
}

fn stock_matches_lines(facts: &Facts) -> CheckResult {
    let name = "S_YTD, S_ORDER_CNT, S_REMOTE_CNT match the order lines";
    let items = facts.config.scale.items as usize;
    for_all(name, "stock rows", facts.stocks.iter().enumerate(), |(index, stock)| {
        let numbers = [(index / items) as i64 + 1, (index % items) as i64 + 1, 0];
        let place = RowName("stock", numbers);
        differ(&place, i64::from(stock.year_to_date_excess), 0)
            .or(differ(&place, i64::from(stock.order_count_excess), 0))
            .or(differ(&place, i64::from(stock.remote_count_excess), 0))
    })
}

fn stock_quantity_is_in_range(facts: &Facts) -> CheckResult {
    let name = "S_QUANTITY is 10 to 100";
    let items = facts.config.scale.items as usize;
    for_all(name, "stock rows", facts.stocks.iter().enumerate(), |(index, stock)| {
        let numbers = [(index / items) as i64 + 1, (index % items) as i64 + 1, 0];
        stock.is_quantity_wrong.then(|| RowName("stock", numbers).to_string())
    })
}

fn delivery_count_is_right(facts: &Facts) -> CheckResult {
    let name = "C_DELIVERY_CNT = orders delivered since the load";
    for_all(name, "customers", facts.customers(), |(place, customer)| {
        differ(place, customer.delivery_count, customer.delivered_count)
    })
}

fn payment_count_is_right(facts: &Facts) -> CheckResult {
    let name = "C_PAYMENT_CNT = count(HISTORY)";
    for_all(name, "customers", facts.customers(), |(place, customer)| {
        differ(place, customer.payment_count, customer.history_count)
    })
}
