//! Procedure `by_code`, line 182 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `wanted`, bpchar.
    pub wanted: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, wanted] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int2()?, wanted: wanted.characters()? })
    }
}

/// Executes the procedure `by_code`.
pub async fn by_code<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let wanted = arguments.wanted;
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
        if *small.bytes_in(small::CODE) == *wanted {
            let small = call.txn.row(small_row);
            call.results.row();
            call.results.int(small.int_in(small::D));
            call.results.text(small.bytes_in(small::CODE));
        }
    }
    call.scratch.give_rows(small_rows);
    Ok(())
}
