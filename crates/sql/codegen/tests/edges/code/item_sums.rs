//! Procedure `item_sums`, line 1079 of `procedures.sql`.

use super::tables::{Tables, item};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.or_null(|argument| argument.int4())?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `item_sums`.
pub async fn item_sums<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut one: Option<i64> = None;
    let mut two: Option<i64> = None;
    let mut three: Option<i64> = None;
    let mut four: Option<i64> = None;
    let mut five: Option<i64> = None;
    let mut six: i64;
    let mut seven: Option<i64> = None;
    let mut sum = None::<i64>;
    let mut greatest = None::<i64>;
    let mut sum_2 = None::<i64>;
    let mut sum_3 = None::<i64>;
    let mut greatest_2 = None::<i64>;
    let mut counted = 0_i64;
    let mut least = None::<i64>;
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
        if let Some(value) = (!item.is_null_in(item::PRICE)).then(|| item.int_in(item::PRICE)) {
            sum = Some(number::add(sum.unwrap_or(0), value)?);
        }
        let item = call.txn.row(item_row);
        greatest =
            Some(greatest.map_or(item.int_in(item::RATE), |v: i64| v.max(item.int_in(item::RATE))));
        sum_2 = Some(number::add(sum_2.unwrap_or(0), item.int_in(item::TAG))?);
        if let Some(value) = (!item.is_null_in(item::QTY)).then(|| item.int_in(item::QTY)) {
            sum_3 = Some(number::add(sum_3.unwrap_or(0), value)?);
        }
        let item = call.txn.row(item_row);
        if let Some(value) = (!item.is_null_in(item::QTY)).then(|| item.int_in(item::QTY)) {
            greatest_2 = Some(greatest_2.map_or(value, |v: i64| v.max(value)));
        }
        let item = call.txn.row(item_row);
        if let Some(value) = (!item.is_null_in(item::PRICE)).then(|| item.int_in(item::PRICE)) {
            counted += 1;
        }
        let item = call.txn.row(item_row);
        least = Some(least.map_or(item.int_in(item::ID), |v: i64| v.min(item.int_in(item::ID))));
    }
    call.scratch.give_rows(item_rows);
    one = sum;
    two = greatest;
    three = sum_2;
    four = sum_3;
    five = greatest_2;
    six = counted;
    seven = least;
    call.results.row();
    call.results.decimal_or_null(one, 2);
    call.results.decimal_or_null(two, 4);
    call.results.int_or_null(three);
    call.results.decimal_or_null(four, 0);
    call.results.int_or_null(five);
    call.results.int(six);
    call.results.int_or_null(seven);
    Ok(())
}
