//! Procedure `item_days`, line 1198 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `d`, date.
    pub d: Option<i64>,
    /// `e`, date.
    pub e: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, d, e] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            d: d.or_null(|argument| argument.int4())?,
            e: e.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `item_days`.
pub async fn item_days<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let d = arguments.d;
    let e = arguments.e;
    let mut one: i64;
    let mut two: Option<i64> = None;
    let mut late: bool;
    let mut found_day: Option<i64> = None;
    let mut found = false;
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
        if ((!item.is_null_in(item::DAY)).then(|| item.int_in(item::DAY)))
            .zip(d)
            .is_some_and(|(left, right)| left >= right)
            || ((!item.is_null_in(item::DAY)).then(|| item.int_in(item::DAY)))
                .zip(e)
                .is_some_and(|(left, right)| left == right)
        {
            counted += 1;
            let item = call.txn.row(item_row);
            sum = Some(number::add(sum.unwrap_or(0), item.int_in(item::ID))?);
        }
    }
    call.scratch.give_rows(item_rows);
    one = counted;
    two = sum;
    found = true;
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let mut new_item = call.txn.update(item_row_2);
        match d {
            Some(value) => new_item.set_int_in(item::DAY, value),
            None => new_item.set_null_in(item::DAY),
        }
        found = true;
    } else {
        found = false;
    }
    let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    else {
        found = false;
        return Err(Stop::Deviates);
    };
    let item_3 = call.txn.row(item_row_3);
    late = known((!item_3.is_null_in(item::DAY)).then(|| item_3.int_in(item::DAY)))? < known(e)?;
    found_day = (!item_3.is_null_in(item::DAY)).then(|| item_3.int_in(item::DAY));
    found = true;
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int(i64::from(late));
    call.results.int_or_null(found_day);
    let mut is_found = false;
    if let Some(item_row_4) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_4 = call.txn.row(item_row_4);
        if ((!item_4.is_null_in(item::DAY)).then(|| item_4.int_in(item::DAY)))
            .zip(e)
            .is_some_and(|(left, right)| left > right)
        {
            let mut new_item_2 = call.txn.update(item_row_4);
            match e {
                Some(value) => new_item_2.set_int_in(item::DAY, value),
                None => new_item_2.set_null_in(item::DAY),
            }
            found = true;
            is_found = true;
        }
    }
    if !is_found {
        found = false;
    }
    if found && d.zip(e).is_some_and(|(left, right)| left > right) {
        found_day = e;
    }
    call.results.row();
    call.results.int(one);
    call.results.int_or_null(two);
    call.results.int(i64::from(late));
    call.results.int_or_null(found_day);
    Ok(())
}
