//! Procedure `returned_too_many`, line 185 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};
use txn::{Scan, ScanSource};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { x: x.or_null(|argument| argument.int4())?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `returned_too_many`.
pub async fn returned_too_many<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut kept: i64 = Default::default();
    let mut is_found = false;
    let mut pair_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new()
            .int4(known(x)? as i32)
            .int4(number::int4(number::subtract(3, 1)?)? as i32)
            .prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut pair_rows).await?;
    for &pair_row in pair_rows.iter() {
        let mut new_pair = call.txn.update(pair_row);
        new_pair.set_int_in(pair::V, 1);
        if is_found {
            return Err(Stop::Deviates);
        }
        let pair = call.txn.row(pair_row);
        kept = pair.int_in(pair::B);
        is_found = true;
    }
    call.scratch.give_rows(pair_rows);
    if !is_found {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int(kept);
    return Ok(());
}
