//! Procedure `whole_casts`, line 1123 of `procedures.sql`.

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

/// Executes the procedure `whole_casts`.
pub async fn whole_casts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let z = arguments.z;
    let mut one: Option<i64> = None;
    let mut two: i64;
    let mut three: i64;
    let mut four: i64;
    three = number::multiply(known(x)?, known(y)?)?;
    four = number::int4(number::multiply(known(z)?, known(y)?)?)?;
    one = x.map(number::int4).transpose()?;
    two = number::int2(number::int4(number::subtract(known(y)?, known(z)?)?)?)?;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int(two);
    call.results.int(three);
    call.results.int(four);
    Ok(())
}
