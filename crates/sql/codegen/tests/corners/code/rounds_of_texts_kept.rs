//! Procedure `rounds_of_texts_kept`, line 615 of `procedures.sql`.

use super::tables::{Tables, cell, entry, wide};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, count, number, text};
use txn::{Scan, ScanSource};

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

/// Executes the procedure `rounds_of_texts_kept`.
pub async fn rounds_of_texts_kept<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let mut given: Text<5> = Default::default();
    let mut again: i64;
    let mut least: i64;
    let mut kept: i64;
    let mut two: Text<6> = Default::default();
    // No round looks at another's rows: they go side by side, from one reading to the next.
    let mut rounds = [None; 4];
    call.scratch.scans.clear();
    for number_value in 1..=4 {
        rounds[call.scratch.scans.len()] = Some((number_value,));
        call.scratch.scans.push(Scan {
            source: ScanSource::Table(tables.entry),
            low: KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number_value as i32)
                .int4(number::int4(number::add(low, 1)?)? as i32)
                .prefix_low(2),
            high: KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).prefix_high(2),
            reverse: true,
            limit: count(1)?,
        });
    }

    let mut entry_ranges = call.scratch.take_ranges();
    call.txn.scan_many(&call.scratch.scans, &mut entry_ranges).await?;
    let mut rounds_2 = [None; 4];
    call.scratch.reads.clear();
    for (at, round) in rounds.into_iter().flatten().enumerate() {
        let number_value;
        (number_value,) = round;
        let entry_row = entry_ranges[at].iter().next().copied();
        let Some(entry_row) = entry_row else {
            return Err(Stop::Deviates);
        };
        let entry = call.txn.row(entry_row);
        least = entry.int_in(entry::N);
        rounds_2[call.scratch.reads.len()] = Some((least,));
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new()
                .int4(of_g as i32)
                .int4(
                    number::int4(number::add(number::int4(number::modulo(least, 4)?)?, 1)?)? as i32
                )
                .key(),
        ));
    }
    call.scratch.give_ranges(entry_ranges);
    let mut cell_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut cell_found).await?;
    let mut rounds_3 = [None; 4];
    call.scratch.reads.clear();
    for (at_2, round_2) in rounds_2.into_iter().flatten().enumerate() {
        (least,) = round_2;
        let Some(cell_row) = cell_found[at_2] else {
            return Err(Stop::Deviates);
        };
        let cell = call.txn.row(cell_row);
        two.set(cell.bytes_in(cell::CODE))?;
        kept = cell.int_in(cell::Q);
        if kept > 15 {
            two.set(b"many")?;
        }
        rounds_3[call.scratch.reads.len()] = Some((kept, two));
        call.scratch.reads.push((tables.wide, KeyBuilder::new().int4(kept as i32).key()));
    }
    call.scratch.give_found(cell_found);
    let mut wide_found = call.scratch.take_found();
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_wide_a], &mut wide_found)
        .await?;
    for (at_3, round_3) in rounds_3.into_iter().flatten().enumerate() {
        (kept, two) = round_3;
        let Some(wide_row) = wide_found[at_3] else {
            return Err(Stop::Deviates);
        };
        let wide = call.txn.row(wide_row);
        again = wide.int_in(wide::A);
        given.set(text::left(&two, 5)?)?;
        call.results.row();
        call.results.text(&given);
        call.results.int(again);
    }
    call.scratch.give_found(wide_found);
    Ok(())
}
