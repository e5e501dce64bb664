//! Procedure `rounds_meet`, line 496 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `of_i`, integer.
    pub of_i: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, of_i] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, of_i: of_i.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `rounds_meet`.
pub async fn rounds_meet<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    let mut one: i64;
    let mut other: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.cell, KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key()));
    for number_value in 1..=3 {
        call.scratch
            .reads
            .push((tables.cell, KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key()));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    for number_value in 1..=3 {
        let Some(cell_row) = call.scratch.found[1 + (number_value - 1) as usize] else {
            return Err(Stop::Deviates);
        };
        let cell = call.txn.row(cell_row);
        one = cell.int_in(cell::Q);
        if let Some(cell_row_2) = call.scratch.found[1 + (number_value - 1) as usize] {
            let q = number::int4(number::modulo(
                number::int4(number::add(one, number_value)?)?,
                1000,
            )?)?;
            let mut new_cell = call.txn.update(cell_row_2);
            new_cell.set_int_in(cell::Q, q);
        }
    }
    let Some(cell_row_3) = call.scratch.found[0] else {
        return Err(Stop::Deviates);
    };
    let cell_3 = call.txn.row(cell_row_3);
    other = cell_3.int_in(cell::Q);
    call.results.row();
    call.results.int(other);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let of_i = arguments.of_i;
    lane.prefetch(&[(tables.cell, KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key())]);
    for number_value in (1..=3).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(of_i as i32).key(),
        )]);
    }
    Ok(())
}
