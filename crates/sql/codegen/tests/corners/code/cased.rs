//! Procedure `cased`, line 814 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.or_null(|argument| argument.int4())?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `cased`.
pub async fn cased<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut given: i64;
    let mut case: Option<i64> = None;
    case = x;
    if case.is_some_and(|value| value == 1) || case.is_some_and(|value| value == 2) {
        given = 10;
    } else if case.is_some_and(|value| value == 3) {
        given = 20;
    } else {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int(given);
    return Ok(());
}
