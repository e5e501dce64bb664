//! Procedure `arithmetic`, line 767 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, smallint.
    pub x: Option<i64>,
    /// `y`, smallint.
    pub y: Option<i64>,
    /// `z`, integer.
    pub z: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int2())?,
            y: y.or_null(|argument| argument.int2())?,
            z: z.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `arithmetic`.
pub async fn arithmetic<E: Env>(
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
    one = number::int2(number::add(known(x)?, known(y)?)?)?;
    two = number::int4(number::negate(known(z)?)?)?;
    three = number::int4(number::divide(known(z)?, known(y)?)?)?;
    four = number::int2(number::modulo(known(x)?, known(y)?)?)?;
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int(three);
    call.results.int(four);
    Ok(())
}
