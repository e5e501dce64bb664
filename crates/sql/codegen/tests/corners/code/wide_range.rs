//! Procedure `wide_range`, line 121 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `low`, integer.
    pub low: i64,
    /// `high`, integer.
    pub high: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, low, high] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_w: of_w.int2()?,
            low: low.int4()?,
            high: high.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `wide_range`.
pub async fn wide_range<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let low = arguments.low;
    let high = arguments.high;
    let mut small_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.small),
        low: KeyBuilder::new()
            .int2(of_w as i16)
            .int2(known(if low > 32767 {
                None
            } else if low < -32768 {
                Some(-32768)
            } else {
                Some(number::int2(low)?)
            })? as i16)
            .prefix_low(1),
        high: KeyBuilder::new()
            .int2(of_w as i16)
            .int2(known(if high < -32768 {
                None
            } else if high > 32767 {
                Some(32767)
            } else {
                Some(number::int2(high)?)
            })? as i16)
            .prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut small_rows).await?;
    for &small_row in small_rows.iter() {
        let small = call.txn.row(small_row);
        call.results.row();
        call.results.int(small.int_in(small::D));
    }
    call.scratch.give_rows(small_rows);
    Ok(())
}
