//! Procedure `item_found`, line 944 of `procedures.sql`.

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

/// Executes the procedure `item_found`.
pub async fn item_found<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut step: i64;
    let mut was: bool;
    let mut found = false;
    let mut one: Option<i64> = None;
    step = 1;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        one = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
        found = true;
    } else {
        found = false;
        one = None;
    }
    step = 2;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    one = y;
    if found {
        let mut is_found = false;
        if let Some(item_row_2) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(known(y)? as i32).key()).await?
        {
            let item_2 = call.txn.row(item_row_2);
            if item_2.int_in(item::TAG) > 2 {
                let item_2 = call.txn.row(item_row_2);
                let stale = !(item_2.int_in(item::ACTIVE) != 0);
                let mut new_item = call.txn.update(item_row_2);
                new_item.set_int_in(item::STALE, i64::from(stale));
                found = true;
                is_found = true;
            }
        }
        if !is_found {
            found = false;
        }
    }
    step = 3;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    let mut counted = 0_i64;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(-7 as i32).key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_3 in item_rows.iter() {
        counted += 1;
    }
    call.scratch.give_rows(item_rows);
    found = true;
    step = 4;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    if let Some(item_row_4) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new()
                .int4(
                    number::int4(number::subtract(number::int4(number::negate(known(y)?)?)?, 1)?)?
                        as i32,
                )
                .key(),
        )
        .await?
    {
        found = true;
        call.txn.delete(item_row_4);
    } else {
        found = false;
    }
    step = 5;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    let mut has_begun = false;
    for i in 1..=known(y)? {
        has_begun = true;
        if let Some(item_row_5) = call
            .txn
            .read(
                tables.item,
                &KeyBuilder::new().int4(number::int4(number::add(i, 38)?)? as i32).key(),
            )
            .await?
        {
            let item_5 = call.txn.row(item_row_5);
            one = (!item_5.is_null_in(item::GRP)).then(|| item_5.int_in(item::GRP));
            found = true;
        } else {
            found = false;
            one = None;
        }
        if !found {
            break;
        }
    }
    found = has_begun;
    step = 6;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_2,
        )
        .await?;
    item_rows_2.truncate(1);
    let item_row_6 = item_rows_2.iter().next().copied();
    call.scratch.give_rows(item_rows_2);
    if let Some(item_row_6) = item_row_6 {
        found = true;
    } else {
        found = false;
    }
    step = 7;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    while one.is_some_and(|value| value < 3) {
        one = Some(number::int4(number::add(known(one)?, 1)?)?);
    }
    step = 8;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    let mut has_begun_2 = false;
    let mut item_rows_3 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(y)? as i32).key(),
            &mut item_rows_3,
        )
        .await?;
    item_rows_3.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_7 in item_rows_3.iter() {
        has_begun_2 = true;
        let item_7 = call.txn.row(item_row_7);
        one = Some(item_7.int_in(item::ID));
        if let Some(item_row_8) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(-1 as i32).key()).await?
        {
            found = true;
        } else {
            found = false;
        }
    }
    call.scratch.give_rows(item_rows_3);
    found = has_begun_2;
    step = 9;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    let mut gives_rows = false;
    let mut item_rows_4 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_4,
        )
        .await?;
    item_rows_4.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_9 in item_rows_4.iter() {
        gives_rows = true;
        let item_9 = call.txn.row(item_row_9);
        call.results.row();
        call.results.int(item_9.int_in(item::ID));
        call.results.int(i64::from(item_9.int_in(item::ACTIVE) != 0));
    }
    call.scratch.give_rows(item_rows_4);
    found = gives_rows;
    step = 10;
    was = found;
    call.results.row();
    call.results.int(step);
    call.results.int(i64::from(was));
    Ok(())
}
