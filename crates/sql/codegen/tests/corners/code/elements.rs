//! Procedure `elements`, line 795 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, element, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: Option<&'a [i64]>,
    /// `at`, integer.
    pub at: i64,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list, at] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { list: list.or_null(|argument| argument.ints())?, at: at.int4()? })
    }
}

/// Executes the procedure `elements`.
pub async fn elements<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let at = arguments.at;
    let mut total: i64;
    let mut element_value: i64;
    total = 0;
    for &element_value_2 in known(list)? {
        element_value = element_value_2;
        if element_value > 5 {
            continue;
        }
        total = number::int4(number::add(total, element_value)?)?;
    }
    call.results.row();
    call.results.int(number::int4(number::add(
        number::int4(number::multiply(total, 100)?)?,
        element(known(list)?, at)?,
    )?)?);
    return Ok(());
}
