//! Procedure `item_cases`, line 1318 of `procedures.sql`.

use super::tables::{Tables, item};
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

/// Executes the procedure `item_cases`.
pub async fn item_cases<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut found = false;
    let mut kept: Option<i64> = None;
    let mut given: Option<i64> = None;
    let mut case: Option<i64> = None;
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        kept = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
        found = true;
    } else {
        found = false;
        kept = None;
    }
    case = kept;
    if case.is_some_and(|value| value == 1)
        || case.zip(y).is_some_and(|(left, right)| left == right)
    {
        if let Some(item_row_2) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
        {
            let mut new_item = call.txn.update(item_row_2);
            new_item.set_int_in(item::GRP, 2);
            found = true;
        } else {
            found = false;
        }
    } else if case.is_some_and(|value| value == 2) {
        given = Some(number::int4(number::divide(
            100,
            number::int4(number::subtract(known(y)?, 2)?)?,
        )?)?);
    } else if case.is_some_and(|value| value == 5) || case.is_some_and(|value| value == 6) {
    } else {
        if let Some(item_row_3) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(-1 as i32).key()).await?
        {
            found = true;
            call.txn.delete(item_row_3);
        } else {
            found = false;
        }
    }
    if found {
        given = if y.is_some_and(|value| value > 3) {
            kept
        } else if number::int4(number::divide(known(kept)?, known(y)?)?)? > 0 {
            y
        } else {
            Some(-1)
        };
    }
    if given.is_some_and(|value| value > 2) {
        given = Some(number::int4(number::add(known(given)?, 1)?)?);
    } else if given.is_none() {
        given = Some(-5);
    } else {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int_or_null(given);
    return Ok(());
}
