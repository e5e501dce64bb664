//! Procedure `decimals`, line 777 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, numeric, in units of 10^-3.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.decimal(3))?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `decimals`.
pub async fn decimals<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut two: Option<i64> = None;
    let mut three: i64;
    let mut four: i64;
    one = x;
    two = match x {
        Some(value) => Some(number::int4(number::rescale(value, 3, 0)?)?),
        None => None,
    };
    three = number::subtract(number::multiply(known(x)?, known(y)?)?, 500)?;
    four = number::int2(number::rescale(number::multiply(known(x)?, 10)?, 3, 0)?)?;
    call.results.row();
    call.results.decimal_or_null(one, 3);
    call.results.int_or_null(two);
    call.results.decimal(three, 3);
    call.results.int(four);
    Ok(())
}
