//! Procedure `rounds_chained`, line 587 of `procedures.sql`.

use super::tables::{Tables, cell, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, count, known, number, text};
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

/// Executes the procedure `rounds_chained`.
pub async fn rounds_chained<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let mut given: Option<Text<12>> = None;
    let mut again: Text<4> = Default::default();
    let mut third: Option<i64> = None;
    let mut fourth: i64;
    let mut least: i64;
    let mut kept: Option<i64> = None;
    let mut one: Option<Text<12>> = None;
    let mut two: Text<6> = Default::default();
    let mut factor: i64;
    // No round looks at another's rows: they go side by side, from one reading to the next.
    let mut rounds = [None; 4];
    call.scratch.scans.clear();
    for number_value in 1..=4 {
        factor = number::int2(number::int4(number::multiply(number_value, 2)?)?)?;
        rounds[call.scratch.scans.len()] = Some((factor, number_value));
        call.scratch.scans.push(Scan {
            source: ScanSource::Table(tables.entry),
            low: KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number_value as i32)
                .int4(low as i32)
                .prefix_low(2),
            high: KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).prefix_high(2),
            reverse: false,
            limit: count(1)?,
        });
    }

    let mut entry_ranges = call.scratch.take_ranges();
    call.txn.scan_many(&call.scratch.scans, &mut entry_ranges).await?;
    let mut rounds_2 = [None; 4];
    call.scratch.reads.clear();
    for (at, round) in rounds.into_iter().flatten().enumerate() {
        let number_value;
        (factor, number_value) = round;
        let entry_row = entry_ranges[at].iter().next().copied();
        if let Some(entry_row) = entry_row {
            let entry = call.txn.row(entry_row);
            least = entry.int_in(entry::N);
            kept = (!entry.is_null_in(entry::V)).then(|| entry.int_in(entry::V));
            rounds_2[call.scratch.reads.len()] = Some((least, kept, factor, number_value));
            call.scratch.reads.push((
                tables.cell,
                KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number::int4(number::modulo(least, 5)?)? as i32)
                    .key(),
            ));
        } else {
            kept = None;
        }
    }
    call.scratch.give_ranges(entry_ranges);
    let mut cell_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut cell_found).await?;
    let mut rounds_3 = [None; 4];
    call.scratch.reads.clear();
    for (at_2, round_2) in rounds_2.into_iter().flatten().enumerate() {
        let number_value;
        (least, kept, factor, number_value) = round_2;
        let Some(cell_row) = cell_found[at_2] else {
            return Err(Stop::Deviates);
        };
        let cell = call.txn.row(cell_row);
        one = ((!cell.is_null_in(cell::LABEL)).then(|| cell.bytes_in(cell::LABEL)))
            .map(Text::new)
            .transpose()?;
        two.set(cell.bytes_in(cell::CODE))?;
        rounds_3[call.scratch.reads.len()] = Some((least, kept, one, two, factor, number_value));
        call.scratch.reads.push((
            tables.entry,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).int4(least as i32).key(),
        ));
    }
    call.scratch.give_found(cell_found);
    let mut entry_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut entry_found).await?;
    let mut rounds_4 = [None; 4];
    call.scratch.reads.clear();
    for (at_3, round_3) in rounds_3.into_iter().flatten().enumerate() {
        let number_value;
        (least, kept, one, two, factor, number_value) = round_3;
        let Some(entry_row_2) = entry_found[at_3] else {
            return Err(Stop::Deviates);
        };
        let v_value = number::int4(number::add(
            number::int4(number::modulo(kept.unwrap_or(0), 50)?)?,
            factor,
        )?)?;
        let mut new_entry = call.txn.update(entry_row_2);
        new_entry.set_int_in(entry::V, v_value);
        rounds_4[call.scratch.reads.len()] = Some((least, kept, one, two, number_value));
        call.scratch.reads.push((
            tables.entry,
            KeyBuilder::new().int4(of_g as i32).int4(number_value as i32).int4(least as i32).key(),
        ));
    }
    call.scratch.give_found(entry_found);
    let mut entry_found_2 = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut entry_found_2).await?;
    let mut rounds_5 = [None; 4];
    call.scratch.reads.clear();
    for (at_4, round_4) in rounds_4.into_iter().flatten().enumerate() {
        let number_value;
        (least, kept, one, two, number_value) = round_4;
        if let Some(entry_row_3) = entry_found_2[at_4] {
            let entry_3 = call.txn.row(entry_row_3);
            third = (!entry_3.is_null_in(entry::V)).then(|| entry_3.int_in(entry::V));
        } else {
            third = None;
        }
        rounds_5[call.scratch.reads.len()] = Some((third, kept, one, two, number_value));
        call.scratch.reads.push((
            tables.cell,
            KeyBuilder::new()
                .int4(of_g as i32)
                .int4(number::int4(number::modulo(
                    number::int4(number::add(known(third)?, number_value)?)?,
                    5,
                )?)? as i32)
                .key(),
        ));
    }
    call.scratch.give_found(entry_found_2);
    let mut cell_found_2 = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut cell_found_2).await?;
    for (at_5, round_5) in rounds_5.into_iter().flatten().enumerate() {
        let number_value;
        (third, kept, one, two, number_value) = round_5;
        let Some(cell_row_2) = cell_found_2[at_5] else {
            return Err(Stop::Deviates);
        };
        let cell_2 = call.txn.row(cell_row_2);
        fourth = cell_2.int_in(cell::Q);
        given = one.as_deref().map(Text::new).transpose()?;
        again.set(text::left(&two, 4)?)?;
        fourth = number::int4(number::add(fourth, known(kept)?)?)?;
        call.results.row();
        call.results.text_or_null(given.as_deref());
        call.results.text(&again);
        call.results.int_or_null(third);
        call.results.int(fourth);
    }
    call.scratch.give_found(cell_found_2);
    Ok(())
}
