//! Procedure `rounds_of_rows`, line 550 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Lane, Scan, ScanSource};

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

/// Executes the procedure `rounds_of_rows`.
pub async fn rounds_of_rows<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let y = arguments.y;
    let mut given: Option<i64> = None;
    let mut total: i64;
    let mut one: Option<i64> = None;
    let mut sum_of: i64;
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
        sum_of = 0;
        let mut entry_rows = call.scratch.take_rows();
        let range = Scan {
            source: ScanSource::Table(tables.entry),
            low: KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number_value as i32)
                .int4(low as i32)
                .prefix_low(2),
            high: KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number_value as i32)
                .int4(
                    number::int4(number::subtract(number::int4(number::add(low, 4)?)?, 1)?)? as i32
                )
                .prefix_high(2),
            reverse: false,
            limit: usize::MAX,
        };
        call.txn.scan(&range, &mut entry_rows).await?;
        for &entry_row in entry_rows.iter() {
            let entry = call.txn.row(entry_row);
            let v_value = number::int4(number::add(
                known((!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V)))?,
                y,
            )?)?;
            let mut new_entry = call.txn.update(entry_row);
            new_entry.set_int_in(entry::V, v_value);
            let entry = call.txn.row(entry_row);
            one = (!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V));
            sum_of = number::add(sum_of, one.unwrap_or(0))?;
        }
        call.scratch.give_rows(entry_rows);
        if let Some(cell_row) = call.scratch.found[0 + (number_value - 1) as usize] {
            let cell = call.txn.row(cell_row);
            let q =
                number::int4(number::modulo(number::add(cell.int_in(cell::Q), sum_of)?, 1000)?)?;
            let mut new_cell = call.txn.update(cell_row);
            new_cell.set_int_in(cell::Q, q);
        }
        if let Some(cell_row_2) = call.scratch.found[0 + (number_value - 1) as usize] {
            let cell_2 = call.txn.row(cell_row_2);
            one = Some(cell_2.int_in(cell::Q));
        } else {
            one = None;
        }
        given = one;
        total = sum_of;
        call.results.row();
        call.results.int_or_null(given);
        call.results.int(total);
    }
    Ok(())
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
