//! Procedure `rounds_that_fail`, line 637 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_g`, integer.
    pub of_g: i64,
    /// `low`, integer.
    pub low: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_g, low, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_g: of_g.int4()?,
            low: low.int4()?,
            y: y.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `rounds_that_fail`.
pub async fn rounds_that_fail<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let y = arguments.y;
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
        kept = Some(number::int4(number::divide(
            10,
            number::int4(number::subtract(number_value, y)?)?,
        )?)?);
        if kept.is_some_and(|value| value == 5) {
            return Err(Stop::raised("P0001", "five"));
        }
        if let Some(entry_row_2) = call
            .txn
            .read(
                tables.entry,
                &KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number_value as i32)
                    .int4(number::int4(number::add(least, 20)?)? as i32)
                    .key(),
            )
            .await?
        {
            call.txn.delete(entry_row_2);
        }
        if let Some(entry_row_3) = call
            .txn
            .read(
                tables.entry,
                &KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number_value as i32)
                    .int4(number::int4(number::add(least, 20)?)? as i32)
                    .key(),
            )
            .await?
        {
            let entry_3 = call.txn.row(entry_row_3);
            kept = Some(entry_3.int_in(entry::N));
            return Err(Stop::raised("P0001", "it is still there"));
        } else {
            kept = None;
        }
        if let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] {
            let mut new_cell = call.txn.update(cell_row);
            match kept {
                Some(value) => new_cell.set_int_in(cell::R, value),
                None => new_cell.set_null_in(cell::R),
            }
        }
    }
    call.results.row();
    call.results.int(1);
    return Ok(());
}
