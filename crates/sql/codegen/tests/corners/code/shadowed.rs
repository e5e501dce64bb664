//! Procedure `shadowed`, line 826 of `procedures.sql`.

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

/// Executes the procedure `shadowed`.
pub async fn shadowed<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut one: i64;
    let mut one_2: i64;
    one = x;
    one_2 = number::int4(number::add(x, 1)?)?;
    for i in (1..=3).rev() {
        one_2 = number::int4(number::add(one_2, i)?)?;
        if one_2 > 8 {
            break;
        }
    }
    if one_2 > 7 {
        call.results.row();
        call.results.int(one_2);
        return Ok(());
    }
    while (one < 5) && (one > -50) {
        one = number::int4(number::add(one, 2)?)?;
        if one == 3 {
            continue;
        }
        one = number::int4(number::add(one, 1)?)?;
    }
    call.results.row();
    call.results.int(one);
    return Ok(());
}
