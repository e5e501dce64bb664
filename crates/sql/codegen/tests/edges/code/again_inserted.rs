//! Procedure `again_inserted`, line 105 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `again_inserted`.
pub async fn again_inserted<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut two: i64;
    let mut three: i64;
    if let Some(pair_row) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?
    {
        let pair = call.txn.row(pair_row);
        one = (!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V));
        call.txn.delete(pair_row);
    } else {
        one = None;
    }
    let pair_row_2 = call
        .txn
        .insert(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?;
    let mut new_pair = call.txn.update(pair_row_2);
    match y {
        Some(value) => new_pair.set_int_in(pair::V, value),
        None => new_pair.set_null_in(pair::V),
    }
    new_pair.set_int_in(pair::W, 2);
    if let Some(pair_row_3) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?
    {
        call.txn.delete(pair_row_3);
    }
    let pair_row_4 = call
        .txn
        .insert(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?;
    let mut new_pair_2 = call.txn.update(pair_row_4);
    match one {
        Some(value) => new_pair_2.set_int_in(pair::V, value),
        None => new_pair_2.set_null_in(pair::V),
    }
    new_pair_2.set_int_in(pair::W, 4);
    let pair_4 = call.txn.row(pair_row_4);
    two = number::int4(number::add(
        known((!pair_4.is_null_in(pair::V)).then(|| pair_4.int_in(pair::V)))?,
        known(y)?,
    )?)?;
    if let Some(pair_row_5) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?
    {
        let mut new_pair_3 = call.txn.update(pair_row_5);
        new_pair_3.set_int_in(pair::W, 5);
    }
    let mut counted = 0_i64;
    let mut pair_rows = call.scratch.take_rows();
    call.txn
        .lookup(tables.pair_by_pair_w, &KeyBuilder::new().int2(5 as i16).key(), &mut pair_rows)
        .await?;
    for &pair_row_6 in pair_rows.iter() {
        let pair_6 = call.txn.row(pair_row_6);
        if x.is_some_and(|value| pair_6.int_in(pair::A) == value) {
            counted += 1;
        }
    }
    call.scratch.give_rows(pair_rows);
    three = counted;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int(two);
    call.results.int(three);
    Ok(())
}
