//! Procedure `rounds_crossed`, line 659 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, number};
use txn::{Lane, Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `low`, integer.
    pub low: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, low] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_g: of_g.int4()?, low: low.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `rounds_crossed`.
pub async fn rounds_crossed<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let mut least: i64;
    let mut kept: Option<i64> = None;
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
        let mut entry_rows = call.scratch.take_rows();
        let range = Scan {
            source: ScanSource::Table(tables.entry),
            low: KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number_value as i32)
                .int4(low as i32)
                .prefix_low(2),
            high: KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).prefix_high(2),
            reverse: false,
            limit: count(1)?,
        };
        call.txn.scan(&range, &mut entry_rows).await?;
        let entry_row = entry_rows.iter().next().copied();
        call.scratch.give_rows(entry_rows);
        let Some(entry_row) = entry_row else {
            return Err(Stop::Deviates);
        };
        let entry = call.txn.row(entry_row);
        least = entry.int_in(entry::N);
        kept = (!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V));
        if let Some(cell_row) = call
            .txn
            .read(
                tables.cell,
                &KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number::int4(number::add(number::int4(number::modulo(least, 4)?)?, 1)?)?
                        as i32)
                    .key(),
            )
            .await?
        {
            let mut new_cell = call.txn.update(cell_row);
            match kept {
                Some(value) => new_cell.set_int_in(cell::R, value),
                None => new_cell.set_null_in(cell::R),
            }
        }
        if let Some(cell_row_2) = call.scratch.found[0 + (number_value - 1) as usize] {
            let cell_2 = call.txn.row(cell_row_2);
            kept = (!cell_2.is_null_in(cell::R)).then(|| cell_2.int_in(cell::R));
        } else {
            kept = None;
        }
        if let Some(entry_row_2) = call
            .txn
            .read(
                tables.entry,
                &KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number_value as i32)
                    .int4(least as i32)
                    .key(),
            )
            .await?
        {
            let mut new_entry = call.txn.update(entry_row_2);
            match kept {
                Some(value) => new_entry.set_int_in(entry::V, value),
                None => new_entry.set_null_in(entry::V),
            }
        }
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
