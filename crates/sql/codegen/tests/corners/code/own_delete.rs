//! Procedure `own_delete`, line 328 of `procedures.sql`.

use super::tables::{Tables, fresh};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, duplicate, known, number};
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

/// Executes the procedure `own_delete`.
pub async fn own_delete<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    if let Some(fresh_row) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key()).await?
    {
        call.txn.delete(fresh_row);
    }
    if let Some(fresh_row_2) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key()).await?
    {
        let fresh_2 = call.txn.row(fresh_row_2);
        one = (!fresh_2.is_null_in(fresh::V)).then(|| fresh_2.int_in(fresh::V));
        call.results.row();
        call.results.int_or_null(one);
        return Ok(());
    } else {
        one = None;
    }
    let fresh_row_3 = call
        .txn
        .insert(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key())
        .await
        .map_err(|error| duplicate(error, "fresh_pkey", "a, b", &[x, y]))?;
    let mut new_fresh = call.txn.update(fresh_row_3);
    new_fresh.set_int_in(fresh::V, 1);
    new_fresh.set_null_in(fresh::T);
    if let Some(fresh_row_4) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key()).await?
    {
        let fresh_4 = call.txn.row(fresh_row_4);
        let v_value = number::int4(number::add(
            known((!fresh_4.is_null_in(fresh::V)).then(|| fresh_4.int_in(fresh::V)))?,
            1,
        )?)?;
        let mut new_fresh_2 = call.txn.update(fresh_row_4);
        new_fresh_2.set_int_in(fresh::V, v_value);
    }
    if let Some(fresh_row_5) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key()).await?
    {
        let fresh_5 = call.txn.row(fresh_row_5);
        one = (!fresh_5.is_null_in(fresh::V)).then(|| fresh_5.int_in(fresh::V));
    } else {
        one = None;
    }
    if let Some(fresh_row_6) = call
        .txn
        .read(
            tables.fresh,
            &KeyBuilder::new().int4(x as i32).int4(number::int4(number::add(y, 1)?)? as i32).key(),
        )
        .await?
    {
        call.txn.delete(fresh_row_6);
    }
    call.results.row();
    call.results.int_or_null(one);
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
        (tables.fresh, KeyBuilder::new().int4(x as i32).int4(y as i32).key()),
        (
            tables.fresh,
            KeyBuilder::new().int4(x as i32).int4(number::int4(number::add(y, 1)?)? as i32).key(),
        ),
    ]);
    Ok(())
}
