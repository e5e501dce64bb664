//! Procedure `backwards`, line 140 of `procedures.sql`.

use super::tables::{Tables, line};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `of_w`, smallint.
    pub of_w: i64,
    /// `of_d`, smallint.
    pub of_d: i64,
    /// `low`, integer.
    pub low: i64,
    /// `most`, integer.
    pub most: i64,
    /// `skipped`, integer.
    pub skipped: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [of_w, of_d, low, most, skipped] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            of_w: of_w.int2()?,
            of_d: of_d.int2()?,
            low: low.int4()?,
            most: most.int4()?,
            skipped: skipped.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `backwards`.
pub async fn backwards<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let of_w = arguments.of_w;
    let of_d = arguments.of_d;
    let low = arguments.low;
    let most = arguments.most;
    let skipped = arguments.skipped;
    let mut line_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.line),
        low: KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).int4(low as i32).prefix_low(1),
        high: KeyBuilder::new().int2(of_w as i16).int2(of_d as i16).prefix_high(1),
        reverse: true,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut line_rows).await?;
    for &line_row in line_rows.iter().skip(count(skipped)?).take(count(most)?) {
        let line = call.txn.row(line_row);
        call.results.row();
        call.results.int(line.int_in(line::N));
        call.results.int_or_null((!line.is_null_in(line::V)).then(|| line.int_in(line::V)));
    }
    call.scratch.give_rows(line_rows);
    Ok(())
}
