//! Procedure `rounds_raise`, line 462 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `rounds_raise`.
pub async fn rounds_raise<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let y = arguments.y;
    let mut part: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    for number_value in 1..=4 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for number_value in 1..=4 {
        if let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] {
        } else {
        }
        part =
            number::int4(number::divide(100, number::int4(number::subtract(number_value, y)?)?)?)?;
        let Some(cell_row_2) = call.scratch.found[0 + (number_value - 1) as usize] else {
            return Err(Stop::raised("P0001", "round without a row"));
        };
        let mut new_cell = call.txn.update(cell_row_2);
        new_cell.set_int_in(cell::R, part);
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
    let of_g = arguments.of_g;
    for number_value in (1..=4).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        )]);
    }
    Ok(())
}
