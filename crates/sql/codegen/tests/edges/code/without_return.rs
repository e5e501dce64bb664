//! Procedure `without_return`, line 816 of `procedures.sql`.

use super::tables::{Tables, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known};
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

/// Executes the procedure `without_return`.
pub async fn without_return<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let mut is_found = false;
    let mut pair_rows = call.scratch.take_rows();
    let range = Scan {
        source: ScanSource::Table(tables.pair),
        low: KeyBuilder::new().int4(known(x)? as i32).prefix_low(1),
        high: KeyBuilder::new().int4(known(x)? as i32).prefix_high(1),
        reverse: false,
        limit: usize::MAX,
    };
    call.txn.scan(&range, &mut pair_rows).await?;
    for &pair_row in pair_rows.iter() {
        let pair = call.txn.row(pair_row);
        let v_value = (!pair.is_null_in(pair::V)).then(|| pair.int_in(pair::V));
        let mut new_pair = call.txn.update(pair_row);
        match v_value {
            Some(value) => new_pair.set_int_in(pair::V, value),
            None => new_pair.set_null_in(pair::V),
        }
        is_found = true;
    }
    call.scratch.give_rows(pair_rows);
    if is_found {
        call.results.row();
        call.results.int(1);
        return Ok(());
    } else {
    }
    Err(Stop::Deviates)
}
