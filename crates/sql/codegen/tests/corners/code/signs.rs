//! Procedure `signs`, line 959 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, smallint.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, y: y.int2()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `signs`.
pub async fn signs<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut two: i64;
    let mut three: i64;
    one = number::int4(number::negate(x)?)?;
    two = number::int4(known(x.checked_abs())?)?;
    three = number::int2(number::negate(y)?)?;
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int(three);
    Ok(())
}
