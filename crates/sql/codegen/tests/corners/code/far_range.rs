//! Procedure `far_range`, line 134 of `procedures.sql`.

use super::tables::{Tables, big};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Column, Stop, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `low`, bigint.
    pub low: i64,
    /// `high`, bigint.
    pub high: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [low, high] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { low: low.int()?, high: high.int()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `far_range`.
pub async fn far_range<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let low = arguments.low;
    let high = arguments.high;
    let mut big_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.big),
        low: KeyBuilder::new().int8(number::add(low, 1)?).prefix_low(1),
        high: KeyBuilder::new().int8(number::subtract(high, 1)?).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut big_rows).await?;
    for &big_row in big_rows.iter() {
        let big = call.txn.row(big_row);
        call.results.record(&big, &[Column::Int(big::K)]);
    }
    call.scratch.give_rows(big_rows);
    Ok(())
}
