//! Procedure `text_before`, line 379 of `procedures.sql`.

use super::tables::{Tables, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, text};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `text_before`.
pub async fn text_before<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut before: Text<20> = Default::default();
    let mut after: Text<20> = Default::default();
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(y as i32).key()));
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    let Some(wide_row) = call.scratch.found[0] else {
        call.results.row();
        call.results.text(b"none");
        return Ok(());
    };
    let wide = call.txn.row(wide_row);
    before.set(wide.bytes_in(wide::T))?;
    if let Some(wide_row_2) = call.scratch.found[1] {
        let t = Text::<6>::new(&Text::<6>::of(&[text::left(&before, 5)?, b"x"])?)?;
        let mut new_wide = call.txn.update(wide_row_2);
        new_wide.set_bytes_in(wide::T, &t);
    }
    let Some(wide_row_3) = call.scratch.found[0] else {
        call.results.row();
        call.results.text(b"gone");
        return Ok(());
    };
    let wide_3 = call.txn.row(wide_row_3);
    after.set(wide_3.bytes_in(wide::T))?;
    call.results.row();
    call.results.text(&Text::<13>::of(&[text::left(&before, 6)?, b"/", text::left(&after, 6)?])?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    lane.prefetch(&[
        (tables.wide, KeyBuilder::new().int4(x as i32).key()),
        (tables.wide, KeyBuilder::new().int4(y as i32).key()),
    ]);
    Ok(())
}
