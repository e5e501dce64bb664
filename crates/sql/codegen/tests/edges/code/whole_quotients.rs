//! Procedure `whole_quotients`, line 473 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, bigint.
    pub x: Option<i64>,
    /// `y`, bigint.
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
            y: y.or_null(|argument| argument.int())?,
            z: z.or_null(|argument| argument.int2())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `whole_quotients`.
pub async fn whole_quotients<E: Env>(
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
    one = number::divide(known(x)?, known(y)?)?;
    two = number::modulo(known(x)?, known(y)?)?;
    three = number::int4(number::divide(known(z)?, known(y)?)?)?;
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int(three);
    Ok(())
}
