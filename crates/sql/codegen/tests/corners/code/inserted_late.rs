//! Procedure `inserted_late`, line 1016 of `procedures.sql`.

use super::tables::{Tables, cell, fresh};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, number, text};
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

/// Executes the procedure `inserted_late`.
pub async fn inserted_late<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut total: i64;
    let mut kept: Option<i64> = None;
    total = 0;
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch
        .inserts
        .push((tables.fresh, KeyBuilder::new().int4(x as i32).int4(7 as i32).key()));
    call.scratch
        .inserts
        .push((tables.fresh, KeyBuilder::new().int4(x as i32).int4(y as i32).key()));
    for number_value in 1..=3 {
        call.scratch.inserts.push((
            tables.fresh,
            KeyBuilder::new()
                .int4(x as i32)
                .int4(number::int4(number::add(number_value, 10)?)? as i32)
                .key(),
        ));
    }
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    let fresh_row = call.scratch.inserted[0];
    let mut new_fresh = call.txn.update(fresh_row);
    new_fresh.set_int_in(fresh::V, total);
    new_fresh.set_null_in(fresh::T);
    let fresh = call.txn.row(fresh_row);
    kept = (!fresh.is_null_in(fresh::V)).then(|| fresh.int_in(fresh::V));
    let Some(cell_row) = call
        .txn
        .read(
            tables.cell,
            &KeyBuilder::new()
                .int4(number::int4(number::modulo(x, 4)?)? as i32)
                .int4(1 as i32)
                .key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let cell = call.txn.row(cell_row);
    total = cell.int_in(cell::Q);
    let t = Text::<5>::new(text::fitting(text::left(b"abcdefgh", y)?, 5)?)?;
    let fresh_row_2 = call.scratch.inserted[1];
    let mut new_fresh_2 = call.txn.update(fresh_row_2);
    new_fresh_2.set_int_in(fresh::V, total);
    new_fresh_2.set_bytes_in(fresh::T, &t);
    for number_value in 1..=3 {
        total = number::int4(number::add(total, number_value)?)?;
        let v_value = number::int4(number::divide(
            total,
            number::int4(number::subtract(number_value, y)?)?,
        )?)?;
        let fresh_row_3 = call.scratch.inserted[2 + (number_value - 1) as usize];
        let mut new_fresh_3 = call.txn.update(fresh_row_3);
        new_fresh_3.set_int_in(fresh::V, v_value);
        new_fresh_3.set_null_in(fresh::T);
    }
    call.results.row();
    call.results.int(number::int4(number::add(total, known(kept)?)?)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    lane.prefetch(&[(
        tables.cell,
        KeyBuilder::new().int4(number::int4(number::modulo(x, 4)?)? as i32).int4(1 as i32).key(),
    )]);
    Ok(())
}
