//! Procedure `most_of_rows`, line 1095 of `procedures.sql`.

use super::tables::{Tables, broad};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text};
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

/// Executes the procedure `most_of_rows`.
pub async fn most_of_rows<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut one: Text<80>;
    let mut two: Text<80>;
    let mut three: Text<80>;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.broad, KeyBuilder::new().int4(x as i32).key()));
    call.scratch.reads.push((tables.broad, KeyBuilder::new().int4(y as i32).key()));
    call.txn
        .read_columns(
            &call.scratch.reads,
            &[tables.columns_of_broad_one_two],
            &mut call.scratch.found,
        )
        .await?;
    let Some(broad_row) = call.scratch.found[0] else {
        return Err(Stop::raised("P0001", "no first row"));
    };
    let broad = call.txn.row(broad_row);
    one = Text::new(broad.bytes_in(broad::ONE))?;
    two = Text::new(broad.bytes_in(broad::TWO))?;
    let Some(broad_row_2) = call.scratch.found[1] else {
        return Err(Stop::raised("P0001", "no second row"));
    };
    let broad_2 = call.txn.row(broad_row_2);
    three = Text::new(broad_2.bytes_in(broad::ONE))?;
    call.results.row();
    call.results.texts(&[&one, &two, &three]);
    Ok(())
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
        (tables.broad, KeyBuilder::new().int4(x as i32).key()),
        (tables.broad, KeyBuilder::new().int4(y as i32).key()),
    ]);
    Ok(())
}
