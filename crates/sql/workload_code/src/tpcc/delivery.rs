//! Procedure `delivery`, line 310 of `procedures.sql`.

use super::tables::{Tables, customer, new_order, order_line, orders};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `home_warehouse`, smallint.
    pub home_warehouse: i64,
    /// `carrier`, smallint.
    pub carrier: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [home_warehouse, carrier] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            home_warehouse: home_warehouse.int2()?,
            carrier: carrier.int2()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `delivery`.
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
    // No round looks at another's rows: they go side by side, from one reading to the next.
    let mut rounds = [None; 10];
    call.scratch.scans.clear();
    for district_number in 1..=10 {
        delivered_district = number::int2(district_number)?;
        rounds[call.scratch.scans.len()] = Some((delivered_district,));
        call.scratch.scans.push(Scan {
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
        });
    }

    let mut new_order_ranges = call.scratch.take_ranges();
    call.txn.scan_many(&call.scratch.scans, &mut new_order_ranges).await?;
    let mut rounds_2 = [None; 10];
    call.scratch.reads.clear();
    for (at, round) in rounds.into_iter().flatten().enumerate() {
        (delivered_district,) = round;
        let new_order_row = new_order_ranges[at].iter().next().copied();
        if let Some(new_order_row) = new_order_row {
            call.txn.update(new_order_row);
            let new_order = call.txn.row(new_order_row);
            delivered_order = new_order.int_in(new_order::NO_O_ID);
            rounds_2[call.scratch.reads.len()] = Some((delivered_district, delivered_order));
            call.scratch.reads.push((
                tables.new_order,
                KeyBuilder::new()
                    .int2(home_warehouse as i16)
                    .int2(delivered_district as i16)
                    .int4(delivered_order as i32)
                    .key(),
            ));
        } else {
        }
    }
    call.scratch.give_ranges(new_order_ranges);
    let mut new_order_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut new_order_found).await?;
    let mut rounds_3 = [None; 10];
    call.scratch.reads.clear();
    for (at_2, round_2) in rounds_2.into_iter().flatten().enumerate() {
        (delivered_district, delivered_order) = round_2;
        if let Some(new_order_row_2) = new_order_found[at_2] {
            call.txn.delete(new_order_row_2);
        }
        rounds_3[call.scratch.reads.len()] = Some((delivered_district, delivered_order));
        call.scratch.reads.push((
            tables.orders,
            KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(delivered_district as i16)
                .int4(delivered_order as i32)
                .key(),
        ));
    }
    call.scratch.give_found(new_order_found);
    let mut orders_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut orders_found).await?;
    let mut rounds_4 = [None; 10];
    call.scratch.scans.clear();
    for (at_3, round_3) in rounds_3.into_iter().flatten().enumerate() {
        (delivered_district, delivered_order) = round_3;
        let Some(orders_row) = orders_found[at_3] else {
            return Err(Stop::Deviates);
        };
        let mut new_orders = call.txn.update(orders_row);
        new_orders.set_int_in(orders::O_CARRIER_ID, carrier);
        let orders = call.txn.row(orders_row);
        buyer = orders.int_in(orders::O_C_ID);
        order_amount = 0;
        rounds_4[call.scratch.scans.len()] =
            Some((delivered_district, delivered_order, buyer, order_amount));
        call.scratch.scans.push(Scan {
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
        });
    }
    call.scratch.give_found(orders_found);
    let mut order_line_ranges = call.scratch.take_ranges();
    call.txn.scan_many(&call.scratch.scans, &mut order_line_ranges).await?;
    let mut rounds_5 = [None; 10];
    call.scratch.reads.clear();
    for (at_4, round_4) in rounds_4.into_iter().flatten().enumerate() {
        (delivered_district, delivered_order, buyer, order_amount) = round_4;
        for &order_line_row in order_line_ranges[at_4].iter() {
            let mut new_order_line = call.txn.update(order_line_row);
            new_order_line.set_int_in(order_line::OL_DELIVERY_D, delivered_at);
            let order_line = call.txn.row(order_line_row);
            line_amount = order_line.int_in(order_line::OL_AMOUNT);
            order_amount = number::digits(number::add(order_amount, line_amount)?, 12)?;
        }
        rounds_5[call.scratch.reads.len()] =
            Some((delivered_district, delivered_order, buyer, order_amount));
        call.scratch.reads.push((
            tables.customer,
            KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(delivered_district as i16)
                .int4(buyer as i32)
                .key(),
        ));
    }
    call.scratch.give_ranges(order_line_ranges);
    let mut customer_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut customer_found).await?;
    for (at_5, round_5) in rounds_5.into_iter().flatten().enumerate() {
        (delivered_district, delivered_order, buyer, order_amount) = round_5;
        if let Some(customer_row) = customer_found[at_5] {
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
    }
    call.scratch.give_found(customer_found);
    Ok(())
}
