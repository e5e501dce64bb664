//! Procedure `own_index`, line 316 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `to_z`, integer.
    pub to_z: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, to_z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, to_z: to_z.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `own_index`.
pub async fn own_index<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let to_z = arguments.to_z;
    let mut before: i64;
    let mut after: i64;
    let mut counted = 0_i64;
    let mut wide_rows = call.scratch.take_rows();
    call.txn
        .lookup(tables.wide_by_wide_z, &KeyBuilder::new().int4(to_z as i32).key(), &mut wide_rows)
        .await?;
    for &wide_row in wide_rows.iter() {
        counted += 1;
    }
    call.scratch.give_rows(wide_rows);
    before = counted;
    if let Some(wide_row_2) =
        call.txn.read(tables.wide, &KeyBuilder::new().int4(x as i32).key()).await?
    {
        let mut new_wide = call.txn.update(wide_row_2);
        new_wide.set_int_in(wide::Z, to_z);
    }
    let mut counted_2 = 0_i64;
    let mut wide_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(tables.wide_by_wide_z, &KeyBuilder::new().int4(to_z as i32).key(), &mut wide_rows_2)
        .await?;
    for &wide_row_3 in wide_rows_2.iter() {
        counted_2 += 1;
    }
    call.scratch.give_rows(wide_rows_2);
    after = counted_2;
    call.results.row();
    call.results.int(number::subtract(after, before)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    lane.prefetch(&[(tables.wide, KeyBuilder::new().int4(x as i32).key())]);
    Ok(())
}
