//! Procedure `item_raised`, line 1025 of `procedures.sql`.

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

/// Executes the procedure `item_raised`.
pub async fn item_raised<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Option<i64> = None;
    if let Some(item_row) =
        call.txn.read(tables.item, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let mut new_item = call.txn.update(item_row);
        match y {
            Some(value) => new_item.set_int_in(item::GRP, value),
            None => new_item.set_null_in(item::GRP),
        }
    }
    if let Some(item_row_2) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 1)?)? as i32).key(),
        )
        .await?
    {
        call.txn.delete(item_row_2);
    }
    let tag = number::int2(known(y)?)?;
    let item_row_3 = call
        .txn
        .insert(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 200)?)? as i32).key(),
        )
        .await?;
    let mut new_item_2 = call.txn.update(item_row_3);
    new_item_2.set_null_in(item::GRP);
    new_item_2.set_int_in(item::TAG, tag);
    new_item_2.set_null_in(item::QTY);
    new_item_2.set_null_in(item::PRICE);
    new_item_2.set_int_in(item::RATE, 1000);
    new_item_2.set_null_in(item::LABEL);
    new_item_2.set_bytes_in(item::CODE, b"z");
    new_item_2.set_int_in(item::ACTIVE, i64::from(true));
    new_item_2.set_null_in(item::STALE);
    new_item_2.set_null_in(item::DAY);
    // No round looks at another's rows: they go side by side, from one reading to the next.
    let mut rounds = [None; 3];
    call.scratch.reads.clear();
    for i in 0..=2 {
        rounds[call.scratch.reads.len()] = Some((i,));
        call.scratch.reads.push((
            tables.item,
            KeyBuilder::new().int4(number::int4(number::add(known(x)?, i)?)? as i32).key(),
        ));
    }

    let mut item_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut item_found).await?;
    for (at, round) in rounds.into_iter().flatten().enumerate() {
        let i;
        (i,) = round;
        if let Some(item_row_4) = item_found[at] {
            let item_4 = call.txn.row(item_row_4);
            one = Some(item_4.int_in(item::TAG));
        } else {
            one = None;
            one = Some(7);
        }
        if one.zip(y).is_some_and(|(left, right)| left == right) {
            return Err(Stop::raised("P0099", "undone"));
        }
    }
    call.scratch.give_found(item_found);
    if let Some(item_row_5) = call
        .txn
        .read(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 200)?)? as i32).key(),
        )
        .await?
    {
        call.txn.delete(item_row_5);
    }
    let item_row_6 = call
        .txn
        .insert(
            tables.item,
            &KeyBuilder::new().int4(number::int4(number::add(known(x)?, 1)?)? as i32).key(),
        )
        .await?;
    let mut new_item_3 = call.txn.update(item_row_6);
    match x {
        Some(value) => new_item_3.set_int_in(item::GRP, value),
        None => new_item_3.set_null_in(item::GRP),
    }
    new_item_3.set_int_in(item::TAG, 5);
    new_item_3.set_null_in(item::QTY);
    new_item_3.set_null_in(item::PRICE);
    new_item_3.set_int_in(item::RATE, 7000);
    new_item_3.set_null_in(item::LABEL);
    new_item_3.set_bytes_in(item::CODE, b"back");
    new_item_3.set_int_in(item::ACTIVE, i64::from(true));
    new_item_3.set_null_in(item::STALE);
    new_item_3.set_null_in(item::DAY);
    call.results.row();
    call.results.int_or_null(one);
    return Ok(());
}
