//! Procedure `item_firsts`, line 1299 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, duplicate, known, number};
use txn::{Lane, Scan, ScanSource};

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

/// Executes the procedure `item_firsts`.
pub async fn item_firsts<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut two: i64;
    let mut three: Option<i64> = None;
    let mut item_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows,
        )
        .await?;
    item_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(item::ID), &right.int_in(item::ID))
    });
    let item_row = item_rows.iter().take(count(1)?).next().copied();
    call.scratch.give_rows(item_rows);
    let Some(item_row) = item_row else {
        return Err(Stop::Deviates);
    };
    let item = call.txn.row(item_row);
    one = item.int_in(item::ID);
    let mut item_rows_2 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.item),
        low: KeyBuilder::new().int4(number::int4(number::add(known(y)?, 1)?)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(number::int4(number::subtract(60, 1)?)? as i32).prefix_high(1),
        reverse: true,
        limit: count(1)?,
    };
    call.txn.scan(&range, &mut item_rows_2).await?;
    let item_row_2 = item_rows_2.iter().next().copied();
    call.scratch.give_rows(item_rows_2);
    let Some(item_row_2) = item_row_2 else {
        return Err(Stop::Deviates);
    };
    let item_2 = call.txn.row(item_row_2);
    two = item_2.int_in(item::ID);
    let mut item_rows_3 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.item),
        low: KeyBuilder::new().int4(one as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut item_rows_3).await?;
    let item_row_3 = item_rows_3.iter().skip(count(2)?).take(count(1)?).next().copied();
    call.scratch.give_rows(item_rows_3);
    if let Some(item_row_3) = item_row_3 {
        let item_3 = call.txn.row(item_row_3);
        three = (!item_3.is_null_in(item::QTY)).then(|| item_3.int_in(item::QTY));
    } else {
        three = None;
    }
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int_or_null(three);
    if three.is_some_and(|value| value < 500) {
        if let Some(item_row_4) =
            call.txn.read(tables.item, &KeyBuilder::new().int4(one as i32).key()).await?
        {
            let qty = number::add(known(three)?, 500)?;
            let mut new_item = call.txn.update(item_row_4);
            new_item.set_int_in(item::QTY, qty);
        }
    }
    if let Some(item_row_5) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(61 as i32).key()).await?
    {
        call.txn.delete(item_row_5);
    }
    let item_row_6 = call
        .txn
        .insert(tables.item, &KeyBuilder::new().int4(61 as i32).key())
        .await
        .map_err(|error| duplicate(error, "item_pkey", "id", &[61]))?;
    let mut new_item_2 = call.txn.update(item_row_6);
    match x {
        Some(value) => new_item_2.set_int_in(item::GRP, value),
        None => new_item_2.set_null_in(item::GRP),
    }
    new_item_2.set_int_in(item::TAG, 1);
    new_item_2.set_null_in(item::QTY);
    new_item_2.set_null_in(item::PRICE);
    new_item_2.set_int_in(item::RATE, 1000);
    new_item_2.set_null_in(item::LABEL);
    new_item_2.set_bytes_in(item::CODE, b"z");
    new_item_2.set_int_in(item::ACTIVE, i64::from(true));
    new_item_2.set_null_in(item::STALE);
    new_item_2.set_null_in(item::DAY);
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
        Ord::cmp(&right.int_in(item::ID), &left.int_in(item::ID))
    });
    let item_row_7 = item_rows_4.iter().take(count(1)?).next().copied();
    call.scratch.give_rows(item_rows_4);
    let Some(item_row_7) = item_row_7 else {
        return Err(Stop::Deviates);
    };
    let item_7 = call.txn.row(item_row_7);
    one = item_7.int_in(item::ID);
    let mut item_rows_5 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.item),
        low: KeyBuilder::new().int4(number::int4(number::add(known(y)?, 1)?)? as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: true,
        limit: count(1)?,
    };
    call.txn.scan(&range, &mut item_rows_5).await?;
    let item_row_8 = item_rows_5.iter().next().copied();
    call.scratch.give_rows(item_rows_5);
    let Some(item_row_8) = item_row_8 else {
        return Err(Stop::Deviates);
    };
    let item_8 = call.txn.row(item_row_8);
    two = item_8.int_in(item::ID);
    if let Some(item_row_9) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(61 as i32).key()).await?
    {
        call.txn.delete(item_row_9);
    }
    let mut item_rows_6 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.item),
        low: KeyBuilder::new().int4(number::int4(number::add(known(y)?, 1)?)? as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: true,
        limit: count(1)?,
    };
    call.txn.scan(&range, &mut item_rows_6).await?;
    let item_row_10 = item_rows_6.iter().next().copied();
    call.scratch.give_rows(item_rows_6);
    if let Some(item_row_10) = item_row_10 {
        let item_10 = call.txn.row(item_row_10);
        three = Some(item_10.int_in(item::ID));
    } else {
        three = None;
    }
    call.results.row();
    call.results.int(one);
    call.results.int(two);
    call.results.int_or_null(three);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    lane.prefetch(&[(tables.item, KeyBuilder::new().int4(61 as i32).key())]);
    Ok(())
}
