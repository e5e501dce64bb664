//! Procedure `delivery`, line 310 of `procedures.sql`.

use super::tables::{Tables, customer, new_order, order_line, orders};
use fabric::Env;
use layout::KeyBuilder;
use runtime::{Argument, Call, Stop, count, number};
use txn::{Scan, ScanSource};

/// The arguments.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `home_warehouse`, smallint.
    pub home_warehouse: i64,
    /// `carrier`, smallint.
    pub carrier: i64,
    /// Nothing is borrowed.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call; others than expected deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [home_warehouse, carrier] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            home_warehouse: home_warehouse.int2()?,
            carrier: carrier.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Carries out `delivery`.
pub async fn delivery<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let carrier = arguments.carrier;
    let mut delivered_district: i64;
    let mut delivered_order: i64;
    let mut delivered_at: i64;
    let mut buyer: i64;
    let mut line_amount: i64;
    let mut order_amount: i64;
    delivered_at = call.now_us();
    for district_number in 1..=10 {
        delivered_district = number::int2(district_number)?;
        let mut new_order_rows = call.scratch.take_rows();
        let range = Scan {
            source: ScanSource::Table(tables.new_order),
            low: KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(delivered_district as i16)
                .prefix_low(1),
            high: KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(delivered_district as i16)
                .prefix_high(1),
            reverse: false,
            limit: count(1)?,
        };
        call.txn.scan(&range, &mut new_order_rows).await?;
        let new_order_row = new_order_rows.iter().next().copied();
        call.scratch.give_rows(new_order_rows);
        if let Some(new_order_row) = new_order_row {
            call.txn.update(new_order_row);
            let new_order = call.txn.row(new_order_row);
            delivered_order = new_order.int_in(new_order::NO_O_ID);
            if let Some(new_order_row_2) = call
                .txn
                .read(
                    tables.new_order,
                    &KeyBuilder::new()
                        .int2(home_warehouse as i16)
                        .int2(delivered_district as i16)
                        .int4(delivered_order as i32)
                        .key(),
                )
                .await?
            {
                call.txn.delete(new_order_row_2);
            }
            if let Some(orders_row) = call
                .txn
                .read(
                    tables.orders,
                    &KeyBuilder::new()
                        .int2(home_warehouse as i16)
                        .int2(delivered_district as i16)
                        .int4(delivered_order as i32)
                        .key(),
                )
                .await?
            {
                let mut new_orders = call.txn.update(orders_row);
                new_orders.set_int_in(orders::O_CARRIER_ID, carrier);
                let orders = call.txn.row(orders_row);
                buyer = orders.int_in(orders::O_C_ID);
            } else {
                return Err(Stop::Deviates);
            }
            order_amount = 0;
            let mut order_line_rows = call.scratch.take_rows();
            let range = Scan {
                source: ScanSource::Table(tables.order_line),
                low: KeyBuilder::new()
                    .int2(home_warehouse as i16)
                    .int2(delivered_district as i16)
                    .int4(delivered_order as i32)
                    .prefix_low(2),
                high: KeyBuilder::new()
                    .int2(home_warehouse as i16)
                    .int2(delivered_district as i16)
                    .int4(delivered_order as i32)
                    .prefix_high(2),
                reverse: false,
                limit: usize::MAX,
            };
            call.txn.scan(&range, &mut order_line_rows).await?;
            for &order_line_row in order_line_rows.iter() {
                let mut new_order_line = call.txn.update(order_line_row);
                new_order_line.set_int_in(order_line::OL_DELIVERY_D, delivered_at);
                let order_line = call.txn.row(order_line_row);
                line_amount = order_line.int_in(order_line::OL_AMOUNT);
                order_amount = number::digits(number::add(order_amount, line_amount)?, 12)?;
            }
            call.scratch.give_rows(order_line_rows);
            if let Some(customer_row) = call
                .txn
                .read(
                    tables.customer,
                    &KeyBuilder::new()
                        .int2(home_warehouse as i16)
                        .int2(delivered_district as i16)
                        .int4(buyer as i32)
                        .key(),
                )
                .await?
            {
                let customer = call.txn.row(customer_row);
                let c_balance = number::digits(
                    number::add(customer.int_in(customer::C_BALANCE), order_amount)?,
                    12,
                )?;
                let c_delivery_cnt =
                    number::int4(number::add(customer.int_in(customer::C_DELIVERY_CNT), 1)?)?;
                let mut new_customer = call.txn.update(customer_row);
                new_customer.set_int_in(customer::C_BALANCE, c_balance);
                new_customer.set_int_in(customer::C_DELIVERY_CNT, c_delivery_cnt);
            }
            call.results.row();
            call.results.int(delivered_district);
            call.results.int(delivered_order);
        } else {
        }
    }
    Ok(())
}
