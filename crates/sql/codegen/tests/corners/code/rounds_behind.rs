//! Procedure `rounds_behind`, line 569 of `procedures.sql`.

use super::tables::{Tables, cell};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::{Lane, Scan, ScanSource};

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

/// Executes the procedure `rounds_behind`.
pub async fn rounds_behind<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let y = arguments.y;
    let mut one: i64;
    let mut total: Option<i64> = None;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch
        .reads
        .push((tables.cell, KeyBuilder::new().int4(of_g as i32).int4(2 as i32).key()));
    for number_value in 1..=3 {
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        ));
    }
    call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;
    if let Some(cell_row) = call.scratch.found[0] {
        let mut new_cell = call.txn.update(cell_row);
        new_cell.set_int_in(cell::Q, y);
    }
    for number_value in 1..=3 {
        let Some(cell_row_2) = call.scratch.found[1 + (number_value - 1) as usize] else {
            return Err(Stop::Deviates);
        };
        let cell_2 = call.txn.row(cell_row_2);
        one = cell_2.int_in(cell::Q);
        if let Some(cell_row_3) = call.scratch.found[1 + (number_value - 1) as usize] {
            let r = number::int4(number::add(one, 1)?)?;
            let mut new_cell_2 = call.txn.update(cell_row_3);
            new_cell_2.set_int_in(cell::R, r);
        }
    }
    let mut sum = None::<i64>;
    let mut cell_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.cell),
        low: KeyBuilder::new().int4(of_g as i32).prefix_low(1),
        high: KeyBuilder::new().int4(of_g as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut cell_rows).await?;
    for &cell_row_4 in cell_rows.iter() {
        let cell_4 = call.txn.row(cell_row_4);
        if let Some(value) = (!cell_4.is_null_in(cell::R)).then(|| cell_4.int_in(cell::R)) {
            sum = Some(number::add(sum.unwrap_or(0), value)?);
        }
    }
    call.scratch.give_rows(cell_rows);
    total = sum;
    call.results.row();
    call.results.int_or_null(total);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    lane.prefetch(&[(tables.cell, KeyBuilder::new().int4(of_g as i32).int4(2 as i32).key())]);
    for number_value in (1..=3).take(4) {
        lane.prefetch(&[(
            tables.cell,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).key(),
        )]);
    }
    Ok(())
}
