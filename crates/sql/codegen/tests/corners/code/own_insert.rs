//! Procedure `own_insert`, line 302 of `procedures.sql`.

use super::tables::{Tables, fresh};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, duplicate, number};
use txn::{Lane, Scan, ScanSource};

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

/// Executes the procedure `own_insert`.
pub async fn own_insert<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut other: Option<i64> = None;
    if let Some(fresh_row) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(0 as i32).key()).await?
    {
        let fresh = call.txn.row(fresh_row);
        one = (!fresh.is_null_in(fresh::V)).then(|| fresh.int_in(fresh::V));
    } else {
        one = None;
    }
    let v_value = number::int4(number::add(x, y)?)?;
    let fresh_row_2 = call
        .txn
        .insert(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key())
        .await
        .map_err(|error| duplicate(error, "fresh_pkey", "a, b", &[x, y]))?;
    let mut new_fresh = call.txn.update(fresh_row_2);
    new_fresh.set_int_in(fresh::V, v_value);
    new_fresh.set_null_in(fresh::T);
    if let Some(fresh_row_3) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(y as i32).key()).await?
    {
        let fresh_3 = call.txn.row(fresh_row_3);
        other = (!fresh_3.is_null_in(fresh::V)).then(|| fresh_3.int_in(fresh::V));
    } else {
        other = None;
    }
    if let Some(fresh_row_4) =
        call.txn.read(tables.fresh, &KeyBuilder::new().int4(x as i32).int4(0 as i32).key()).await?
    {
        call.txn.delete(fresh_row_4);
    }
    let mut counted = 0_i64;
    let mut fresh_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.fresh),
        low: KeyBuilder::new().int4(x as i32).prefix_low(1),
        high: KeyBuilder::new().int4(x as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut fresh_rows).await?;
    for &fresh_row_5 in fresh_rows.iter() {
        counted += 1;
    }
    call.scratch.give_rows(fresh_rows);
    one = Some(number::int4(counted)?);
    call.results.row();
    call.results.int(number::int4(number::add(
        number::int4(number::multiply(one.unwrap_or(-1), 100)?)?,
        other.unwrap_or(-1),
    )?)?);
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
        (tables.fresh, KeyBuilder::new().int4(x as i32).int4(0 as i32).key()),
        (tables.fresh, KeyBuilder::new().int4(x as i32).int4(y as i32).key()),
    ]);
    Ok(())
}
