//! Procedure `item_inserted`, line 1260 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, element, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `list`, integer[].
    pub list: Option<&'a [i64]>,
    /// `y`, integer.
    pub y: Option<i64>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [list, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            list: list.or_null(|argument| argument.ints())?,
            y: y.or_null(|argument| argument.int4())?,
        })
    }
}

/// Executes the procedure `item_inserted`.
pub async fn item_inserted<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let list = arguments.list;
    let y = arguments.y;
    let mut counted: i64;
    for i in 1..=4 {
        let grp = number::int4(number::add(90, known(y)?)?)?;
        let tag = number::int2(i)?;
        let item_row = call
            .txn
            .insert(
                tables.item,
                &KeyBuilder::new()
                    .int4(number::int4(number::add(element(known(list)?, i)?, 300)?)? as i32)
                    .key(),
            )
            .await?;
        let mut new_item = call.txn.update(item_row);
        new_item.set_int_in(item::GRP, grp);
        new_item.set_int_in(item::TAG, tag);
        new_item.set_null_in(item::QTY);
        new_item.set_null_in(item::PRICE);
        new_item.set_int_in(item::RATE, 2500);
        new_item.set_null_in(item::LABEL);
        new_item.set_bytes_in(item::CODE, b"z");
        new_item.set_int_in(item::ACTIVE, i64::from(true));
        new_item.set_null_in(item::STALE);
        new_item.set_null_in(item::DAY);
    }
    let mut counted_2 = 0_i64;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(90, known(y)?)?)? as i32)
                .key(),
            &mut item_rows,
        )
        .await?;
    for &item_row_2 in item_rows.iter() {
        counted_2 += 1;
    }
    call.scratch.give_rows(item_rows);
    counted = counted_2;
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(90, known(y)?)?)? as i32)
                .key(),
            &mut item_rows_2,
        )
        .await?;
    for &item_row_3 in item_rows_2.iter() {
        let item_3 = call.txn.row(item_row_3);
        if item_3.int_in(item::TAG) < 3 {
            call.txn.delete(item_row_3);
        }
    }
    call.scratch.give_rows(item_rows_2);
    let mut counted_3 = 0_i64;
    let mut item_rows_3 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(90, known(y)?)?)? as i32)
                .key(),
            &mut item_rows_3,
        )
        .await?;
    for &item_row_4 in item_rows_3.iter() {
        counted_3 += 1;
    }
    call.scratch.give_rows(item_rows_3);
    counted = number::add(number::multiply(counted, 10)?, counted_3)?;
    let mut item_rows_4 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new()
                .unsigned(0, 1)
                .int4(number::int4(number::add(90, known(y)?)?)? as i32)
                .key(),
            &mut item_rows_4,
        )
        .await?;
    for &item_row_5 in item_rows_4.iter() {
        call.txn.delete(item_row_5);
    }
    call.scratch.give_rows(item_rows_4);
    call.results.row();
    call.results.int(counted);
    return Ok(());
}
