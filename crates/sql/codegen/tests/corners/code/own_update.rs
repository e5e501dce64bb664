//! Procedure `own_update`, line 288 of `procedures.sql`.

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

/// Executes the procedure `own_update`.
pub async fn own_update<E: Env>(
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
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(y as i32).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(wide_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let wide = call.txn.row(wide_row);
    one = wide.int_in(wide::A);
    if let Some(wide_row_2) = call.scratch.found[1] {
        let wide_2 = call.txn.row(wide_row_2);
        let a_value = number::int4(number::add(wide_2.int_in(wide::A), 1)?)?;
        let mut new_wide = call.txn.update(wide_row_2);
        new_wide.set_int_in(wide::A, a_value);
    }
    let Some(wide_row_3) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let wide_3 = call.txn.row(wide_row_3);
    other = wide_3.int_in(wide::A);
    if let Some(wide_row_4) = call.scratch.found[0] {
        let wide_4 = call.txn.row(wide_row_4);
        let a_value_2 = number::int4(number::modulo(
            number::int4(number::multiply(wide_4.int_in(wide::A), 2)?)?,
            10000,
        )?)?;
        let mut new_wide_2 = call.txn.update(wide_row_4);
        new_wide_2.set_int_in(wide::A, a_value_2);
    }
    let Some(wide_row_5) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let wide_5 = call.txn.row(wide_row_5);
    one = wide_5.int_in(wide::A);
    call.results.row();
    call.results.int(number::int4(number::subtract(one, other)?)?);
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
        (tables.wide, KeyBuilder::new().int4(y as i32).key()),
    ]);
    Ok(())
}
