//! Procedure `null_keys`, line 313 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

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

/// Executes the procedure `null_keys`.
pub async fn null_keys<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: i64;
    let mut two: i64;
    let mut counted = 0_i64;
    if let Some(pair_row) = call
        .txn
        .read(
            tables.pair,
            &KeyBuilder::new()
                .int4(known(x)? as i32)
                .int4(known(if y.is_some_and(|value| value == 3) { None } else { y })? as i32)
                .key(),
        )
        .await?
    {
        counted += 1;
    }
    one = counted;
    if let Some(pair_row_2) = call
        .txn
        .read(
            tables.pair,
            &KeyBuilder::new()
                .int4(known(if x.is_some_and(|value| value == 2) { None } else { x })? as i32)
                .int4(known(y)? as i32)
                .key(),
        )
        .await?
    {
        let mut new_pair = call.txn.update(pair_row_2);
        new_pair.set_int_in(pair::V, 7);
    }
    let mut counted_2 = 0_i64;
    let mut pair_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new()
            .int4(known(x)? as i32)
            .int4(known(if y.is_some_and(|value| value == 1) { None } else { y })? as i32)
            .prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut pair_rows).await?;
    for &pair_row_3 in pair_rows.iter() {
        let pair_3 = call.txn.row(pair_row_3);
        if let Some(value) = (!pair_3.is_null_in(pair::V)).then(|| pair_3.int_in(pair::V)) {
            counted_2 += 1;
        }
    }
    call.scratch.give_rows(pair_rows);
    two = counted_2;
    if let Some(pair_row_4) = call
        .txn
        .read(
            tables.pair,
            &KeyBuilder::new()
                .int4(known(x)? as i32)
                .int4(known(if y.zip(y).is_some_and(|(left, right)| left == right) {
                    None
                } else {
                    y
                })? as i32)
                .key(),
        )
        .await?
    {
        call.txn.delete(pair_row_4);
    }
    if call
        .txn
        .read(
            tables.pair,
            &KeyBuilder::new()
                .int4(known(x)? as i32)
                .int4(known(if y.is_some_and(|value| value == 4) { None } else { y })? as i32)
                .key(),
        )
        .await?
        .is_none()
    {
        let pair_row_5 = call
            .txn
            .insert(
                tables.pair,
                &KeyBuilder::new()
                    .int4(known(x)? as i32)
                    .int4(known(if y.is_some_and(|value| value == 4) { None } else { y })? as i32)
                    .key(),
            )
            .await?;
        let mut new_pair_2 = call.txn.update(pair_row_5);
        new_pair_2.set_null_in(pair::V);
        new_pair_2.set_int_in(pair::W, 0);
    }
    call.results.row();
    call.results.int(number::add(number::multiply(one, 100)?, two)?);
    return Ok(());
}
