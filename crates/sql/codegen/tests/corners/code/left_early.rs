//! Procedure `left_early`, line 230 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `left_early`.
pub async fn left_early<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut other: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((
        tables.wide,
        KeyBuilder::new().int4(number::int4(number::divide(x, y)?)? as i32).key(),
    ));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_wide_a], &mut call.scratch.found)
        .await?;
    if y == 0 {
        call.results.row();
        call.results.int(-1);
        return Ok(());
    }
    let Some(wide_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let wide = call.txn.row(wide_row);
    one = wide.int_in(wide::A);
    let Some(wide_row_2) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let wide_2 = call.txn.row(wide_row_2);
    other = wide_2.int_in(wide::A);
    call.results.row();
    call.results.int(number::int4(number::add(one, other)?)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    lane.prefetch(&[
        (tables.wide, KeyBuilder::new().int4(x as i32).key()),
        (tables.wide, KeyBuilder::new().int4(number::int4(number::divide(x, y)?)? as i32).key()),
    ]);
    Ok(())
}
