//! Procedure `inserted_in_rounds`, line 708 of `procedures.sql`.

use super::tables::{Tables, fresh};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// `last`, integer.
    pub last: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, last] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.int4()?,
            y: y.int4()?,
            last: last.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `inserted_in_rounds`.
pub async fn inserted_in_rounds<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let last = arguments.last;
    // Rows whose keys are known by now are inserted together.
    call.scratch.inserts.clear();
    call.scratch
        .inserts
        .push((tables.fresh, KeyBuilder::new().int4(x as i32).int4(-1 as i32).key()));
    number::few(last)?;
    for i in 1..=last {
        call.scratch.inserts.push((
            tables.fresh,
            KeyBuilder::new()
                .int4(x as i32)
                .int4(number::int4(number::modulo(i, y)?)? as i32)
                .key(),
        ));
    }
    call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;
    let fresh_row = call.scratch.inserted[0];
    let mut new_fresh = call.txn.update(fresh_row);
    new_fresh.set_int_in(fresh::V, 1);
    new_fresh.set_null_in(fresh::T);
    for i in 1..=last {
        let v_value = number::int4(number::divide(100, number::int4(number::subtract(i, 4)?)?)?)?;
        let fresh_row_2 = call.scratch.inserted[1 + (i - 1) as usize];
        let mut new_fresh_2 = call.txn.update(fresh_row_2);
        new_fresh_2.set_int_in(fresh::V, v_value);
        new_fresh_2.set_null_in(fresh::T);
    }
    call.results.row();
    call.results.int(1);
    return Ok(());
}
