//! Procedure `wide_key`, line 112 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, bigint.
    pub of_w: i64,
    /// `of_d`, integer.
    pub of_d: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, of_d] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int()?, of_d: of_d.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `wide_key`.
pub async fn wide_key<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    let mut given: i64;
    let Some(small_row) = call
        .txn
        .read(
            tables.small,
            &KeyBuilder::new()
                .int2(known(if (of_w >= -32768) && (of_w <= 32767) {
                    Some(number::int2(of_w)?)
                } else {
                    None
                })? as i16)
                .int2(known(if (of_d >= -32768) && (of_d <= 32767) {
                    Some(number::int2(of_d)?)
                } else {
                    None
                })? as i16)
                .key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let small = call.txn.row(small_row);
    given = small.int_in(small::Q);
    call.results.row();
    call.results.int(given);
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
    lane.prefetch(&[(
        tables.small,
        KeyBuilder::new()
            .int2(known(if (of_w >= -32768) && (of_w <= 32767) {
                Some(number::int2(of_w)?)
            } else {
                None
            })? as i16)
            .int2(known(if (of_d >= -32768) && (of_d <= 32767) {
                Some(number::int2(of_d)?)
            } else {
                None
            })? as i16)
            .key(),
    )]);
    Ok(())
}
