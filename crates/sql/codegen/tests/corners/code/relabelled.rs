//! Procedure `relabelled`, line 879 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, number, text};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `x`, character varying.
    pub x: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int2()?, x: x.text()? })
    }
}

/// Executes the procedure `relabelled`.
pub async fn relabelled<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let x = arguments.x;
    let mut counted: i64;
    let mut small_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.small),
        low: KeyBuilder::new().int2(of_w as i16).prefix_low(1),
        high: KeyBuilder::new().int2(of_w as i16).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut small_rows).await?;
    for &small_row in small_rows.iter() {
        let small = call.txn.row(small_row);
        if number::int4(number::modulo(small.int_in(small::Q), 3)?)? == 0 {
            let label = Text::<12>::new(text::fitting(x, 12)?)?;
            let code = Text::<6>::new(text::trimmed(text::fitting(x, 6)?))?;
            let mut new_small = call.txn.update(small_row);
            new_small.set_bytes_in(small::LABEL, &label);
            new_small.set_bytes_in(small::CODE, &code);
        }
    }
    call.scratch.give_rows(small_rows);
    let mut counted_2 = 0_i64;
    let mut small_rows_2 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.small),
        low: KeyBuilder::new().int2(of_w as i16).prefix_low(1),
        high: KeyBuilder::new().int2(of_w as i16).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut small_rows_2).await?;
    for &small_row_2 in small_rows_2.iter() {
        let small_2 = call.txn.row(small_row_2);
        if !small_2.is_null_in(small::LABEL) && *small_2.bytes_in(small::LABEL) == *x {
            counted_2 += 1;
        }
    }
    call.scratch.give_rows(small_rows_2);
    counted = counted_2;
    call.results.row();
    call.results.int(counted);
    return Ok(());
}
