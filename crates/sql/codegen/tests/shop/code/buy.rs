//! Procedure `buy`, line 32 of `procedures.sql`.

use super::tables::{Tables, country, customer, line, product, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, element, known, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// `p_skus`, bpchar[].
    pub p_skus: &'a [&'a [u8]],
    /// `p_quantities`, integer[].
    pub p_quantities: &'a [i64],
    /// `p_gift`, integer.
    pub p_gift: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_customer, p_skus, p_quantities, p_gift] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            p_id: p_id.int4()?,
            p_customer: p_customer.int4()?,
            p_skus: p_skus.texts()?,
            p_quantities: p_quantities.ints()?,
            p_gift: p_gift.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `buy`.
pub async fn buy<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_customer = arguments.p_customer;
    let p_skus = arguments.p_skus;
    let p_quantities = arguments.p_quantities;
    let p_gift = arguments.p_gift;
    let mut total: i64;
    let mut unit_price: i64;
    let mut tax_of_country: i64;
    total = 0;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.customer, KeyBuilder::new().int4(p_customer as i32).key()));
    for i in 1..=known((!p_skus.is_empty()).then(|| p_skus.len() as i64))? {
        call.scratch.reads.push((
            tables.product,
            KeyBuilder::new()
                .padded(text::fitting(text::trimmed(element(p_skus, i)?), 6)?, 6)
                .key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(customer_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let customer = call.txn.row(customer_row);
    let Some(country_row) = call
        .txn
        .read(
            tables.country,
            &KeyBuilder::new().padded(customer.bytes_in(customer::COUNTRY), 2).key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let country = call.txn.row(country_row);
    tax_of_country = country.int_in(country::TAX);
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch.inserts.push((tables.purchase, KeyBuilder::new().int4(p_id as i32).key()));
    for i in 1..=known((!p_skus.is_empty()).then(|| p_skus.len() as i64))? {
        call.scratch.inserts.push((
            tables.line,
            KeyBuilder::new().int4(p_id as i32).int2(number::int2(i)? as i16).key(),
        ));
    }
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    known(call.scratch.found[0])?;
    let placed = call.now_us();
    let purchase_row = call.scratch.inserted[0];
    let mut new_purchase = call.txn.update(purchase_row);
    new_purchase.set_int_in(purchase::CUSTOMER, p_customer);
    new_purchase.set_bytes_in(purchase::STATE, b"N");
    new_purchase.set_int_in(purchase::PLACED, placed);
    new_purchase.set_null_in(purchase::PAID);
    for i in 1..=known((!p_skus.is_empty()).then(|| p_skus.len() as i64))? {
        let Some(product_row) = call.scratch.found[1 + (i - 1) as usize] else {
            return Err(Stop::raised("P0001", "no such product"));
        };
        let product = call.txn.row(product_row);
        let stock = number::int4(number::subtract(
            product.int_in(product::STOCK),
            element(p_quantities, i)?,
        )?)?;
        check(
            (product.is_null_in(product::RESERVED) || product.int_in(product::RESERVED) >= 0)
                && (product.is_null_in(product::RESERVED)
                    || product.int_in(product::RESERVED) <= stock),
        )?;
        check(stock >= 0)?;
        let mut new_product = call.txn.update(product_row);
        new_product.set_int_in(product::STOCK, stock);
        let product = call.txn.row(product_row);
        unit_price = product.int_in(product::PRICE);
        let number_value = number::int2(i)?;
        let sku = text::fitting(text::trimmed(element(p_skus, i)?), 6)?;
        let quantity = element(p_quantities, i)?;
        check(number_value > 0)?;
        check(quantity > 0 && quantity <= 50)?;
        known(call.scratch.found[1 + (i - 1) as usize])?;
        // The rows that it refers to are read together.
        call.scratch.reads.clear();
        call.scratch.reads.push((tables.purchase, KeyBuilder::new().int4(p_id as i32).key()));
        if let Some(gift_for) = p_gift {
            call.scratch
                .reads
                .push((tables.customer, KeyBuilder::new().int4(gift_for as i32).key()));
        }
        let mut referred_to = call.scratch.take_found();
        call.txn.read_many(&call.scratch.reads, &mut referred_to).await?;
        check(referred_to.iter().all(Option::is_some))?;
        call.scratch.give_found(referred_to);
        let amount = number::digits(number::multiply(unit_price, element(p_quantities, i)?)?, 10)?;
        let line_row = call.scratch.inserted[1 + (i - 1) as usize];
        let mut new_line = call.txn.update(line_row);
        new_line.set_bytes_in(line::SKU, sku);
        new_line.set_int_in(line::QUANTITY, quantity);
        new_line.set_int_in(line::AMOUNT, amount);
        match p_gift {
            Some(value) => new_line.set_int_in(line::GIFT_FOR, value),
            None => new_line.set_null_in(line::GIFT_FOR),
        }
        total = number::digits(
            number::add(total, number::multiply(unit_price, element(p_quantities, i)?)?)?,
            10,
        )?;
    }
    total = number::digits(
        number::rescale(
            number::multiply(number::multiply(total, number::add(10000, tax_of_country)?)?, 1)?,
            6,
            2,
        )?,
        10,
    )?;
    call.results.row();
    call.results.decimal(total, 2);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    lane.prefetch(&[(tables.customer, KeyBuilder::new().int4(p_customer as i32).key())]);
    Ok(())
}
