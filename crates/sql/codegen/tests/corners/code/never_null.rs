//! Procedure `never_null`, line 937 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
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
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `never_null`.
pub async fn never_null<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut kept: Option<i64> = None;
    let mut other: i64;
    kept = Some(1);
    other = y.unwrap_or(2);
    kept = x;
    call.results.row();
    call.results.int(number::int4(number::add(known(kept)?, other)?)?);
    return Ok(());
}
