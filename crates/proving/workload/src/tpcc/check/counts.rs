//! Checks that every row of the load and every committed transaction exists, and no other.

use super::facts::Facts;
use crate::driver::{CheckResult, KindTotals, RunTotals};
use crate::tpcc::deck::TransactionType;
use crate::tpcc::tables::loaded_rows;

pub fn check(facts: &Facts, totals: &RunTotals) -> Vec<CheckResult> {
    let new_orders = totals.kind(TransactionType::NewOrder as usize);
    let payments = totals.kind(TransactionType::Payment as usize);
    let deliveries = totals.kind(TransactionType::Delivery as usize);
    let districts = i64::from(facts.config.scale.districts);
    let delivered = deliveries.committed as i64 * districts - deliveries.skipped as i64;
    let maybe_delivered = deliveries.unknown as i64 * districts;
    let loaded = |table| loaded_rows(table, &facts.config) as i64;
    let orders = Expected::new(loaded("orders"), &new_orders);
    let new_orders = Expected::new(loaded("new_order"), &new_orders);
    let open = Expected {
        low: new_orders.low - delivered - maybe_delivered,
        high: new_orders.high - delivered,
    };
    let delivered = Expected { low: delivered, high: delivered + maybe_delivered };

    let sum = |of: fn(&super::facts::DistrictFacts) -> i64| facts.districts.iter().map(of).sum();
    let delivery_counts = facts.customers.iter().map(|customer| customer.delivery_count).sum();
    vec![
        static_rows(facts),
        orders.compare("orders = loaded + new-orders", sum(|district| district.order_count())),
        open.compare(
            "open orders = loaded + new-orders - delivered",
            sum(|district| district.new_order_count()),
        ),
        Expected::new(loaded("history"), &payments)
            .compare("history = loaded + payments", facts.history_count as i64),
        delivered.compare("sum(C_DELIVERY_CNT) = delivered", delivery_counts),
    ]
}

/// No row refers to a warehouse, district, customer, item or order that cannot exist.
pub fn no_strays(facts: &Facts) -> CheckResult {
    let name = "every row's numbers are in range";
    match &facts.first_stray {
        None => {
            CheckResult::holds(name, format!("{} order lines among them", facts.order_line_count))
        }
        Some(first) => {
            CheckResult::fails(name, format!("{} are not; the first: {first}", facts.stray_count))
        }
    }
}

/// Tables without inserts or deletes by transactions have each of their rows once.
fn static_rows(facts: &Facts) -> CheckResult {
    let name = "warehouse, district, customer, item and stock have each row once";
    let missing = [
        facts.warehouses.iter().filter(|warehouse| warehouse.row_count != 1).count(),
        facts.districts.iter().filter(|district| district.row_count != 1).count(),
        facts.customers.iter().filter(|customer| customer.row_count != 1).count(),
        facts.prices.iter().filter(|&&price| price == 0).count(),
        facts.stocks.iter().filter(|stock| stock.row_count != 1).count(),
    ];
    let rows = facts.warehouses.len()
        + facts.districts.len()
        + facts.customers.len()
        + facts.prices.len()
        + facts.stocks.len();
    match missing {
        [0, 0, 0, 0, 0] => CheckResult::holds(name, format!("{rows} rows")),
        _ => CheckResult::fails(name, format!("missing or doubled, in this order: {missing:?}")),
    }
}

/// An expected count, as exactly as it is known: transactions of unknown outcome widen its range.
struct Expected {
    low: i64,
    high: i64,
}

impl Expected {
    fn new(loaded: i64, totals: &KindTotals) -> Self {
        let low = loaded + totals.committed as i64;
        Self { low, high: low + totals.unknown as i64 }
    }

    fn compare(&self, name: &'static str, found: i64) -> CheckResult {
        match (self.low..=self.high).contains(&found) {
            true => CheckResult::holds(name, found.to_string()),
            false if self.low == self.high => {
                CheckResult::fails(name, format!("{found}, not {}", self.low))
            }
            false => {
                CheckResult::fails(name, format!("{found}, not {} to {}", self.low, self.high))
            }
        }
    }
}
