//! Procedure `payment`, line 132 of `procedures.sql`.

use super::tables::{Tables, customer, district, history, warehouse};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, count, duplicate, known, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `history_number`, bigint.
    pub history_number: i64,
    /// `paid_warehouse`, smallint.
    pub paid_warehouse: i64,
    /// `paid_district`, smallint.
    pub paid_district: i64,
    /// `customer_warehouse`, smallint.
    pub customer_warehouse: i64,
    /// `customer_district`, smallint.
    pub customer_district: i64,
    /// `by_name`, boolean.
    pub by_name: bool,
    /// `customer_number`, integer.
    pub customer_number: Option<i64>,
    /// `customer_last`, character varying.
    pub customer_last: Option<&'a [u8]>,
    /// `amount`, numeric, in units of 10^-2.
    pub amount: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [
            history_number,
            paid_warehouse,
            paid_district,
            customer_warehouse,
            customer_district,
            by_name,
            customer_number,
            customer_last,
            amount,
        ] = arguments
        else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            history_number: history_number.int()?,
            paid_warehouse: paid_warehouse.int2()?,
            paid_district: paid_district.int2()?,
            customer_warehouse: customer_warehouse.int2()?,
            customer_district: customer_district.int2()?,
            by_name: by_name.bool()?,
            customer_number: customer_number.or_null(|argument| argument.int4())?,
            customer_last: customer_last.or_null(|argument| argument.text())?,
            amount: amount.decimal(2)?,
        })
    }
}

/// Executes the procedure `payment`.
pub async fn payment<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let history_number = arguments.history_number;
    let paid_warehouse = arguments.paid_warehouse;
    let paid_district = arguments.paid_district;
    let customer_warehouse = arguments.customer_warehouse;
    let customer_district = arguments.customer_district;
    let by_name = arguments.by_name;
    let customer_number = arguments.customer_number;
    let customer_last = arguments.customer_last;
    let amount = arguments.amount;
    let mut customer_id: Option<i64> = None;
    let mut since: i64;
    let mut credit_limit: i64;
    let mut discount: i64;
    let mut balance: i64;
    let mut customer_data: Option<Text<200>> = None;
    let mut paid_at: i64;
    let mut name_count: i64;
    let mut all_data: Text<500>;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.warehouse, KeyBuilder::new().int2(paid_warehouse as i16).key()));
    call.scratch.reads.push((
        tables.district,
        KeyBuilder::new().int2(paid_warehouse as i16).int2(paid_district as i16).key(),
    ));
    let customer_at = if !by_name && customer_number.is_some() {
        call.scratch.reads.push((
            tables.customer,
            KeyBuilder::new()
                .int2(customer_warehouse as i16)
                .int2(customer_district as i16)
                .int4(known(customer_number)? as i32)
                .key(),
        ));
        Some(call.scratch.reads.len() - 1)
    } else {
        None
    };
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    paid_at = call.now_us();
    let Some(warehouse_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let warehouse = call.txn.row(warehouse_row);
    let w_ytd = number::digits(number::add(warehouse.int_in(warehouse::W_YTD), amount)?, 12)?;
    let mut new_warehouse = call.txn.update(warehouse_row);
    new_warehouse.set_int_in(warehouse::W_YTD, w_ytd);
    let Some(district_row) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let district = call.txn.row(district_row);
    let d_ytd = number::digits(number::add(district.int_in(district::D_YTD), amount)?, 12)?;
    let mut new_district = call.txn.update(district_row);
    new_district.set_int_in(district::D_YTD, d_ytd);
    customer_id = customer_number;
    if by_name {
        let mut counted = 0_i64;
        let mut customer_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.customer_by_customer_name,
                &KeyBuilder::new()
                    .int2(customer_warehouse as i16)
                    .int2(customer_district as i16)
                    .padded(text::fitting(known(customer_last)?, 16)?, 16)
                    .key(),
                &mut customer_rows,
            )
            .await?;
        for &customer_row in customer_rows.iter() {
            counted += 1;
        }
        name_count = counted;
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
        } else {
            customer_id = None;
        }
    }
    let customer_found = match customer_at {
        Some(at) => call.scratch.found[at],
        None => {
            call.txn
                .read(
                    tables.customer,
                    &KeyBuilder::new()
                        .int2(customer_warehouse as i16)
                        .int2(customer_district as i16)
                        .int4(known(customer_id)? as i32)
                        .key(),
                )
                .await?
        }
    };
    let Some(customer_row_3) = customer_found else {
        return Err(Stop::raised("P0001", "There is no such customer"));
    };
    let customer_3 = call.txn.row(customer_row_3);
    let c_balance =
        number::digits(number::subtract(customer_3.int_in(customer::C_BALANCE), amount)?, 12)?;
    let c_ytd_payment =
        number::digits(number::add(customer_3.int_in(customer::C_YTD_PAYMENT), amount)?, 12)?;
    let c_payment_cnt = number::int4(number::add(customer_3.int_in(customer::C_PAYMENT_CNT), 1)?)?;
    let mut new_customer = call.txn.update(customer_row_3);
    new_customer.set_int_in(customer::C_BALANCE, c_balance);
    new_customer.set_int_in(customer::C_YTD_PAYMENT, c_ytd_payment);
    new_customer.set_int_in(customer::C_PAYMENT_CNT, c_payment_cnt);
    let customer_3 = call.txn.row(customer_row_3);
    since = customer_3.int_in(customer::C_SINCE);
    credit_limit = customer_3.int_in(customer::C_CREDIT_LIM);
    discount = customer_3.int_in(customer::C_DISCOUNT);
    balance = customer_3.int_in(customer::C_BALANCE);
    if *customer_3.bytes_in(customer::C_CREDIT) == b"BC"[..] {
        let Some(customer_row_4) = call
            .txn
            .read(
                tables.customer,
                &KeyBuilder::new()
                    .int2(customer_warehouse as i16)
                    .int2(customer_district as i16)
                    .int4(known(customer_id)? as i32)
                    .key(),
            )
            .await?
        else {
            return Err(Stop::Deviates);
        };
        let customer_4 = call.txn.row(customer_row_4);
        let c_data = Text::<500>::new(text::left(
            &Text::<628>::of(&[
                &text::number(known(customer_id)?, 0),
                b" ",
                &text::number(customer_district, 0),
                b" ",
                &text::number(customer_warehouse, 0),
                b" ",
                &text::number(paid_district, 0),
                b" ",
                &text::number(paid_warehouse, 0),
                b" ",
                &text::number(amount, 2),
                b" ",
                customer_4.bytes_in(customer::C_DATA),
            ])?,
            500,
        )?)?;
        let mut new_customer_2 = call.txn.update(customer_row_4);
        new_customer_2.set_bytes_in(customer::C_DATA, &c_data);
        let customer_4 = call.txn.row(customer_row_4);
        all_data = Text::new(customer_4.bytes_in(customer::C_DATA))?;
        text::set(&mut customer_data, text::left(&all_data, 200)?)?;
    }
    let h_c_id = known(customer_id)?;
    let h_amount = number::digits(amount, 12)?;
    let district = call.txn.row(district_row);
    let warehouse = call.txn.row(warehouse_row);
    let h_data = Text::<24>::new(&Text::<24>::of(&[
        warehouse.bytes_in(warehouse::W_NAME),
        b"    ",
        district.bytes_in(district::D_NAME),
    ])?)?;
    let history_row = call
        .txn
        .insert(tables.history, &KeyBuilder::new().int8(history_number).key())
        .await
        .map_err(|error| duplicate(error, "history_pkey", "h_id", &[history_number]))?;
    let mut new_history = call.txn.update(history_row);
    new_history.set_int_in(history::H_C_ID, h_c_id);
    new_history.set_int_in(history::H_C_D_ID, customer_district);
    new_history.set_int_in(history::H_C_W_ID, customer_warehouse);
    new_history.set_int_in(history::H_D_ID, paid_district);
    new_history.set_int_in(history::H_W_ID, paid_warehouse);
    new_history.set_int_in(history::H_DATE, paid_at);
    new_history.set_int_in(history::H_AMOUNT, h_amount);
    new_history.set_bytes_in(history::H_DATA, &h_data);
    let customer_3 = call.txn.row(customer_row_3);
    let district = call.txn.row(district_row);
    let warehouse = call.txn.row(warehouse_row);
    call.results.row();
    call.results.texts(&[
        warehouse.bytes_in(warehouse::W_STREET_1),
        warehouse.bytes_in(warehouse::W_STREET_2),
        warehouse.bytes_in(warehouse::W_CITY),
        warehouse.bytes_in(warehouse::W_STATE),
        warehouse.bytes_in(warehouse::W_ZIP),
        district.bytes_in(district::D_STREET_1),
        district.bytes_in(district::D_STREET_2),
        district.bytes_in(district::D_CITY),
        district.bytes_in(district::D_STATE),
        district.bytes_in(district::D_ZIP),
    ]);
    call.results.int_or_null(customer_id);
    call.results.texts(&[
        customer_3.bytes_in(customer::C_FIRST),
        customer_3.bytes_in(customer::C_MIDDLE),
        customer_3.bytes_in(customer::C_LAST),
        customer_3.bytes_in(customer::C_STREET_1),
        customer_3.bytes_in(customer::C_STREET_2),
        customer_3.bytes_in(customer::C_CITY),
        customer_3.bytes_in(customer::C_STATE),
        customer_3.bytes_in(customer::C_ZIP),
        customer_3.bytes_in(customer::C_PHONE),
    ]);
    call.results.int(since);
    call.results.text(customer_3.bytes_in(customer::C_CREDIT));
    call.results.decimal(credit_limit, 2);
    call.results.decimal(discount, 4);
    call.results.decimal(balance, 2);
    call.results.text_or_null(customer_data.as_deref());
    call.results.int(paid_at);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let paid_warehouse = arguments.paid_warehouse;
    let paid_district = arguments.paid_district;
    lane.prefetch(&[
        (tables.warehouse, KeyBuilder::new().int2(paid_warehouse as i16).key()),
        (
            tables.district,
            KeyBuilder::new().int2(paid_warehouse as i16).int2(paid_district as i16).key(),
        ),
    ]);
    Ok(())
}
