//! Reads every row of every table and adds it to the facts.

use super::facts::Facts;
use crate::error::WorkloadError;
use crate::tpcc::schema::{
    customer, district, history, item, new_order, order_line, orders, stock, warehouse,
};
use crate::tpcc::tables::{Partitions, Tables};
use fabric::Env;
use layout::RecordRef;
use txn::Transaction;

/// Stock never leaves this range: it starts inside, and is refilled before it would fall below.
const QUANTITY_RANGE: std::ops::RangeInclusive<i64> = 10..=100;

pub async fn gather<E: Env>(
    txn: &mut Transaction<'_, E>,
    partitions: &Partitions,
    facts: &mut Facts,
) -> Result<(), WorkloadError> {
    for tables in partitions.iter() {
        gather_partition(txn, tables, facts).await?;
    }
    add_deliveries(facts);
    Ok(())
}

/// Districts are read before orders, and items before order lines, because the later ones are
/// compared with the earlier ones while reading.
async fn gather_partition<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &Tables,
    facts: &mut Facts,
) -> Result<(), WorkloadError> {
    txn.for_each(tables.warehouse, &mut |row| add_warehouse(facts, row)).await?;
    txn.for_each(tables.district, &mut |row| add_district(facts, row)).await?;
    txn.for_each(tables.customer, &mut |row| add_customer(facts, row)).await?;
    txn.for_each(tables.item, &mut |row| add_item(facts, row)).await?;
    txn.for_each(tables.stock, &mut |row| add_stock(facts, row)).await?;
    txn.for_each(tables.orders, &mut |row| add_order(facts, row)).await?;
    txn.for_each(tables.new_order, &mut |row| add_new_order(facts, row)).await?;
    txn.for_each(tables.order_line, &mut |row| add_order_line(facts, row)).await?;
    txn.for_each(tables.history, &mut |row| add_history(facts, row)).await?;
    Ok(())
}

fn add_warehouse(facts: &mut Facts, row: RecordRef<'_>) {
    let w = row.int(warehouse::W_ID);
    let Some(index) = facts.warehouse_index(w) else {
        return facts.stray("warehouse", [w, 0, 0]);
    };
    facts.warehouses[index].row_count += 1;
    facts.warehouses[index].year_to_date = row.int(warehouse::W_YTD);
}

fn add_district(facts: &mut Facts, row: RecordRef<'_>) {
    let (w, d) = (row.int(district::D_W_ID), row.int(district::D_ID));
    let Some(index) = facts.district_index(w, d) else {
        return facts.stray("district", [w, d, 0]);
    };
    let district = &mut facts.districts[index];
    district.row_count += 1;
    district.year_to_date = row.int(district::D_YTD);
    district.next_order = row.int(district::D_NEXT_O_ID);
}

fn add_customer(facts: &mut Facts, row: RecordRef<'_>) {
    let numbers =
        [customer::C_W_ID, customer::C_D_ID, customer::C_ID].map(|column| row.int(column));
    let Some(index) = facts.customer_index(numbers[0], numbers[1], numbers[2]) else {
        return facts.stray("customer", numbers);
    };
    let customer = &mut facts.customers[index];
    customer.row_count += 1;
    customer.balance = row.int(customer::C_BALANCE);
    customer.payments = row.int(customer::C_YTD_PAYMENT);
    customer.payment_count = row.int(customer::C_PAYMENT_CNT);
    customer.delivery_count = row.int(customer::C_DELIVERY_CNT);
}

fn add_item(facts: &mut Facts, row: RecordRef<'_>) {
    let i = row.int(item::I_ID);
    match facts.item_index(i) {
        Some(index) => facts.prices[index] = row.int(item::I_PRICE),
        None => facts.stray("item", [i, 0, 0]),
    }
}

fn add_stock(facts: &mut Facts, row: RecordRef<'_>) {
    let (w, i) = (row.int(stock::S_W_ID), row.int(stock::S_I_ID));
    let Some(index) = facts.stock_index(w, i) else {
        return facts.stray("stock", [w, i, 0]);
    };
    let stock = &mut facts.stocks[index];
    stock.row_count += 1;
    stock.is_quantity_wrong = !QUANTITY_RANGE.contains(&row.int(stock::S_QUANTITY));
    stock.year_to_date_excess += row.int(stock::S_YTD) as i32;
    stock.order_count_excess += row.int(stock::S_ORDER_CNT) as i32;
    stock.remote_count_excess += row.int(stock::S_REMOTE_CNT) as i32;
}

fn add_order(facts: &mut Facts, row: RecordRef<'_>) {
    let numbers = [orders::O_W_ID, orders::O_D_ID, orders::O_ID].map(|column| row.int(column));
    let customer = row.int(orders::O_C_ID);
    let is_known = facts.customer_index(numbers[0], numbers[1], customer).is_some();
    let order = facts.order(numbers[0], numbers[1], numbers[2]).filter(|_| is_known);
    let Some(order) = order else {
        return facts.stray("orders", numbers);
    };
    order.has_row = true;
    order.is_delivered = !row.is_null(orders::O_CARRIER_ID);
    order.is_all_local = row.int(orders::O_ALL_LOCAL) == 1;
    order.customer = customer as i32;
    order.line_count = row.int(orders::O_OL_CNT) as i16;
}

fn add_new_order(facts: &mut Facts, row: RecordRef<'_>) {
    let columns = [new_order::NO_W_ID, new_order::NO_D_ID, new_order::NO_O_ID];
    let numbers = columns.map(|column| row.int(column));
    match facts.order(numbers[0], numbers[1], numbers[2]) {
        Some(order) => order.has_new_order = true,
        None => facts.stray("new_order", numbers),
    }
}

fn add_order_line(facts: &mut Facts, row: RecordRef<'_>) {
    let columns = [order_line::OL_W_ID, order_line::OL_D_ID, order_line::OL_O_ID];
    let numbers @ [w, d, o] = columns.map(|column| row.int(column));
    let (supply_w, i) = (row.int(order_line::OL_SUPPLY_W_ID), row.int(order_line::OL_I_ID));
    let (quantity, amount) = (row.int(order_line::OL_QUANTITY), row.int(order_line::OL_AMOUNT));
    let is_remote = supply_w != w;
    let is_loaded = o <= i64::from(facts.config.scale.orders_per_district);
    facts.order_line_count += 1;
    let (Some(stock), Some(item)) = (facts.stock_index(supply_w, i), facts.item_index(i)) else {
        return facts.stray("order_line", numbers);
    };
    // Lines of the load have amounts of their own and did not change the stock.
    let is_amount_wrong = !is_loaded && amount != facts.prices[item] * quantity;
    let Some(order) = facts.order(w, d, o) else {
        return facts.stray("order_line", numbers);
    };
    let lines = &mut order.lines;
    let is_number_wrong = !(1..=15).contains(&row.int(order_line::OL_NUMBER));
    lines.count += 1;
    lines.remote_count += i16::from(is_remote);
    lines.wrong_count += i16::from(is_amount_wrong || is_number_wrong);
    if !row.is_null(order_line::OL_DELIVERY_D) {
        lines.delivered_count += 1;
        lines.delivered_amount += amount;
    }
    if !is_loaded {
        let stock = &mut facts.stocks[stock];
        stock.year_to_date_excess -= quantity as i32;
        stock.order_count_excess -= 1;
        stock.remote_count_excess -= i32::from(is_remote);
    }
}

fn add_history(facts: &mut Facts, row: RecordRef<'_>) {
    let columns = [history::H_C_W_ID, history::H_C_D_ID, history::H_C_ID];
    let numbers = columns.map(|column| row.int(column));
    let (w, d) = (row.int(history::H_W_ID), row.int(history::H_D_ID));
    let amount = row.int(history::H_AMOUNT);
    facts.history_count += 1;
    let customer = facts.customer_index(numbers[0], numbers[1], numbers[2]);
    let (Some(customer), Some(district)) = (customer, facts.district_index(w, d)) else {
        return facts.stray("history", numbers);
    };
    let warehouse = district / facts.config.scale.districts as usize;
    facts.customers[customer].history_amount += amount;
    facts.customers[customer].history_count += 1;
    facts.districts[district].history_amount += amount;
    facts.warehouses[warehouse].history_amount += amount;
}

/// Adds each order's delivered lines to its customer. Orders delivered before the load are not in
/// C_DELIVERY_CNT, and their amounts are zero.
fn add_deliveries(facts: &mut Facts) {
    let first_open = facts.config.scale.delivered_order_max() as usize;
    let customers_per_district = facts.config.scale.customers_per_district as usize;
    for (position, district) in facts.districts.iter().enumerate() {
        for (index, order) in district.orders.iter().enumerate().filter(|(_, order)| order.has_row)
        {
            let customer = position * customers_per_district + order.customer as usize - 1;
            let customer = &mut facts.customers[customer];
            customer.delivered_amount += order.lines.delivered_amount;
            customer.delivered_count += i64::from(order.is_delivered && index >= first_open);
        }
    }
}
