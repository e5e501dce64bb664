//! Procedure `cancel`, line 71 of `procedures.sql`.

use super::tables::{Tables, purchase};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, check};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_id: p_id.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `cancel`.
pub async fn cancel<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let mut whose: i64;
    let Some(purchase_row) =
        call.txn.read(tables.purchase, &KeyBuilder::new().int4(p_id as i32).key()).await?
    else {
        return Err(Stop::Deviates);
    };
    let purchase = call.txn.row(purchase_row);
    let mut line_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.line_by_line_of_purchase,
            &KeyBuilder::new().int4(purchase.int_in(purchase::ID) as i32).key(),
            &mut line_rows,
        )
        .await?;
    check(line_rows.is_empty())?;
    call.scratch.give_rows(line_rows);
    let purchase = call.txn.row(purchase_row);
    whose = purchase.int_in(purchase::CUSTOMER);
    call.txn.delete(purchase_row);
    call.results.row();
    call.results.int(whose);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    lane.prefetch(&[(tables.purchase, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
