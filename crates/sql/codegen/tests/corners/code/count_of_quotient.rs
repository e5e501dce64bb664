//! Procedure `count_of_quotient`, line 34 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `y`, integer.
    pub y: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int2()?, y: y.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `count_of_quotient`.
pub async fn count_of_quotient<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let y = arguments.y;
    let mut counted: i64;
    let mut counted_2 = 0_i64;
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
        let _ = number::int4(number::divide(small.int_in(small::Q), y)?)?;
        counted_2 += 1;
    }
    call.scratch.give_rows(small_rows);
    counted = counted_2;
    call.results.row();
    call.results.int(counted);
    return Ok(());
}
