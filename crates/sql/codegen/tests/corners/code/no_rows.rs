//! Procedure `no_rows`, line 914 of `procedures.sql`.

use super::tables::{Tables, entry};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// `low`, integer.
    pub low: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, low] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, low: low.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `no_rows`.
pub async fn no_rows<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let low = arguments.low;
    let mut one: Option<i64> = None;
    let mut total: i64;
    one = Some(5);
    total = 0;
    let mut has_begun = false;
    let mut entry_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.entry),
        low: KeyBuilder::new()
            .int4(x as i32)
            .int4(1 as i32)
            .int4(number::int4(number::add(low, 1)?)? as i32)
            .prefix_low(2),
        high: KeyBuilder::new()
            .int4(x as i32)
            .int4(1 as i32)
            .int4(number::int4(number::subtract(8, 1)?)? as i32)
            .prefix_high(2),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut entry_rows).await?;
    for &entry_row in entry_rows.iter() {
        has_begun = true;
        let entry = call.txn.row(entry_row);
        one = Some(entry.int_in(entry::N));
        total = number::int4(number::add(total, known(one)?)?)?;
    }
    call.scratch.give_rows(entry_rows);
    if !has_begun {
        one = None;
    }
    call.results.row();
    call.results.int(number::int4(number::add(
        number::int4(number::multiply(one.unwrap_or(-1), 1000)?)?,
        total,
    )?)?);
    return Ok(());
}
