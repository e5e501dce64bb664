//! Procedure `rounds_consume`, line 479 of `procedures.sql`.

use super::tables::{Tables, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count};
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

/// Executes the procedure `rounds_consume`.
pub async fn rounds_consume<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_g = arguments.of_g;
    let low = arguments.low;
    let mut found_n: i64;
    let mut left_over: i64;
    let mut least: i64;
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
        (number_value,) = round;
        let entry_row = entry_ranges[at].iter().next().copied();
        if let Some(entry_row) = entry_row {
            let entry = call.txn.row(entry_row);
            least = entry.int_in(entry::N);
            rounds_2[call.scratch.reads.len()] = Some((least, number_value));
            call.scratch.reads.push((
                tables.entry,
                KeyBuilder::new()
                    .int4(of_g as i32)
                    .int4(number_value as i32)
                    .int4(least as i32)
                    .key(),
            ));
        } else {
        }
    }
    call.scratch.give_ranges(entry_ranges);
    let mut entry_found = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut entry_found).await?;
    let mut rounds_3 = [None; 4];
    call.scratch.scans.clear();
    for (at_2, round_2) in rounds_2.into_iter().flatten().enumerate() {
        let number_value;
        (least, number_value) = round_2;
        if let Some(entry_row_2) = entry_found[at_2] {
            call.txn.delete(entry_row_2);
        }
        rounds_3[call.scratch.scans.len()] = Some((number_value,));
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
    call.scratch.give_found(entry_found);
    let mut entry_ranges_2 = call.scratch.take_ranges();
    call.txn.scan_many(&call.scratch.scans, &mut entry_ranges_2).await?;
    for (at_3, round_3) in rounds_3.into_iter().flatten().enumerate() {
        let number_value;
        (number_value,) = round_3;
        let entry_row_3 = entry_ranges_2[at_3].iter().next().copied();
        let Some(entry_row_3) = entry_row_3 else {
            return Err(Stop::Deviates);
        };
        let entry_3 = call.txn.row(entry_row_3);
        least = entry_3.int_in(entry::N);
        found_n = least;
        left_over = low;
        call.results.row();
        call.results.int(found_n);
        call.results.int(left_over);
    }
    call.scratch.give_ranges(entry_ranges_2);
    Ok(())
}
