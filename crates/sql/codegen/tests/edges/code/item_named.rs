//! Procedure `item_named`, line 1162 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `t`, character varying.
    pub t: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, t] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            t: t.or_null(|argument| argument.text())?,
        })
    }
}

/// Executes the procedure `item_named`.
pub async fn item_named<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let t = arguments.t;
    let mut one: Option<i64> = None;
    let mut two: Option<i64> = None;
    let mut three: i64;
    let mut sum = None::<i64>;
    let mut least = None::<i64>;
    let mut counted = 0_i64;
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
        if ((!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL)))
            .zip(t)
            .is_some_and(|(left, right)| *left == *right)
        {
            let item = call.txn.row(item_row);
            sum = Some(number::add(sum.unwrap_or(0), item.int_in(item::ID))?);
            least =
                Some(least.map_or(item.int_in(item::ID), |v: i64| v.min(item.int_in(item::ID))));
            if let Some(value) = (!item.is_null_in(item::LABEL)).then(|| item.bytes_in(item::LABEL))
            {
                counted += 1;
            }
        }
    }
    call.scratch.give_rows(item_rows);
    one = sum;
    two = least;
    three = counted;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    let mut sum_2 = None::<i64>;
    let mut greatest = None::<i64>;
    let mut counted_2 = 0_i64;
    let mut item_rows_2 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_2,
        )
        .await?;
    for &item_row_2 in item_rows_2.iter() {
        let item_2 = call.txn.row(item_row_2);
        if !item_2.is_null_in(item::LABEL)
            && const { &text::Part::new(b"a") }.is_in(item_2.bytes_in(item::LABEL))
        {
            let item_2 = call.txn.row(item_row_2);
            sum_2 = Some(number::add(sum_2.unwrap_or(0), item_2.int_in(item::ID))?);
            greatest = Some(
                greatest.map_or(item_2.int_in(item::TAG), |v: i64| v.max(item_2.int_in(item::TAG))),
            );
            counted_2 += 1;
        }
    }
    call.scratch.give_rows(item_rows_2);
    one = sum_2;
    two = greatest;
    three = counted_2;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    let mut sum_3 = None::<i64>;
    let mut least_2 = None::<i64>;
    let mut values = call.scratch.take_numbers();
    let mut item_rows_3 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_3,
        )
        .await?;
    for &item_row_3 in item_rows_3.iter() {
        let item_3 = call.txn.row(item_row_3);
        if ((!item_3.is_null_in(item::LABEL) && *item_3.bytes_in(item::LABEL) == b"a"[..])
            || (!item_3.is_null_in(item::LABEL) && *item_3.bytes_in(item::LABEL) == b"ab"[..]))
            || ((!item_3.is_null_in(item::LABEL)).then(|| item_3.bytes_in(item::LABEL)))
                .zip(t)
                .is_some_and(|(left, right)| *left == *right)
        {
            let item_3 = call.txn.row(item_row_3);
            sum_3 = Some(number::add(sum_3.unwrap_or(0), item_3.int_in(item::ID))?);
            least_2 = Some(
                least_2.map_or(item_3.int_in(item::ID), |v: i64| v.min(item_3.int_in(item::ID))),
            );
            values.push(item_3.int_in(item::TAG));
        }
    }
    call.scratch.give_rows(item_rows_3);
    values.sort_unstable();
    values.dedup();
    let counted_3 = values.len() as i64;
    call.scratch.give_numbers(values);
    one = sum_3;
    two = least_2;
    three = counted_3;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    let mut sum_4 = None::<i64>;
    let mut least_3 = None::<i64>;
    let mut counted_4 = 0_i64;
    let mut item_rows_4 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_4,
        )
        .await?;
    for &item_row_4 in item_rows_4.iter() {
        let item_4 = call.txn.row(item_row_4);
        if item_4.is_null_in(item::LABEL) {
            let item_4 = call.txn.row(item_row_4);
            sum_4 = Some(number::add(sum_4.unwrap_or(0), item_4.int_in(item::ID))?);
            least_3 = Some(
                least_3.map_or(item_4.int_in(item::ID), |v: i64| v.min(item_4.int_in(item::ID))),
            );
            counted_4 += 1;
        }
    }
    call.scratch.give_rows(item_rows_4);
    one = sum_4;
    two = least_3;
    three = counted_4;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    let mut sum_5 = None::<i64>;
    let mut least_4 = None::<i64>;
    let mut counted_5 = 0_i64;
    let mut item_rows_5 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_5,
        )
        .await?;
    for &item_row_5 in item_rows_5.iter() {
        let item_5 = call.txn.row(item_row_5);
        if t.map(text::trimmed).is_some_and(|value| *item_5.bytes_in(item::CODE) == *value)
            || ((!item_5.is_null_in(item::LABEL)).then(|| item_5.bytes_in(item::LABEL)))
                .zip(t)
                .is_some_and(|(left, right)| *left > *right)
        {
            let item_5 = call.txn.row(item_row_5);
            sum_5 = Some(number::add(sum_5.unwrap_or(0), item_5.int_in(item::ID))?);
            least_4 = Some(
                least_4.map_or(item_5.int_in(item::ID), |v: i64| v.min(item_5.int_in(item::ID))),
            );
            counted_5 += 1;
        }
    }
    call.scratch.give_rows(item_rows_5);
    one = sum_5;
    two = least_4;
    three = counted_5;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    let mut sum_6 = None::<i64>;
    let mut least_5 = None::<i64>;
    let mut counted_6 = 0_i64;
    let mut item_rows_6 = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.item_by_item_grp,
            &KeyBuilder::new().unsigned(0, 1).int4(known(x)? as i32).key(),
            &mut item_rows_6,
        )
        .await?;
    for &item_row_6 in item_rows_6.iter() {
        let item_6 = call.txn.row(item_row_6);
        if *item_6.bytes_in(item::CODE) == b"ab"[..]
            || (!item_6.is_null_in(item::LABEL) && *item_6.bytes_in(item::LABEL) >= b"b"[..])
        {
            let item_6 = call.txn.row(item_row_6);
            sum_6 = Some(number::add(sum_6.unwrap_or(0), item_6.int_in(item::ID))?);
            least_5 = Some(
                least_5.map_or(item_6.int_in(item::ID), |v: i64| v.min(item_6.int_in(item::ID))),
            );
            counted_6 += 1;
        }
    }
    call.scratch.give_rows(item_rows_6);
    one = sum_6;
    two = least_5;
    three = counted_6;
    call.results.row();
    call.results.int_or_null(one);
    call.results.int_or_null(two);
    call.results.int(three);
    Ok(())
}
