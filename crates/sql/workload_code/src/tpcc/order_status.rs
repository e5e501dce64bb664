//! Procedure `order_status`, line 234 of `procedures.sql`.

use super::tables::{Tables, customer, order_line, orders};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, count, known, number, text};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `home_warehouse`, smallint.
    pub home_warehouse: i64,
    /// `home_district`, smallint.
    pub home_district: i64,
    /// `by_name`, boolean.
    pub by_name: bool,
    /// `customer_number`, integer.
    pub customer_number: Option<i64>,
    /// `customer_last`, character varying.
    pub customer_last: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [home_warehouse, home_district, by_name, customer_number, customer_last] = arguments
        else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            home_warehouse: home_warehouse.int2()?,
            home_district: home_district.int2()?,
            by_name: by_name.bool()?,
            customer_number: customer_number.or_null(|argument| argument.int4())?,
            customer_last: customer_last.or_null(|argument| argument.text())?,
        })
    }
}

/// Executes the procedure `order_status`.
pub async fn order_status<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let home_district = arguments.home_district;
    let by_name = arguments.by_name;
    let customer_number = arguments.customer_number;
    let customer_last = arguments.customer_last;
    let mut customer_id: Option<i64> = None;
    let mut first_name: Option<Text<16>> = None;
    let mut middle_name: Option<Text<2>> = None;
    let mut last_name: Option<Text<16>> = None;
    let mut balance: Option<i64> = None;
    let mut order_number: Option<i64> = None;
    let mut entry_date: Option<i64> = None;
    let mut carrier: Option<i64> = None;
    let mut item_number: Option<i64> = None;
    let mut supply_warehouse: Option<i64> = None;
    let mut quantity: Option<i64> = None;
    let mut line_amount: Option<i64> = None;
    let mut delivery_date: Option<i64> = None;
    let mut found = false;
    let mut name_count: i64;
    let mut newest: Option<i64> = None;
    if by_name {
        let mut counted = 0_i64;
        let mut customer_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.customer_by_customer_name,
                &KeyBuilder::new()
                    .int2(home_warehouse as i16)
                    .int2(home_district as i16)
                    .padded(text::fitting(known(customer_last)?, 16)?, 16)
                    .key(),
                &mut customer_rows,
            )
            .await?;
        for &customer_row in customer_rows.iter() {
            counted += 1;
        }
        name_count = counted;
        found = true;
        let mut customer_rows_2 = customer_rows;
        customer_rows_2.sort_by(|&a, &b| {
            let (left, right) = (call.txn.row(a), call.txn.row(b));
            Ord::cmp(left.bytes_in(customer::C_FIRST), right.bytes_in(customer::C_FIRST))
        });
        let customer_row_2 = customer_rows_2
            .iter()
            .skip(count(number::divide(number::subtract(name_count, 1)?, 2)?)?)
            .take(count(1)?)
            .next()
            .copied();
        call.scratch.give_rows(customer_rows_2);
        if let Some(customer_row_2) = customer_row_2 {
            let customer_2 = call.txn.row(customer_row_2);
            customer_id = Some(customer_2.int_in(customer::C_ID));
            text::set(&mut first_name, customer_2.bytes_in(customer::C_FIRST))?;
            text::set(&mut middle_name, customer_2.bytes_in(customer::C_MIDDLE))?;
            text::set(&mut last_name, customer_2.bytes_in(customer::C_LAST))?;
            balance = Some(customer_2.int_in(customer::C_BALANCE));
            found = true;
        } else {
            found = false;
            customer_id = None;
            first_name = None;
            middle_name = None;
            last_name = None;
            balance = None;
        }
    } else {
        if let Some(customer_row_3) = call
            .txn
            .read(
                tables.customer,
                &KeyBuilder::new()
                    .int2(home_warehouse as i16)
                    .int2(home_district as i16)
                    .int4(known(customer_number)? as i32)
                    .key(),
            )
            .await?
        {
            let customer_3 = call.txn.row(customer_row_3);
            customer_id = Some(customer_3.int_in(customer::C_ID));
            text::set(&mut first_name, customer_3.bytes_in(customer::C_FIRST))?;
            text::set(&mut middle_name, customer_3.bytes_in(customer::C_MIDDLE))?;
            text::set(&mut last_name, customer_3.bytes_in(customer::C_LAST))?;
            balance = Some(customer_3.int_in(customer::C_BALANCE));
            found = true;
        } else {
            found = false;
            customer_id = None;
            first_name = None;
            middle_name = None;
            last_name = None;
            balance = None;
        }
    }
    if !found {
        return Err(Stop::raised("P0001", "There is no such customer"));
    }
    let mut orders_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Index(tables.orders_by_order_customer),
        low: KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(known(customer_id)? as i32)
            .prefix_low(2),
        high: KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(known(customer_id)? as i32)
            .prefix_high(2),
        reverse: true,
        limit: count(1)?,
    };
    call.txn.scan(&range, &mut orders_rows).await?;
    let orders_row = orders_rows.iter().next().copied();
    call.scratch.give_rows(orders_rows);
    if let Some(orders_row) = orders_row {
        let orders = call.txn.row(orders_row);
        order_number = Some(orders.int_in(orders::O_ID));
        entry_date = Some(orders.int_in(orders::O_ENTRY_D));
        carrier =
            (!orders.is_null_in(orders::O_CARRIER_ID)).then(|| orders.int_in(orders::O_CARRIER_ID));
        found = true;
    } else {
        found = false;
        order_number = None;
        entry_date = None;
        carrier = None;
    }
    newest = order_number;
    call.results.row();
    call.results.int_or_null(customer_id);
    call.results.text_or_null(first_name.as_deref());
    call.results.text_or_null(middle_name.as_deref());
    call.results.text_or_null(last_name.as_deref());
    call.results.decimal_or_null(balance, 2);
    call.results.int_or_null(order_number);
    call.results.int_or_null(entry_date);
    call.results.int_or_null(carrier);
    call.results.nulls::<5>();
    if newest.is_some() {
        customer_id = None;
        first_name = None;
        middle_name = None;
        last_name = None;
        balance = None;
        order_number = None;
        entry_date = None;
        carrier = None;
        let mut has_begun = false;
        let mut order_line_rows = call.scratch.take_rows();
        let range = Scan {
            source: ScanSource::Table(tables.order_line),
            low: KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(home_district as i16)
                .int4(known(newest)? as i32)
                .prefix_low(2),
            high: KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(home_district as i16)
                .int4(known(newest)? as i32)
                .prefix_high(2),
            reverse: false,
            limit: usize::MAX,
        };
        call.txn.scan(&range, &mut order_line_rows).await?;
        for &order_line_row in order_line_rows.iter() {
            has_begun = true;
            let order_line = call.txn.row(order_line_row);
            item_number = Some(order_line.int_in(order_line::OL_I_ID));
            supply_warehouse = Some(order_line.int_in(order_line::OL_SUPPLY_W_ID));
            quantity = Some(order_line.int_in(order_line::OL_QUANTITY));
            line_amount = Some(order_line.int_in(order_line::OL_AMOUNT));
            delivery_date = (!order_line.is_null_in(order_line::OL_DELIVERY_D))
                .then(|| order_line.int_in(order_line::OL_DELIVERY_D));
            call.results.row();
            call.results.nulls::<8>();
            call.results.int_or_null(item_number);
            call.results.int_or_null(supply_warehouse);
            call.results.int_or_null(quantity);
            call.results.decimal_or_null(line_amount, 2);
            call.results.int_or_null(delivery_date);
        }
        call.scratch.give_rows(order_line_rows);
        if !has_begun {
            item_number = None;
            supply_warehouse = None;
            quantity = None;
            line_amount = None;
            delivery_date = None;
        }
        found = has_begun;
    }
    Ok(())
}
