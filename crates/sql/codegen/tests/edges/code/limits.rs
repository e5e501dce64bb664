//! Procedure `limits`, line 670 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count, known};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, bigint.
    pub y: Option<i64>,
    /// `z`, bigint.
    pub z: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y, z] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int())?,
            z: z.or_null(|argument| argument.int())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `limits`.
pub async fn limits<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let z = arguments.z;
    let mut found_b: Option<i64> = None;
    let mut kept: Option<i64> = None;
    let mut pair_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: false,
        limit: count(0)?,
    };
    call.txn.scan(&range, &mut pair_rows).await?;
    for &pair_row in pair_rows.iter() {
        let pair = call.txn.row(pair_row);
        call.results.row();
        call.results.int(pair.int_in(pair::B));
    }
    call.scratch.give_rows(pair_rows);
    let mut pair_rows_2 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: true,
        limit: count(known(y)?)?,
    };
    call.txn.scan(&range, &mut pair_rows_2).await?;
    for &pair_row_2 in pair_rows_2.iter() {
        let pair_2 = call.txn.row(pair_row_2);
        call.results.row();
        call.results.int(pair_2.int_in(pair::B));
    }
    call.scratch.give_rows(pair_rows_2);
    let mut pair_rows_3 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut pair_rows_3).await?;
    for &pair_row_3 in pair_rows_3.iter().skip(count(known(z)?)?).take(count(known(y)?)?) {
        let pair_3 = call.txn.row(pair_row_3);
        call.results.row();
        call.results.int(pair_3.int_in(pair::B));
    }
    call.scratch.give_rows(pair_rows_3);
    let mut pair_rows_4 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: false,
        limit: count(0)?,
    };
    call.txn.scan(&range, &mut pair_rows_4).await?;
    let pair_row_4 = pair_rows_4.iter().next().copied();
    call.scratch.give_rows(pair_rows_4);
    if let Some(pair_row_4) = pair_row_4 {
        let pair_4 = call.txn.row(pair_row_4);
        kept = Some(pair_4.int_in(pair::B));
        return Err(Stop::raised("P0001", "a row of none"));
    } else {
        kept = None;
    }
    found_b = kept;
    call.results.row();
    call.results.int_or_null(found_b);
    Ok(())
}
