//! Procedure `declared_again`, line 894 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `declared_again`.
pub async fn declared_again<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut total: i64;
    let mut kept: Option<i64> = None;
    let mut other: i64;
    total = 0;
    for number_value in 1..=3 {
        kept = None;
        other = number_value;
        if number_value == x {
            kept = Some(10);
        }
        total = number::int4(number::add(
            total,
            number::int4(number::multiply(kept.unwrap_or(1), other)?)?,
        )?)?;
        other = 100;
    }
    call.results.row();
    call.results.int(total);
    return Ok(());
}
