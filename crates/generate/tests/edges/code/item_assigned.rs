//! Procedure `item_assigned`, line 1343 of `procedures.sql`.

use super::tables::{Tables, item};
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

/// Carries out `item_assigned`.
pub async fn item_assigned<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    let mut two: Option<i64> = None;
    let mut three: Option<i64> = None;
    one = Some(1);
    two = Some(2);
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        two = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
        one = Some(item.int_in(item::TAG));
    } else {
        two = None;
        one = None;
    }
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(y)? as i32).key()).await?
    {
        let item_2 = call.txn.row(item_row_2);
        one = (!item_2.is_null_in(item::GRP)).then(|| item_2.int_in(item::GRP));
        three = one;
    } else {
        one = None;
        three = None;
    }
    one = one.or(two);
    if known(one)? == known(two)? {
        if let Some(item_row_3) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(known(one)? as i32).key()).await?
        {
            let item_3 = call.txn.row(item_row_3);
            one = Some(item_3.int_in(item::TAG));
        } else {
            one = None;
        }
    }
    if let Some(item_row_4) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_4 = call.txn.row(item_row_4);
        if known((!item_4.is_null_in(item::GRP)).then(|| item_4.int_in(item::GRP)))? == known(two)?
        {
            let item_4 = call.txn.row(item_row_4);
            let grp = item_4.int_in(item::TAG);
            let tag = number::int2(number::int4(number::add(
                1,
                number::int4(number::modulo(known(one)?, 3)?)?,
            )?)?)?;
            let mut new_item = call.txn.update(item_row_4);
            new_item.set_int_in(item::GRP, grp);
            new_item.set_int_in(item::TAG, tag);
        }
    }
    if let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_5 = call.txn.row(item_row_5);
        two = Some(number::int4(number::add(
            number::int4(number::multiply(
                known((!item_5.is_null_in(item::GRP)).then(|| item_5.int_in(item::GRP)))?,
                10,
            )?)?,
            item_5.int_in(item::TAG),
        )?)?);
    } else {
        two = None;
    }
    three = Some(three.unwrap_or(-1));
    call.results.row();
    call.results.int(number::int4(number::add(known(two)?, known(three)?)?)?);
    return Ok(());
}
