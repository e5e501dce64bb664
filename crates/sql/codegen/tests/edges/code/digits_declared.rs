//! Procedure `digits_declared`, line 1407 of `procedures.sql`.

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

/// Executes the procedure `digits_declared`.
pub async fn digits_declared<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut two: bool;
    let mut three: Option<i64> = None;
    let mut total: i64;
    let mut kept: i64;
    total = 0;
    let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item = call.txn.row(item_row);
    kept = number::digits(
        number::rescale(
            if item.int_in(item::TAG) > 2 { item.int_in(item::RATE) } else { 10000 },
            4,
            2,
        )?,
        8,
    )?;
    if y.is_some_and(|value| value > 3) {
        total = number::multiply(kept, 2)?;
    }
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let price = number::digits(total, 8)?;
        let mut new_item = call.txn.update(item_row_2);
        new_item.set_int_in(item::PRICE, price);
    }
    one = number::int4(number::rescale(number::add(total, kept)?, 2, 0)?)?;
    two = total > 150;
    let mut sum = None::<i64>;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_3 in item_rows.iter() {
        let item_3 = call.txn.row(item_row_3);
        sum = Some(number::add(
            sum.unwrap_or(0),
            if y.is_some_and(|value| item_3.int_in(item::TAG) > value) {
                item_3.int_in(item::RATE)
            } else {
                0
            },
        )?);
    }
    call.scratch.give_rows(item_rows);
    three = match sum {
        Some(value) => Some(number::int4(number::rescale(value, 4, 0)?)?),
        None => None,
    };
    call.results.row();
    call.results.int(one);
    call.results.int(i64::from(two));
    call.results.int_or_null(three);
    Ok(())
}
