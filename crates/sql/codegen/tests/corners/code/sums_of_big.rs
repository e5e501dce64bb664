//! Procedure `sums_of_big`, line 975 of `procedures.sql`.

use super::tables::{Tables, big};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
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

/// Executes the procedure `sums_of_big`.
pub async fn sums_of_big<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let low = arguments.low;
    let high = arguments.high;
    let mut total: Option<i64> = None;
    let mut most: Option<i64> = None;
    let mut sum = None::<i64>;
    let mut greatest = None::<i64>;
    let mut big_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.big),
        low: KeyBuilder::new().int8(low).prefix_low(1),
        high: KeyBuilder::new().int8(high).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut big_rows).await?;
    for &big_row in big_rows.iter() {
        let big = call.txn.row(big_row);
        sum = Some(number::add(sum.unwrap_or(0), big.int_in(big::V))?);
        greatest = Some(greatest.map_or(big.int_in(big::V), |v: i64| v.max(big.int_in(big::V))));
    }
    call.scratch.give_rows(big_rows);
    total = sum;
    most = greatest;
    call.results.row();
    call.results.decimal_or_null(total, 0);
    call.results.int_or_null(most);
    Ok(())
}
