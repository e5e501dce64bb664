//! Procedure `remarked`, line 736 of `procedures.sql`.

use super::tables::{Tables, tag};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `of_mark`, integer.
    pub of_mark: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, of_mark] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, of_mark: of_mark.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `remarked`.
pub async fn remarked<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let of_mark = arguments.of_mark;
    if let Some(tag_row) =
        call.txn.read(tables.tag, &KeyBuilder::new().int4(x as i32).key()).await?
    {
        let mut new_tag = call.txn.update(tag_row);
        new_tag.set_int_in(tag::MARK, of_mark);
    }
    call.results.row();
    call.results.int(1);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    lane.prefetch(&[(tables.tag, KeyBuilder::new().int4(x as i32).key())]);
    Ok(())
}
