//! Procedure `sums`, line 43 of `procedures.sql`.

use super::tables::{Tables, small};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { of_w: of_w.int2()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `sums`.
pub async fn sums<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let mut total: Option<i64> = None;
    let mut fewest: Option<i64> = None;
    let mut most_of: Option<i64> = None;
    let mut counted: i64;
    let mut kinds: i64;
    let mut sum = None::<i64>;
    let mut least = None::<i64>;
    let mut greatest = None::<i64>;
    let mut counted_2 = 0_i64;
    let mut values = call.scratch.take_numbers();
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
        if let Some(value) = (!small.is_null_in(small::R)).then(|| small.int_in(small::R)) {
            sum = Some(number::add(sum.unwrap_or(0), value)?);
        }
        let small = call.txn.row(small_row);
        if let Some(value) = (!small.is_null_in(small::R)).then(|| small.int_in(small::R)) {
            least = Some(least.map_or(value, |v: i64| v.min(value)));
        }
        let small = call.txn.row(small_row);
        if let Some(value) = (!small.is_null_in(small::R)).then(|| small.int_in(small::R)) {
            greatest = Some(greatest.map_or(value, |v: i64| v.max(value)));
        }
        let small = call.txn.row(small_row);
        if let Some(value) = (!small.is_null_in(small::R)).then(|| small.int_in(small::R)) {
            counted_2 += 1;
        }
        let small = call.txn.row(small_row);
        if let Some(value) = (!small.is_null_in(small::R)).then(|| small.int_in(small::R)) {
            values.push(value);
        }
    }
    call.scratch.give_rows(small_rows);
    values.sort_unstable();
    values.dedup();
    let counted_3 = values.len() as i64;
    call.scratch.give_numbers(values);
    total = sum;
    fewest = least;
    most_of = greatest;
    counted = counted_2;
    kinds = counted_3;
    call.results.row();
    call.results.int_or_null(total);
    call.results.int_or_null(fewest);
    call.results.int_or_null(most_of);
    call.results.int(counted);
    call.results.int(kinds);
    Ok(())
}
