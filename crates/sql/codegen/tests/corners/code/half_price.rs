//! Procedure `half_price`, line 156 of `procedures.sql`.

use super::tables::{Tables, price};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// No arguments.
    pub nothing: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { nothing: std::marker::PhantomData })
    }
}

/// Executes the procedure `half_price`.
pub async fn half_price<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let mut given: i64 = Default::default();
    let mut other: i64 = Default::default();
    let mut is_found = false;
    if let Some(price_row) = call
        .txn
        .read(
            tables.price,
            &KeyBuilder::new()
                .int8(known(if (150_i64 >= -9999999999) && (150_i64 <= 9999999999) {
                    Some(150)
                } else {
                    None
                })?)
                .key(),
        )
        .await?
    {
        let price = call.txn.row(price_row);
        if price.int_in(price::P) == 150 {
            if !is_found {
                let price = call.txn.row(price_row);
                given = price.int_in(price::V);
                is_found = true;
            }
        }
    }
    if !is_found {
        return Err(Stop::Deviates);
    }
    let mut is_found_2 = false;
    if let Some(price_row_2) = call
        .txn
        .read(
            tables.price,
            &KeyBuilder::new()
                .int8(known(if (200_i64 >= -9999999999) && (200_i64 <= 9999999999) {
                    Some(200)
                } else {
                    None
                })?)
                .key(),
        )
        .await?
    {
        let price_2 = call.txn.row(price_row_2);
        if price_2.int_in(price::P) == 200 {
            if !is_found_2 {
                let price_2 = call.txn.row(price_row_2);
                other = price_2.int_in(price::V);
                is_found_2 = true;
            }
        }
    }
    if !is_found_2 {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results
        .int(number::int4(number::add(number::int4(number::multiply(given, 1000)?)?, other)?)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    lane.prefetch(&[
        (
            tables.price,
            KeyBuilder::new()
                .int8(known(if (150_i64 >= -9999999999) && (150_i64 <= 9999999999) {
                    Some(150)
                } else {
                    None
                })?)
                .key(),
        ),
        (
            tables.price,
            KeyBuilder::new()
                .int8(known(if (200_i64 >= -9999999999) && (200_i64 <= 9999999999) {
                    Some(200)
                } else {
                    None
                })?)
                .key(),
        ),
    ]);
    Ok(())
}
