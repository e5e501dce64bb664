//! Procedure `open_range`, line 127 of `procedures.sql`.

use super::tables::{Tables, line};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `of_d`, smallint.
    pub of_d: i64,
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
        let [of_w, of_d, low, high] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_w: of_w.int2()?,
            of_d: of_d.int2()?,
            low: low.int()?,
            high: high.int()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `open_range`.
pub async fn open_range<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    let low = arguments.low;
    let high = arguments.high;
    let mut line_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.line),
        low: KeyBuilder::new()
            .int2(of_w as i16)
            .int2(of_d as i16)
            .int4(known(if low > 2147483647 {
                None
            } else if low < -2147483648 {
                Some(-2147483648)
            } else {
                Some(number::int4(low)?)
            })? as i32)
            .prefix_low(1),
        high: KeyBuilder::new()
            .int2(of_w as i16)
            .int2(of_d as i16)
            .int4(known(if high < -2147483648 {
                None
            } else if high > 2147483647 {
                Some(2147483647)
            } else {
                Some(number::int4(high)?)
            })? as i32)
            .prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut line_rows).await?;
    for &line_row in line_rows.iter() {
        let line = call.txn.row(line_row);
        if (line.int_in(line::N) > low) && (line.int_in(line::N) < high) {
            let line = call.txn.row(line_row);
            call.results.row();
            call.results.int(line.int_in(line::N));
        }
    }
    call.scratch.give_rows(line_rows);
    Ok(())
}
