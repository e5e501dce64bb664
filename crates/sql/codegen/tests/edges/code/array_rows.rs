//! Procedure `array_rows`, line 349 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, element, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: Option<&'a [i64]>,
    /// `x`, integer.
    pub x: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list, x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            list: list.or_null(|argument| argument.ints())?,
            x: x.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `array_rows`.
pub async fn array_rows<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let x = arguments.x;
    let mut at: i64;
    let mut found_v: Option<i64> = None;
    let mut found = false;
    let mut kept: Option<i64> = None;
    let mut has_begun = false;
    for i in 1..=(list.filter(|list| !list.is_empty()).map(|list| list.len() as i64)).unwrap_or(0) {
        has_begun = true;
        if let Some(pair_row) = call
            .txn
            .read(
                tables.pair,
                &KeyBuilder::new()
                    .int4(known(x)? as i32)
                    .int4(element(known(list)?, i)? as i32)
                    .key(),
            )
            .await?
        {
            let pair = call.txn.row(pair_row);
            kept = (!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V));
            found = true;
        } else {
            found = false;
            kept = None;
        }
        at = i;
        found_v = if found { kept } else { Some(-1) };
        call.results.row();
        call.results.int(at);
        call.results.int_or_null(found_v);
        if let Some(pair_row_2) = call
            .txn
            .read(
                tables.pair,
                &KeyBuilder::new()
                    .int4(known(x)? as i32)
                    .int4(element(known(list)?, i)? as i32)
                    .key(),
            )
            .await?
        {
            let v_value = element(known(list)?, number::int4(number::add(i, 1)?)?)?;
            let mut new_pair = call.txn.update(pair_row_2);
            new_pair.set_int_in(pair::V, v_value);
            found = true;
        } else {
            found = false;
        }
    }
    found = has_begun;
    Ok(())
}
