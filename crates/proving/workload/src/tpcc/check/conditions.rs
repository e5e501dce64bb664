//! The twelve consistency conditions [TPC-C 3.3.2.1 to 3.3.2.12], in the specification's order.

use super::facts::{Facts, RowName};
use super::{differ, for_all};
use crate::driver::CheckResult;

/// All conditions; the eleventh holds only right after the load.
pub fn check(facts: &Facts, after_load: bool) -> Vec<CheckResult> {
    let mut results = vec![
        condition_1(facts),
        condition_2(facts),
        condition_3(facts),
        condition_4(facts),
        condition_5(facts),
        condition_6(facts),
        condition_7(facts),
        condition_8(facts),
        condition_9(facts),
        condition_10(facts),
        condition_12(facts),
    ];
    if after_load {
        results.insert(10, condition_11(facts));
    }
    results
}

fn condition_1(facts: &Facts) -> CheckResult {
    let districts = facts.config.scale.districts as usize;
    let warehouses = facts.warehouses.iter().zip(facts.districts.chunks(districts)).enumerate();
    for_all(
        "condition 1: W_YTD = sum(D_YTD)",
        "warehouses",
        warehouses,
        |(index, (warehouse, own))| {
            let sum = own.iter().map(|district| district.year_to_date).sum();
            differ(&RowName("warehouse", [*index as i64 + 1, 0, 0]), warehouse.year_to_date, sum)
        },
    )
}

fn condition_2(facts: &Facts) -> CheckResult {
    let name = "condition 2: D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)";
    for_all(name, "districts", facts.districts(), |(place, district)| {
        let latest = district.next_order - 1;
        // A district whose orders are all delivered has no NO_O_ID.
        let new_order_max = district.new_order_max().unwrap_or(latest);
        differ(place, latest, district.order_max()).or(differ(place, latest, new_order_max))
    })
}

fn condition_3(facts: &Facts) -> CheckResult {
    let name = "condition 3: max(NO_O_ID) - min(NO_O_ID) + 1 = count(NEW-ORDER)";
    for_all(name, "districts", facts.districts(), |(place, district)| {
        let (low, high) = (district.new_order_min()?, district.new_order_max()?);
        differ(place, high - low + 1, district.new_order_count())
    })
}

fn condition_4(facts: &Facts) -> CheckResult {
    let name = "condition 4: sum(O_OL_CNT) = count(ORDER-LINE)";
    for_all(name, "districts", facts.districts(), |(place, district)| {
        let said = district.orders.iter().map(|order| i64::from(order.line_count)).sum();
        let found = district.orders.iter().map(|order| i64::from(order.lines.count)).sum();
        differ(place, said, found)
    })
}

fn condition_5(facts: &Facts) -> CheckResult {
    let name = "condition 5: O_CARRIER_ID is null where and only where NEW-ORDER has a row";
    for_all(name, "orders", facts.orders(), |(place, order)| {
        let is_open = order.has_row && !order.is_delivered;
        differ(place, i64::from(is_open), i64::from(order.has_new_order))
    })
}

fn condition_6(facts: &Facts) -> CheckResult {
    let name = "condition 6: O_OL_CNT = count(ORDER-LINE) of the order";
    for_all(name, "orders", facts.orders(), |(place, order)| {
        differ(place, i64::from(order.line_count), i64::from(order.lines.count))
    })
}

fn condition_7(facts: &Facts) -> CheckResult {
    let name = "condition 7: OL_DELIVERY_D is null where and only where O_CARRIER_ID is";
    for_all(name, "orders", facts.orders(), |(place, order)| {
        let expected = if order.is_delivered { order.lines.count } else { 0 };
        differ(place, i64::from(expected), i64::from(order.lines.delivered_count))
    })
}

fn condition_8(facts: &Facts) -> CheckResult {
    let warehouses = facts.warehouses.iter().enumerate();
    for_all("condition 8: W_YTD = sum(H_AMOUNT)", "warehouses", warehouses, |(index, warehouse)| {
        let place = RowName("warehouse", [*index as i64 + 1, 0, 0]);
        differ(&place, warehouse.year_to_date, warehouse.history_amount)
    })
}

fn condition_9(facts: &Facts) -> CheckResult {
    let name = "condition 9: D_YTD = sum(H_AMOUNT)";
    for_all(name, "districts", facts.districts(), |(place, district)| {
        differ(place, district.year_to_date, district.history_amount)
    })
}

fn condition_10(facts: &Facts) -> CheckResult {
    let name = "condition 10: C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT)";
    for_all(name, "customers", facts.customers(), |(place, customer)| {
        differ(place, customer.balance, customer.delivered_amount - customer.history_amount)
    })
}

fn condition_11(facts: &Facts) -> CheckResult {
    let delivered = i64::from(facts.config.scale.delivered_order_max());
    let name = "condition 11: count(ORDER) - count(NEW-ORDER) = 2100 after the load";
    for_all(name, "districts", facts.districts(), |(place, district)| {
        differ(place, district.order_count() - district.new_order_count(), delivered)
    })
}

fn condition_12(facts: &Facts) -> CheckResult {
    let name = "condition 12: C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT)";
    for_all(name, "customers", facts.customers(), |(place, customer)| {
        differ(place, customer.balance + customer.payments, customer.delivered_amount)
    })
}
