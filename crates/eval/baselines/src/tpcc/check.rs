//! Consistency conditions between transactions [TPC-C 3.3.2].

use super::delivery::lines;
use super::keys;
use super::row::{district, get, history, order, stock, warehouse};
use crate::row_key::RowKey;
use crate::trad_si::Range;
use workload::tpcc::Config;

/// Finds the rows of a range, with their numbers.
pub type Find<'a> = &'a dyn Fn(Range) -> Vec<(u64, Vec<u8>)>;

/// All rows from `first` up to `end`, exclusively.
fn all(first: RowKey, end: RowKey) -> Range {
    Range { first, last: end.number - 1, limit: u32::MAX, is_reverse: false }
}

fn only(rows: Find<'_>, key: RowKey) -> Vec<u8> {
    let range = Range { first: key, last: key.number, limit: 1, is_reverse: false };
    rows(range).pop().expect("it was loaded").1
}

/// The violated conditions; empty if none. Also returns how many orders were placed after the load.
pub fn check(config: &Config, rows: Find<'_>) -> (Vec<String>, u64) {
    let (mut problems, mut placed) = (Vec::new(), 0);
    let (mut lines_placed, mut lines_taken) = (0, 0);
    for w in 1..=config.warehouses {
        let warehouse_row = only(rows, keys::warehouse(w));
        let mut ytd = 0;
        for d in 1..=config.scale.districts as u32 {
            let district_row = only(rows, keys::district(w, d));
            ytd += get(&district_row, district::YTD);
            let next = get(&district_row, district::NEXT_ORDER) as u32;
            placed += u64::from(next) - config.scale.orders_per_district as u64 - 1;
            problems.extend(check_orders((w, d), next, rows));
            let first = config.scale.orders_per_district as u32 + 1;
            lines_placed += rows(lines(w, d, first, next)).len() as i64;
        }
        let stocks = rows(all(keys::stock(w, 0), keys::stock(w, config.scale.items as u32 + 1)));
        lines_taken += stocks.iter().map(|(_, row)| get(row, stock::ORDER_COUNT)).sum::<i64>();
        let paid = all(keys::history(w, 0), keys::history(w, u64::MAX));
        let paid: i64 = rows(paid).iter().map(|(_, row)| get(row, history::AMOUNT)).sum();
        let loaded = 3_000_000 * i64::from(config.scale.districts);
        let is_sum = [ytd, loaded + paid] == [get(&warehouse_row, warehouse::YTD); 2];
        if !is_sum {
            problems.push(format!("warehouse {w}: W_YTD is not sum(D_YTD), or not sum(H_AMOUNT)"));
        }
    }
    if lines_taken != lines_placed {
        problems.push(format!("{lines_placed} lines were ordered, and {lines_taken} supplied"));
    }
    (problems, placed)
}

fn check_orders((w, d): (u32, u32), next: u32, rows: Find<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut ensure = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("district {d} of warehouse {w}: {what}"));
        }
    };
    let orders = rows(all(keys::order(w, d, 0), keys::order(w, d + 1, 0)));
    let numbers: Vec<u32> = orders.iter().map(|order| keys::order_number(order.0)).collect();
    ensure(numbers.iter().copied().eq(1..next), "its orders are not numbered one after another");
    let open = rows(all(keys::new_order(w, d, 0), keys::new_order(w, d + 1, 0)));
    let open: Vec<u32> = open.iter().map(|order| keys::order_number(order.0)).collect();
    let oldest = next - open.len() as u32;
    ensure(open.iter().copied().eq(oldest..next), "its open orders are not its newest");
    let mut line_count = 0;
    for (number, row) in &orders {
        let o = keys::order_number(*number);
        line_count += get(row, order::LINES);
        let is_delivered = get(row, order::CARRIER) > 0;
        ensure(is_delivered == (o < oldest), "an order is delivered and open, or neither");
    }
    let found = rows(lines(w, d, 1, next)).len() as i64;
    ensure(found == line_count, "the number of its order lines is not sum(O_OL_CNT)");
    problems
}
