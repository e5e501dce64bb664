//! Procedure `rounds_last`, line 510 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `rounds_last`.
pub async fn rounds_last<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let mut one: i64;
    let mut other: i64;
    one = 5;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    for number_value in 1..=3 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for number_value in 1..=3 {
        if let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] {
            let cell = call.txn.row(cell_row);
            other = cell.int_in(cell::Q);
            one = other;
        } else {
        }
        if let Some(cell_row_2) = call.scratch.found[0 + (number_value - 1) as usize] {
            let mut new_cell = call.txn.update(cell_row_2);
            new_cell.set_int_in(cell::R, one);
        }
    }
    call.results.row();
    call.results.int(one);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    for number_value in (1..=3).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        )]);
    }
    Ok(())
}
