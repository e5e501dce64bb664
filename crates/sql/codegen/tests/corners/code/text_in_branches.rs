//! Procedure `text_in_branches`, line 397 of `procedures.sql`.

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

/// Executes the procedure `text_in_branches`.
pub async fn text_in_branches<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut kept: Text<200>;
    let mut other: Text<200>;
    let Some(wide_row) =
        call.txn.read(tables.wide, &KeyBuilder::new().int4(x as i32).key()).await?
    else {
        return Err(Stop::raised("P0001", "no row"));
    };
    let wide = call.txn.row(wide_row);
    kept = Text::new(wide.bytes_in(wide::PAD))?;
    other = Text::new(wide.bytes_in(wide::PAD))?;
    if y > 3 {
        if let Some(wide_row_2) =
            call.txn.read(tables.wide, &KeyBuilder::new().int4(y as i32).key()).await?
        {
            let wide_2 = call.txn.row(wide_row_2);
            kept = Text::new(wide_2.bytes_in(wide::PAD))?;
        } else {
            kept = Text::new(b"nothing")?;
        }
    } else if y > 1 {
        kept = Text::new(b"few")?;
    }
    for i in 1..=2 {
        if i == 2 {
            other = Text::new(&kept)?;
        }
    }
    call.results.row();
    call.results.text(&Text::<10>::of(&[text::left(&kept, 5)?, text::left(&other, 5)?])?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    lane.prefetch(&[(tables.wide, KeyBuilder::new().int4(x as i32).key())]);
    Ok(())
}
