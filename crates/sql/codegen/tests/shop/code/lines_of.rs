//! Procedure `lines_of`, line 141 of `procedures.sql`.

use super::tables::{Tables, line};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_most`, integer.
    pub p_most: i64,
    /// `p_skipped`, integer.
    pub p_skipped: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_most, p_skipped] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            p_id: p_id.int4()?,
            p_most: p_most.int4()?,
            p_skipped: p_skipped.int4()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `lines_of`.
pub async fn lines_of<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_most = arguments.p_most;
    let p_skipped = arguments.p_skipped;
    let mut line_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.line),
        low: KeyBuilder::new().int4(p_id as i32).prefix_low(1),
        high: KeyBuilder::new().int4(p_id as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut line_rows).await?;
    for &line_row in line_rows.iter().skip(count(p_skipped)?).take(count(p_most)?) {
        let line = call.txn.row(line_row);
        call.results.row();
        call.results.int(line.int_in(line::NUMBER_VALUE));
        call.results.text(line.bytes_in(line::SKU));
        call.results.decimal(line.int_in(line::AMOUNT), 2);
    }
    call.scratch.give_rows(line_rows);
    Ok(())
}
