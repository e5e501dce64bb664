//! Procedure `whole_signs`, line 1132 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, bigint.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// `z`, smallint.
    pub z: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int())?,
            y: y.or_null(|argument| argument.int4())?,
            z: z.or_null(|argument| argument.int2())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `whole_signs`.
pub async fn whole_signs<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let z = arguments.z;
    let mut one: i64;
    let mut two: i64;
    let mut three: i64;
    let mut four: i64;
    one = number::negate(known(x)?)?;
    two = number::int4(known(known(y)?.checked_abs())?)?;
    three = number::int2(known(known(z)?.checked_abs())?)?;
    four =
        number::add(number::modulo(known(x)?, -1)?, number::int4(number::modulo(known(y)?, -1)?)?)?;
    two = number::int4(number::divide(known(y)?, -1)?)?;
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int(three);
    call.results.int(four);
    Ok(())
}
