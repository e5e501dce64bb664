//! Procedure `marked`, line 718 of `procedures.sql`.

use super::tables::{Tables, tag};
use fabric::Env;
use layout::KeyBuilder;
use runtime::{Argument, Call, Stop, duplicate, number};
use txn::Lane;

/// The arguments.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `of_mark`, integer.
    pub of_mark: i64,
    /// Nothing is borrowed.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Takes the arguments of a call; others than expected deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, of_mark] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, of_mark: of_mark.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Carries out `marked`.
pub async fn marked<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let of_mark = arguments.of_mark;
    let tag_row = call
        .txn
        .insert(tables.tag, &KeyBuilder::new().int4(x as i32).key())
        .await
        .map_err(|error| duplicate(error, "tag_pkey", "id", &[x]))?;
    let mut new_tag = call.txn.update(tag_row);
    new_tag.set_int_in(tag::MARK, of_mark);
    if let Some(tag_row_2) =
        call.txn.read(tables.tag, &KeyBuilder::new().int4(x as i32).key()).await?
    {
        let mark = number::int4(number::add(of_mark, 1)?)?;
        let mut new_tag_2 = call.txn.update(tag_row_2);
        new_tag_2.set_int_in(tag::MARK, mark);
    }
    if let Some(tag_row_3) = call
        .txn
        .read(tables.tag, &KeyBuilder::new().int4(number::int4(number::add(x, 1)?)? as i32).key())
        .await?
    {
        let mut new_tag_3 = call.txn.update(tag_row_3);
        new_tag_3.set_null_in(tag::MARK);
    }
    if let Some(tag_row_4) = call
        .txn
        .read(tables.tag, &KeyBuilder::new().int4(number::int4(number::add(x, 2)?)? as i32).key())
        .await?
    {
        call.txn.delete(tag_row_4);
    }
    call.results.row();
    call.results.int(1);
    return Ok(());
}

/// Asks for what a call with these arguments will look for first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    lane.prefetch(&[
        (tables.tag, KeyBuilder::new().int4(x as i32).key()),
        (tables.tag, KeyBuilder::new().int4(number::int4(number::add(x, 1)?)? as i32).key()),
        (tables.tag, KeyBuilder::new().int4(number::int4(number::add(x, 2)?)? as i32).key()),
    ]);
    Ok(())
}
