//! Procedure `item_twice`, line 901 of `procedures.sql`.

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

/// Executes the procedure `item_twice`.
pub async fn item_twice<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut two: Option<i64> = None;
    let mut three: i64;
    let qty = number::int4(number::add(known(x)?, 1000)?)?;
    let item_row = call
        .txn
        .insert(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?;
    let mut new_item = call.txn.update(item_row);
    match y {
        Some(value) => new_item.set_int_in(item::GRP, value),
        None => new_item.set_null_in(item::GRP),
    }
    new_item.set_int_in(item::TAG, 1);
    new_item.set_int_in(item::QTY, qty);
    new_item.set_null_in(item::PRICE);
    new_item.set_int_in(item::RATE, 5000);
    new_item.set_null_in(item::LABEL);
    new_item.set_bytes_in(item::CODE, b"c");
    new_item.set_int_in(item::ACTIVE, i64::from(true));
    new_item.set_null_in(item::STALE);
    new_item.set_null_in(item::DAY);
    if let Some(item_row_2) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?
    {
        call.txn.delete(item_row_2);
    }
    let grp = number::int4(number::add(known(y)?, 1)?)?;
    let qty_2 = number::int4(number::add(known(x)?, 1000)?)?;
    let item_row_3 = call
        .txn
        .insert(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?;
    let mut new_item_2 = call.txn.update(item_row_3);
    new_item_2.set_int_in(item::GRP, grp);
    new_item_2.set_int_in(item::TAG, 2);
    new_item_2.set_int_in(item::QTY, qty_2);
    new_item_2.set_null_in(item::PRICE);
    new_item_2.set_int_in(item::RATE, 2500);
    new_item_2.set_null_in(item::LABEL);
    new_item_2.set_bytes_in(item::CODE, b"d");
    new_item_2.set_int_in(item::ACTIVE, i64::from(true));
    new_item_2.set_null_in(item::STALE);
    new_item_2.set_null_in(item::DAY);
    if let Some(item_row_4) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?
    {
        let item_4 = call.txn.row(item_row_4);
        let tag = number::int2(number::int4(number::add(item_4.int_in(item::TAG), 1)?)?)?;
        let mut new_item_3 = call.txn.update(item_row_4);
        new_item_3.set_int_in(item::TAG, tag);
    }
    let Some(item_row_5) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?
    else {
        return Err(Stop::Deviates);
    };
    let item_5 = call.txn.row(item_row_5);
    one = item_5.int_in(item::TAG);
    two = (!item_5.is_null_in(item::GRP)).then(|| item_5.int_in(item::GRP));
    let mut counted = 0_i64;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(known(y)?, 1)?)? as i32)
                .key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_6 in item_rows.iter() {
        counted += 1;
    }
    call.scratch.give_rows(item_rows);
    three = counted;
    if let Some(item_row_7) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?
    {
        call.txn.delete(item_row_7);
    }
    if let Some(item_row_8) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 100)?)? as i32).key(),
        )
        .await?
    {
        return Err(Stop::raised("P0001", "deleted twice"));
        call.txn.delete(item_row_8);
    } else {
    }
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int(three);
    Ok(())
}
