//! Procedure `new_order`, line 6 of `procedures.sql`.

use super::tables::{Tables, customer, district, item, order_line, orders, stock, warehouse};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, element, known, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `home_warehouse`, smallint.
    pub home_warehouse: i64,
    /// `home_district`, smallint.
    pub home_district: i64,
    /// `customer_number`, integer.
    pub customer_number: i64,
    /// `items`, integer[].
    pub items: &'a [i64],
    /// `supply_warehouses`, smallint[].
    pub supply_warehouses: &'a [i64],
    /// `quantities`, smallint[].
    pub quantities: &'a [i64],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [home_warehouse, home_district, customer_number, items, supply_warehouses, quantities] =
            arguments
        else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            home_warehouse: home_warehouse.int2()?,
            home_district: home_district.int2()?,
            customer_number: customer_number.int4()?,
            items: items.ints()?,
            supply_warehouses: supply_warehouses.ints()?,
            quantities: quantities.ints()?,
        })
    }
}

/// Executes the procedure `new_order`.
pub async fn new_order<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let home_district = arguments.home_district;
    let customer_number = arguments.customer_number;
    let items = arguments.items;
    let supply_warehouses = arguments.supply_warehouses;
    let quantities = arguments.quantities;
    let mut item_price: Option<i64> = None;
    let mut brand_generic: Option<Text<1>> = None;
    let mut stock_left: Option<i64> = None;
    let mut line_amount: Option<i64> = None;
    let mut last_name: Option<Text<16>> = None;
    let mut credit: Option<Text<2>> = None;
    let mut discount: Option<i64> = None;
    let mut warehouse_tax: Option<i64> = None;
    let mut district_tax: Option<i64> = None;
    let mut order_number: Option<i64> = None;
    let mut entry_date: Option<i64> = None;
    let mut total_amount: Option<i64> = None;
    let mut placed_at: i64;
    let mut line_count: i64;
    let mut all_local: i64;
    let mut supplier: i64;
    let mut remote: i64;
    let mut number_taken: i64;
    let mut tax_of_warehouse: i64;
    let mut tax_of_district: i64;
    let mut dist_info: Text<24> = Default::default();
    let mut amount_sum: i64;
    placed_at = call.now_us();
    line_count = number::int2(items.len() as i64)?;
    all_local = 1;
    amount_sum = 0;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.warehouse, KeyBuilder::new().int2(home_warehouse as i16).key()));
    call.scratch.reads.push((
        tables.district,
        KeyBuilder::new().int2(home_warehouse as i16).int2(home_district as i16).key(),
    ));
    call.scratch.reads.push((
        tables.customer,
        KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(customer_number as i32)
            .key(),
    ));
    for line in 1..=line_count {
        call.scratch
            .reads
            .push((tables.item, KeyBuilder::new().int4(element(items, line)? as i32).key()));
        call.scratch.reads.push((
            tables.stock,
            KeyBuilder::new()
                .int2(element(supply_warehouses, line)? as i16)
                .int4(element(items, line)? as i32)
                .key(),
        ));
    }
    call.txn
        .read_columns(
            &call.scratch.reads,
            &[
                tables.columns_of_warehouse_w_tax,
                tables.columns_of_customer_c_last_c_credit_c_discount,
            ],
            &mut call.scratch.found,
        )
        .await?;
    let Some(warehouse_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let warehouse = call.txn.row(warehouse_row);
    tax_of_warehouse = warehouse.int_in(warehouse::W_TAX);
    let Some(district_row) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let district = call.txn.row(district_row);
    let d_next_o_id = number::int4(number::add(district.int_in(district::D_NEXT_O_ID), 1)?)?;
    let mut new_district = call.txn.update(district_row);
    new_district.set_int_in(district::D_NEXT_O_ID, d_next_o_id);
    let district = call.txn.row(district_row);
    number_taken = number::int4(number::subtract(district.int_in(district::D_NEXT_O_ID), 1)?)?;
    tax_of_district = district.int_in(district::D_TAX);
    for &element_value in supply_warehouses {
        supplier = element_value;
        if supplier != home_warehouse {
            all_local = 0;
        }
    }
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch.inserts.push((
        tables.orders,
        KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(number_taken as i32)
            .key(),
    ));
    call.scratch.inserts.push((
        tables.new_order,
        KeyBuilder::new()
            .int2(home_warehouse as i16)
            .int2(home_district as i16)
            .int4(number_taken as i32)
            .key(),
    ));
    for line in 1..=line_count {
        call.scratch.inserts.push((
            tables.order_line,
            KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(home_district as i16)
                .int4(number_taken as i32)
                .int2(number::int2(line)? as i16)
                .key(),
        ));
    }
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    let orders_row = call.scratch.inserted[0];
    let mut new_orders = call.txn.update(orders_row);
    new_orders.set_int_in(orders::O_C_ID, customer_number);
    new_orders.set_int_in(orders::O_ENTRY_D, placed_at);
    new_orders.set_null_in(orders::O_CARRIER_ID);
    new_orders.set_int_in(orders::O_OL_CNT, line_count);
    new_orders.set_int_in(orders::O_ALL_LOCAL, all_local);
    let new_order_row = call.scratch.inserted[1];
    for line in 1..=line_count {
        let Some(item_row) = call.scratch.found[3 + 2 * (line - 1) as usize] else {
            return Err(Stop::raised("P0001", "Item number is not valid"));
        };
        let item = call.txn.row(item_row);
        item_price = Some(item.int_in(item::I_PRICE));
        remote = 0;
        if element(supply_warehouses, line)? != home_warehouse {
            remote = 1;
        }
        let Some(stock_row) = call.scratch.found[3 + 2 * (line - 1) as usize + 1] else {
            return Err(Stop::Deviates);
        };
        let stock = call.txn.row(stock_row);
        let s_quantity = number::int2(
            if number::int2(number::subtract(
                stock.int_in(stock::S_QUANTITY),
                element(quantities, line)?,
            )?)? >= 10
            {
                number::int2(number::subtract(
                    stock.int_in(stock::S_QUANTITY),
                    element(quantities, line)?,
                )?)?
            } else {
                number::int4(number::add(
                    number::int2(number::subtract(
                        stock.int_in(stock::S_QUANTITY),
                        element(quantities, line)?,
                    )?)?,
                    91,
                )?)?
            },
        )?;
        let stock = call.txn.row(stock_row);
        let s_ytd =
            number::int4(number::add(stock.int_in(stock::S_YTD), element(quantities, line)?)?)?;
        let s_order_cnt = number::int4(number::add(stock.int_in(stock::S_ORDER_CNT), 1)?)?;
        let s_remote_cnt = number::int4(number::add(stock.int_in(stock::S_REMOTE_CNT), remote)?)?;
        let mut new_stock = call.txn.update(stock_row);
        new_stock.set_int_in(stock::S_QUANTITY, s_quantity);
        new_stock.set_int_in(stock::S_YTD, s_ytd);
        new_stock.set_int_in(stock::S_ORDER_CNT, s_order_cnt);
        new_stock.set_int_in(stock::S_REMOTE_CNT, s_remote_cnt);
        let stock = call.txn.row(stock_row);
        stock_left = Some(stock.int_in(stock::S_QUANTITY));
        dist_info.set(if home_district == 1 {
            stock.bytes_in(stock::S_DIST_01)
        } else if home_district == 2 {
            stock.bytes_in(stock::S_DIST_02)
        } else if home_district == 3 {
            stock.bytes_in(stock::S_DIST_03)
        } else if home_district == 4 {
            stock.bytes_in(stock::S_DIST_04)
        } else if home_district == 5 {
            stock.bytes_in(stock::S_DIST_05)
        } else if home_district == 6 {
            stock.bytes_in(stock::S_DIST_06)
        } else if home_district == 7 {
            stock.bytes_in(stock::S_DIST_07)
        } else if home_district == 8 {
            stock.bytes_in(stock::S_DIST_08)
        } else if home_district == 9 {
            stock.bytes_in(stock::S_DIST_09)
        } else {
            stock.bytes_in(stock::S_DIST_10)
        })?;
        line_amount = Some(number::multiply(element(quantities, line)?, known(item_price)?)?);
        amount_sum = number::digits(number::add(amount_sum, known(line_amount)?)?, 12)?;
        let ol_i_id = element(items, line)?;
        let ol_supply_w_id = element(supply_warehouses, line)?;
        let ol_quantity = element(quantities, line)?;
        let ol_amount = number::digits(known(line_amount)?, 12)?;
        let order_line_row = call.scratch.inserted[2 + (line - 1) as usize];
        let mut new_order_line = call.txn.update(order_line_row);
        new_order_line.set_int_in(order_line::OL_I_ID, ol_i_id);
        new_order_line.set_int_in(order_line::OL_SUPPLY_W_ID, ol_supply_w_id);
        new_order_line.set_null_in(order_line::OL_DELIVERY_D);
        new_order_line.set_int_in(order_line::OL_QUANTITY, ol_quantity);
        new_order_line.set_int_in(order_line::OL_AMOUNT, ol_amount);
        new_order_line.set_bytes_in(order_line::OL_DIST_INFO, &dist_info);
        let item = call.txn.row(item_row);
        let stock = call.txn.row(stock_row);
        if (const { &text::Part::new(b"ORIGINAL") }.is_in(item.bytes_in(item::I_DATA)))
            && (const { &text::Part::new(b"ORIGINAL") }.is_in(stock.bytes_in(stock::S_DATA)))
        {
            text::set(&mut brand_generic, b"B")?;
        } else {
            text::set(&mut brand_generic, b"G")?;
        }
        let item = call.txn.row(item_row);
        call.results.row();
        call.results.text(item.bytes_in(item::I_NAME));
        call.results.decimal_or_null(item_price, 2);
        call.results.text_or_null(brand_generic.as_deref());
        call.results.int_or_null(stock_left);
        call.results.decimal_or_null(line_amount, 2);
        call.results.nulls::<8>();
    }
    if let Some(customer_row) = call.scratch.found[2] {
        let customer = call.txn.row(customer_row);
        text::set(&mut last_name, customer.bytes_in(customer::C_LAST))?;
        text::set(&mut credit, customer.bytes_in(customer::C_CREDIT))?;
        discount = Some(customer.int_in(customer::C_DISCOUNT));
    } else {
        last_name = None;
        credit = None;
        discount = None;
    }
    item_price = None;
    brand_generic = None;
    stock_left = None;
    line_amount = None;
    warehouse_tax = Some(tax_of_warehouse);
    district_tax = Some(tax_of_district);
    order_number = Some(number_taken);
    entry_date = Some(placed_at);
    total_amount = Some(number::rescale(
        number::multiply(
            number::multiply(amount_sum, number::subtract(10000, known(discount)?)?)?,
            number::add(number::add(10000, tax_of_warehouse)?, tax_of_district)?,
        )?,
        10,
        2,
    )?);
    call.results.row();
    call.results.nulls::<5>();
    call.results.text_or_null(last_name.as_deref());
    call.results.text_or_null(credit.as_deref());
    call.results.decimal_or_null(discount, 4);
    call.results.decimal_or_null(warehouse_tax, 4);
    call.results.decimal_or_null(district_tax, 4);
    call.results.int_or_null(order_number);
    call.results.int_or_null(entry_date);
    call.results.decimal_or_null(total_amount, 2);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let home_warehouse = arguments.home_warehouse;
    let home_district = arguments.home_district;
    let customer_number = arguments.customer_number;
    lane.prefetch(&[
        (tables.warehouse, KeyBuilder::new().int2(home_warehouse as i16).key()),
        (
            tables.district,
            KeyBuilder::new().int2(home_warehouse as i16).int2(home_district as i16).key(),
        ),
        (
            tables.customer,
            KeyBuilder::new()
                .int2(home_warehouse as i16)
                .int2(home_district as i16)
                .int4(customer_number as i32)
                .key(),
        ),
    ]);
    Ok(())
}
