//! Procedure `item_truths`, line 1212 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `t`, boolean.
    pub t: Option<bool>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, t] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            t: t.or_null(|argument| argument.bool())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `item_truths`.
pub async fn item_truths<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let t = arguments.t;
    let mut one: i64;
    let mut two: Option<i64> = None;
    let mut three: Option<bool> = None;
    let mut four: bool;
    let mut counted = 0_i64;
    let mut sum = None::<i64>;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    for &item_row in item_rows.iter() {
        let item = call.txn.row(item_row);
        if ((!item.is_null_in(item::STALE)).then(|| item.int_in(item::STALE) != 0)) != Some(true)
            && t.is_some_and(|value| (item.int_in(item::ACTIVE) != 0) == value)
        {
            counted += 1;
            let item = call.txn.row(item_row);
            sum = Some(number::add(sum.unwrap_or(0), item.int_in(item::ID))?);
        }
    }
    call.scratch.give_rows(item_rows);
    one = counted;
    two = sum;
    let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item_2 = call.txn.row(item_row_2);
    three = Some(
        (item_2.int_in(item::ACTIVE) != 0)
            && known((!item_2.is_null_in(item::STALE)).then(|| item_2.int_in(item::STALE) != 0))?,
    );
    four = (!known((!item_2.is_null_in(item::STALE)).then(|| item_2.int_in(item::STALE) != 0))?)
        || known(t)?;
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int_or_null(three.map(i64::from));
    call.results.int(i64::from(four));
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_3 = call.txn.row(item_row_3);
        let active = !(item_3.int_in(item::ACTIVE) != 0);
        let stale = (item_3.int_in(item::ACTIVE) != 0) == known(t)?;
        let mut new_item = call.txn.update(item_row_3);
        new_item.set_int_in(item::ACTIVE, i64::from(active));
        new_item.set_int_in(item::STALE, i64::from(stale));
    }
    let mut counted_2 = 0_i64;
    let mut counted_3 = 0_i64;
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_2,
        )
        .await?;
    for &item_row_4 in item_rows_2.iter() {
        let item_4 = call.txn.row(item_row_4);
        if item_4.is_null_in(item::STALE) || item_4.int_in(item::ACTIVE) != 0 || !(t != Some(false))
        {
            let item_4 = call.txn.row(item_row_4);
            if let Some(value) =
                (!item_4.is_null_in(item::STALE)).then(|| item_4.int_in(item::STALE) != 0)
            {
                counted_2 += 1;
            }
            counted_3 += 1;
        }
    }
    call.scratch.give_rows(item_rows_2);
    one = counted_2;
    two = Some(counted_3);
    let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let item_5 = call.txn.row(item_row_5);
    three = (!item_5.is_null_in(item::STALE)).then(|| item_5.int_in(item::STALE) != 0);
    four = known((!item_5.is_null_in(item::STALE)).then(|| item_5.int_in(item::STALE) != 0))?
        == (item_5.int_in(item::ACTIVE) != 0);
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int_or_null(three.map(i64::from));
    call.results.int(i64::from(four));
    Ok(())
}
