//! Procedure `item_moved`, line 859 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `to_grp`, integer.
    pub to_grp: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, to_grp] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            to_grp: to_grp.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `item_moved`.
pub async fn item_moved<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let to_grp = arguments.to_grp;
    let mut step: i64;
    let mut found_id: Option<i64> = None;
    let mut counted: i64;
    let mut of_grp: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((
        tables.item,
        KeyBuilder::new().int4(number::int4(number::add(known(x)?, 1)?)? as i32).key(),
    ));
    call.scratch.reads.push((
        tables.item,
        KeyBuilder::new().int4(number::int4(number::add(known(x)?, 2)?)? as i32).key(),
    ));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        of_grp = (!item.is_null_in(item::GRP)).then(|| item.int_in(item::GRP));
    } else {
        of_grp = None;
    }
    step = 0;
    found_id = of_grp;
    let mut counted_2 = 0_i64;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(of_grp)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_2 in item_rows.iter() {
        counted_2 += 1;
    }
    call.scratch.give_rows(item_rows);
    counted = counted_2;
    call.results.row();
    call.results.int(step);
    call.results.int_or_null(found_id);
    call.results.int(counted);
    if let Some(item_row_3) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let mut new_item = call.txn.update(item_row_3);
        match to_grp {
            Some(value) => new_item.set_int_in(item::GRP, value),
            None => new_item.set_null_in(item::GRP),
        }
    }
    let mut counted_3 = 0_i64;
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(of_grp)? as i32).key(),
            &mut item_rows_2,
        )
        .await?;
    for &item_row_4 in item_rows_2.iter() {
        counted_3 += 1;
    }
    call.scratch.give_rows(item_rows_2);
    counted = counted_3;
    step = 1;
    call.results.row();
    call.results.int(step);
    call.results.int_or_null(found_id);
    call.results.int(counted);
    let mut counted_4 = 0_i64;
    let mut item_rows_3 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(to_grp)? as i32).key(),
            &mut item_rows_3,
        )
        .await?;
    for &item_row_5 in item_rows_3.iter() {
        counted_4 += 1;
    }
    call.scratch.give_rows(item_rows_3);
    counted = counted_4;
    step = 2;
    call.results.row();
    call.results.int(step);
    call.results.int_or_null(found_id);
    call.results.int(counted);
    if let Some(item_row_6) = call.scratch.found[0] {
        let mut new_item_2 = call.txn.update(item_row_6);
        match of_grp {
            Some(value) => new_item_2.set_int_in(item::GRP, value),
            None => new_item_2.set_null_in(item::GRP),
        }
    }
    if let Some(item_row_7) = call.scratch.found[1] {
        let mut new_item_3 = call.txn.update(item_row_7);
        new_item_3.set_null_in(item::GRP);
    }
    let mut counted_5 = 0_i64;
    let mut item_rows_4 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(of_grp)? as i32).key(),
            &mut item_rows_4,
        )
        .await?;
    for &item_row_8 in item_rows_4.iter() {
        let item_8 = call.txn.row(item_row_8);
        if let Some(value) = (!item_8.is_null_in(item::GRP)).then(|| item_8.int_in(item::GRP)) {
            counted_5 += 1;
        }
    }
    call.scratch.give_rows(item_rows_4);
    counted = counted_5;
    step = 3;
    call.results.row();
    call.results.int(step);
    call.results.int_or_null(found_id);
    call.results.int(counted);
    let mut item_rows_5 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(to_grp)? as i32).key(),
            &mut item_rows_5,
        )
        .await?;
    item_rows_5.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_9 in item_rows_5.iter() {
        let item_9 = call.txn.row(item_row_9);
        call.results.row();
        call.results.int(item_9.int_in(item::TAG));
        call.results.int(item_9.int_in(item::ID));
        call.results.int_or_null((!item_9.is_null_in(item::QTY)).then(|| item_9.int_in(item::QTY)));
    }
    call.scratch.give_rows(item_rows_5);
    Ok(())
}
