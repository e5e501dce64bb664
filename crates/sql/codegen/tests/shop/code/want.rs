//! Procedure `want`, line 201 of `procedures.sql`.

use super::tables::{Tables, wish};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check, known, number, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// `p_sku`, bpchar.
    pub p_sku: &'a [u8],
    /// `p_strength`, smallint.
    pub p_strength: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_customer, p_sku, p_strength] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_customer: p_customer.int4()?,
            p_sku: p_sku.characters()?,
            p_strength: p_strength.int2()?,
        })
    }
}

/// Executes the procedure `want`.
pub async fn want<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let p_sku = arguments.p_sku;
    let p_strength = arguments.p_strength;
    let mut is_new: bool;
    let mut strength_now: i64;
    let mut found = false;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.customer, KeyBuilder::new().int4(p_customer as i32).key()));
    call.scratch
        .reads
        .push((tables.product, KeyBuilder::new().padded(text::fitting(p_sku, 6)?, 6).key()));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_customer], &mut call.scratch.found)
        .await?;
    let sku = text::fitting(p_sku, 6)?;
    check(p_strength < 10)?;
    if call
        .txn
        .read(tables.wish, &KeyBuilder::new().int4(p_customer as i32).padded(sku, 6).key())
        .await?
        .is_none()
    {
        known(call.scratch.found[0])?;
        known(call.scratch.found[1])?;
        let wish_row = call
            .txn
            .insert(tables.wish, &KeyBuilder::new().int4(p_customer as i32).padded(sku, 6).key())
            .await?;
        let mut new_wish = call.txn.update(wish_row);
        new_wish.set_int_in(wish::STRENGTH, p_strength);
        found = true;
    } else {
        found = false;
    }
    is_new = found;
    if !is_new {
        if let Some(wish_row_2) = call
            .txn
            .read(
                tables.wish,
                &KeyBuilder::new()
                    .int4(p_customer as i32)
                    .padded(text::fitting(p_sku, 6)?, 6)
                    .key(),
            )
            .await?
        {
            let wish_2 = call.txn.row(wish_row_2);
            let strength =
                number::int2(number::int4(number::add(wish_2.int_in(wish::STRENGTH), 1)?)?)?;
            check(strength < 10)?;
            let mut new_wish_2 = call.txn.update(wish_row_2);
            new_wish_2.set_int_in(wish::STRENGTH, strength);
            found = true;
        } else {
            found = false;
        }
    }
    let Some(wish_row_3) = call
        .txn
        .read(
            tables.wish,
            &KeyBuilder::new().int4(p_customer as i32).padded(text::fitting(p_sku, 6)?, 6).key(),
        )
        .await?
    else {
        found = false;
        return Err(Stop::Deviates);
    };
    let wish_3 = call.txn.row(wish_row_3);
    strength_now = wish_3.int_in(wish::STRENGTH);
    found = true;
    call.results.row();
    call.results.int(i64::from(is_new));
    call.results.int(strength_now);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let p_sku = arguments.p_sku;
    lane.prefetch(&[(
        tables.wish,
        KeyBuilder::new().int4(p_customer as i32).padded(text::fitting(p_sku, 6)?, 6).key(),
    )]);
    Ok(())
}
