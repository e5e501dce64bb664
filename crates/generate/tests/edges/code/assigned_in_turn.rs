//! Procedure `assigned_in_turn`, line 755 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use runtime::{Argument, Call, Stop, known, number};

/// The arguments.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// Nothing is borrowed.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call; others than expected deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Carries out `assigned_in_turn`.
pub async fn assigned_in_turn<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut two: i64;
    let mut kept: Option<i64> = None;
    kept = y;
    let Some(pair_row) = call
        .txn
        .read(
            tables.pair,
            &KeyBuilder::new().int4(known(x)? as i32).int4(known(kept)? as i32).key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let pair = call.txn.row(pair_row);
    one = Some(pair.int_in(pair::A));
    two = pair.int_in(pair::B);
    kept = (!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V));
    one = kept;
    kept = one;
    loop {
        two = number::int4(number::add(two, 1)?)?;
        if false || (number::int4(number::modulo(two, 4)?)? == 0) {
            break;
        }
        if number::int4(number::modulo(two, 3)?)? == 0 {
            continue;
        }
        one = Some(number::int4(number::add(one.unwrap_or(0), two)?)?);
    }
    if let Some(pair_row_2) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(3 as i32).key())
        .await?
    {
        let pair_2 = call.txn.row(pair_row_2);
        if (known((!pair_2.is_null_in(pair::V)).then(|| pair_2.int_in(pair::V)))? >= -100)
            && (known((!pair_2.is_null_in(pair::V)).then(|| pair_2.int_in(pair::V)))? <= 100)
        {
            let pair_2 = call.txn.row(pair_row_2);
            let w = number::int2(known(
                (!pair_2.is_null_in(pair::V)).then(|| pair_2.int_in(pair::V)),
            )?)?;
            let mut new_pair = call.txn.update(pair_row_2);
            new_pair.set_int_in(pair::V, two);
            new_pair.set_int_in(pair::W, w);
        }
    }
    call.results.row();
    call.results.int_or_null(one);
    call.results.int(two);
    Ok(())
}
