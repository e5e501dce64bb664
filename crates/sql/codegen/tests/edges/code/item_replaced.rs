//! Procedure `item_replaced`, line 883 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, known, number};

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

/// Executes the procedure `item_replaced`.
pub async fn item_replaced<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let to_grp = arguments.to_grp;
    let mut kept: Option<Text<8>> = None;
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item = call.txn.row(item_row);
        kept = ((!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL)))
            .map(Text::new)
            .transpose()?;
    } else {
        kept = None;
    }
    if let Some(item_row_2) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        call.txn.delete(item_row_2);
    }
    let item_row_3 =
        call.txn.insert(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?;
    let mut new_item = call.txn.update(item_row_3);
    match to_grp {
        Some(value) => new_item.set_int_in(item::GRP, value),
        None => new_item.set_null_in(item::GRP),
    }
    new_item.set_int_in(item::TAG, 1);
    new_item.set_null_in(item::QTY);
    new_item.set_null_in(item::PRICE);
    new_item.set_int_in(item::RATE, 5000);
    new_item.set_bytes_in(item::LABEL, b"again");
    new_item.set_bytes_in(item::CODE, b"c");
    new_item.set_int_in(item::ACTIVE, i64::from(false));
    new_item.set_null_in(item::STALE);
    new_item.set_null_in(item::DAY);
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(to_grp)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    item_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_4 in item_rows.iter() {
        let item_4 = call.txn.row(item_row_4);
        call.results.row();
        call.results.int(item_4.int_in(item::ID));
        call.results
            .text_or_null((!item_4.is_null_in(item::LABEL)).then(|| item_4.bytes_in(item::LABEL)));
    }
    call.scratch.give_rows(item_rows);
    if let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let grp = number::int4(number::add(known(to_grp)?, 1)?)?;
        let mut new_item_2 = call.txn.update(item_row_5);
        new_item_2.set_int_in(item::GRP, grp);
        match kept.as_deref() {
            Some(value) => new_item_2.set_bytes_in(item::LABEL, value),
            None => new_item_2.set_null_in(item::LABEL),
        }
    }
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(known(to_grp)?, 1)?)? as i32)
                .key(),
            &mut item_rows_2,
        )
        .await?;
    item_rows_2.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_6 in item_rows_2.iter() {
        let item_6 = call.txn.row(item_row_6);
        call.results.row();
        call.results.int(item_6.int_in(item::ID));
        call.results
            .text_or_null((!item_6.is_null_in(item::LABEL)).then(|| item_6.bytes_in(item::LABEL)));
    }
    call.scratch.give_rows(item_rows_2);
    if number::int4(number::modulo(known(x)?, 2)?)? == 0 {
        if let Some(item_row_7) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
        {
            call.txn.delete(item_row_7);
        }
    }
    let mut item_rows_3 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(known(to_grp)?, 1)?)? as i32)
                .key(),
            &mut item_rows_3,
        )
        .await?;
    item_rows_3.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    for &item_row_8 in item_rows_3.iter() {
        let item_8 = call.txn.row(item_row_8);
        call.results.row();
        call.results.int(item_8.int_in(item::ID));
        call.results
            .text_or_null((!item_8.is_null_in(item::LABEL)).then(|| item_8.bytes_in(item::LABEL)));
    }
    call.scratch.give_rows(item_rows_3);
    if let Some(item_row_9) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let item_9 = call.txn.row(item_row_9);
        call.results.row();
        call.results.int(item_9.int_in(item::ID));
        call.results
            .text_or_null((!item_9.is_null_in(item::LABEL)).then(|| item_9.bytes_in(item::LABEL)));
    }
    Ok(())
}
