//! Procedure `in_part`, line 346 of `procedures.sql`.

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
    /// `of_z`, integer.
    pub of_z: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, of_z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            y: y.int4()?,
            of_z: of_z.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `in_part`.
pub async fn in_part<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let of_z = arguments.of_z;
    let mut one: i64;
    let mut other: Option<i64> = None;
    let mut counted: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(y as i32).key()));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_wide_a_b], &mut call.scratch.found)
        .await?;
    let Some(wide_row) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let wide = call.txn.row(wide_row);
    one = wide.int_in(wide::A);
    if let Some(wide_row_2) = call.scratch.found[1] {
        let wide_2 = call.txn.row(wide_row_2);
        other = (!wide_2.is_null_in(wide::B)).then(|| wide_2.int_in(wide::B));
    } else {
        other = None;
    }
    let mut counted_2 = 0_i64;
    let mut wide_rows = call.scratch.take_rows();
    call.txn
        .lookup(tables.wide_by_wide_z, &KeyBuilder::new().int4(of_z as i32).key(), &mut wide_rows)
        .await?;
    for &wide_row_3 in wide_rows.iter() {
        counted_2 += 1;
    }
    call.scratch.give_rows(wide_rows);
    counted = counted_2;
    call.results.row();
    call.results.int(number::add(
        number::add(number::multiply(counted, 10000)?, one)?,
        other.unwrap_or(7),
    )?);
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
