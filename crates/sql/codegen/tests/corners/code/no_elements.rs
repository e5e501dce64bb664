//! Procedure `no_elements`, line 926 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: &'a [i64],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { list: list.ints()? })
    }
}

/// Executes the procedure `no_elements`.
pub async fn no_elements<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let mut one: i64;
    one = 5;
    for &element_value in list {
        one = element_value;
        one = number::int4(number::multiply(one, 2)?)?;
    }
    call.results.row();
    call.results.int(one);
    return Ok(());
}
