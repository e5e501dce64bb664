//! Procedure `prices`, line 981 of `procedures.sql`.

use super::tables::{Tables, price};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `wanted`, numeric, in units of 10^-2.
    pub wanted: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [wanted] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { wanted: wanted.decimal(2)?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `prices`.
pub async fn prices<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let wanted = arguments.wanted;
    let mut one: i64;
    let mut two: i64;
    let mut three: bool;
    let mut found_v: i64 = Default::default();
    let mut is_found = false;
    if let Some(price_row) = call
        .txn
        .read(
            tables.price,
            &KeyBuilder::new()
                .int8(known(if (wanted >= -9999999999) && (wanted <= 9999999999) {
                    Some(number::digits(wanted, 10)?)
                } else {
                    None
                })?)
                .key(),
        )
        .await?
    {
        let price = call.txn.row(price_row);
        if price.int_in(price::P) == wanted {
            if !is_found {
                let price = call.txn.row(price_row);
                found_v = price.int_in(price::V);
                is_found = true;
            }
        }
    }
    if !is_found {
        return Err(Stop::Deviates);
    }
    one = number::multiply(wanted, found_v)?;
    two = number::rescale(number::multiply(wanted, 105)?, 4, 2)?;
    three = wanted < 150;
    call.results.row();
    call.results.decimal(one, 2);
    call.results.decimal(two, 2);
    call.results.int(i64::from(three));
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let wanted = arguments.wanted;
    lane.prefetch(&[(
        tables.price,
        KeyBuilder::new()
            .int8(known(if (wanted >= -9999999999) && (wanted <= 9999999999) {
                Some(number::digits(wanted, 10)?)
            } else {
                None
            })?)
            .key(),
    )]);
    Ok(())
}
