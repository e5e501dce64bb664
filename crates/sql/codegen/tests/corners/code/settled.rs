//! Procedure `settled`, line 675 of `procedures.sql`.

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
    /// `other`, integer.
    pub other: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, other] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            y: y.int4()?,
            other: other.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `settled`.
pub async fn settled<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let other = arguments.other;
    let mut key: i64;
    let mut one: i64;
    let mut two: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(y as i32).key()));
    let wide_at = if !(y > 3) && !(y > 1) {
        call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
        Some(call.scratch.reads.len() - 1)
    } else {
        None
    };
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_wide_a_z], &mut call.scratch.found)
        .await?;
    key = x;
    if y > 3 {
        key = other;
    } else if y > 1 {
        key = number::int4(number::divide(x, number::int4(number::subtract(y, 2)?)?)?)?;
    }
    let wide_found = match wide_at {
        Some(at) => call.scratch.found[at],
        None => call.txn.read(tables.wide, &KeyBuilder::new().int4(key as i32).key()).await?,
    };
    let Some(wide_row) = wide_found else {
        return Err(Stop::Deviates);
    };
    let wide = call.txn.row(wide_row);
    one = wide.int_in(wide::A);
    let Some(wide_row_2) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let wide_2 = call.txn.row(wide_row_2);
    two = wide_2.int_in(wide::A);
    key = y;
    let Some(wide_row_3) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let wide_3 = call.txn.row(wide_row_3);
    two = wide_3.int_in(wide::Z);
    call.results.row();
    call.results.int(number::int4(number::add(number::int4(number::multiply(one, 1000)?)?, two)?)?);
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
