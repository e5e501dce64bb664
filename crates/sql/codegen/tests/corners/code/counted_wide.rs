//! Procedure `counted_wide`, line 189 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `last`, bigint.
    pub last: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [last] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { last: last.int()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `counted_wide`.
pub async fn counted_wide<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let last = arguments.last;
    let mut total: i64;
    total = 0;
    for i in 1..=number::int4(last)? {
        total = number::add(total, i)?;
        if i >= 5 {
            break;
        }
    }
    call.results.row();
    call.results.int(total);
    return Ok(());
}
