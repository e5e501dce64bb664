//! Procedure `left_by_name`, line 4 of `procedures.sql`.

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

/// Executes the procedure `left_by_name`.
pub async fn left_by_name<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut total: i64;
    let mut seen_a: Option<i64> = None;
    let mut was: bool;
    let mut found = false;
    total = 0;
    let mut has_begun = false;
    'outer_loop: for one in 1..=4 {
        has_begun = true;
        let mut has_begun_2 = false;
        for two in (1..=4).rev() {
            has_begun_2 = true;
            if let Some(pair_row) = call
                .txn
                .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(two as i32).key())
                .await?
            {
                let pair = call.txn.row(pair_row);
                let v_value = number::int4(number::add(
                    ((!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V))).unwrap_or(0),
                    one,
                )?)?;
                let mut new_pair = call.txn.update(pair_row);
                new_pair.set_int_in(pair::V, v_value);
                found = true;
            } else {
                found = false;
            }
            if !found {
                continue 'outer_loop;
            }
            if let Some(pair_row_2) = call
                .txn
                .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(two as i32).key())
                .await?
            {
                let pair_2 = call.txn.row(pair_row_2);
                seen_a = (!pair_2.is_null_in(pair::V)).then(|| pair_2.int_in(pair::V));
                found = true;
            } else {
                found = false;
                seen_a = None;
            }
            total = number::int4(number::add(total, known(seen_a)?)?)?;
            if total > 40 {
                break 'outer_loop;
            }
            if y.is_some_and(|value| two == value) {
                break;
            }
        }
        found = has_begun_2;
        total = number::int4(number::add(total, 1)?)?;
    }
    found = has_begun;
    was = found;
    call.results.row();
    call.results.int(total);
    call.results.int_or_null(seen_a);
    call.results.int(i64::from(was));
    Ok(())
}
