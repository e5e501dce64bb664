//! Procedure `deleted_all`, line 1032 of `procedures.sql`.

use super::tables::{Tables, fresh};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `deleted_all`.
pub async fn deleted_all<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut counted: i64;
    let mut counted_2 = 0_i64;
    let mut fresh_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.fresh),
        low: KeyBuilder::new().int4(x as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut fresh_rows).await?;
    for &fresh_row in fresh_rows.iter() {
        counted_2 += 1;
    }
    call.scratch.give_rows(fresh_rows);
    counted = counted_2;
    let mut fresh_rows_2 = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.fresh),
        low: KeyBuilder::new().int4(x as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut fresh_rows_2).await?;
    for &fresh_row_2 in fresh_rows_2.iter() {
        let fresh_2 = call.txn.row(fresh_row_2);
        if fresh_2.int_in(fresh::A) > 4 {
            call.txn.delete(fresh_row_2);
        }
    }
    call.scratch.give_rows(fresh_rows_2);
    let mut tag_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.tag),
        low: KeyBuilder::new().int4(x as i32).prefix_low(1),
        high: KeyBuilder::new().prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut tag_rows).await?;
    for &tag_row in tag_rows.iter() {
        call.txn.delete(tag_row);
    }
    call.scratch.give_rows(tag_rows);
    call.results.row();
    call.results.int(counted);
    return Ok(());
}
