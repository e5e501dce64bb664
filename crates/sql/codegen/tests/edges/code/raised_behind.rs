//! Procedure `raised_behind`, line 77 of `procedures.sql`.

use super::tables::{Tables, acct, pair};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, known, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `x`, integer.
    pub x: Option<i64>,
    /// `y`, integer.
    pub y: Option<i64>,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [x, y] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            x: x.or_null(|argument| argument.int4())?,
            y: y.or_null(|argument| argument.int4())?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `raised_behind`.
pub async fn raised_behind<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let x = arguments.x;
    let y = arguments.y;
    let mut kept: Option<i64> = None;
    if let Some(acct_row) =
        call.txn.read(tables.acct, &KeyBuilder::new().int4(known(x)? as i32).key()).await?
    {
        let acct = call.txn.row(acct_row);
        let grp = number::int4(number::add(acct.int_in(acct::GRP), 1)?)?;
        let mut new_acct = call.txn.update(acct_row);
        new_acct.set_int_in(acct::GRP, grp);
    }
    if let Some(pair_row) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?
    {
        call.txn.delete(pair_row);
    }
    let pair_row_2 = call
        .txn
        .insert(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?;
    let mut new_pair = call.txn.update(pair_row_2);
    match y {
        Some(value) => new_pair.set_int_in(pair::V, value),
        None => new_pair.set_null_in(pair::V),
    }
    new_pair.set_int_in(pair::W, 3);
    if let Some(pair_row_3) = call
        .txn
        .read(tables.pair, &KeyBuilder::new().int4(known(x)? as i32).int4(1 as i32).key())
        .await?
    {
        let pair_3 = call.txn.row(pair_row_3);
        kept = (!pair_3.is_null_in(pair::V)).then(|| pair_3.int_in(pair::V));
    } else {
        kept = None;
    }
    if number::int4(number::modulo(known(kept)?, 2)?)? == 0 {
        return Err(Stop::Deviates);
    } else if kept.is_none() {
        return Err(Stop::Deviates);
    }
    call.results.row();
    call.results.int_or_null(kept);
    return Ok(());
}
