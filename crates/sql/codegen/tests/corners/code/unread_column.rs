//! Procedure `unread_column`, line 92 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `of_d`, smallint.
    pub of_d: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, of_d, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_w: of_w.int2()?,
            of_d: of_d.int2()?,
            y: y.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `unread_column`.
pub async fn unread_column<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    let y = arguments.y;
    let mut given: Option<i64> = None;
    if let Some(small_row) = call
        .txn
        .read(tables.small, &KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).key())
        .await?
    {
        let small = call.txn.row(small_row);
        let _ = number::int4(number::divide(small.int_in(small::Q), y)?)?;
        given = (!small.is_null_in(small::R)).then(|| small.int_in(small::R));
    } else {
        given = None;
    }
    call.results.row();
    call.results.int_or_null(given);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    lane.prefetch(&[(tables.small, KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).key())]);
    Ok(())
}
