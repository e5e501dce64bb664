//! Procedure `unwish`, line 248 of `procedures.sql`.

use super::tables::Tables;
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_customer`, integer.
    pub p_customer: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_customer] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_customer: p_customer.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `unwish`.
pub async fn unwish<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let mut wish_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.wish_by_wish_customer,
            &KeyBuilder::new().int4(p_customer as i32).key(),
            &mut wish_rows,
        )
        .await?;
    for &wish_row in wish_rows.iter() {
        call.txn.delete(wish_row);
    }
    call.scratch.give_rows(wish_rows);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    lane.prefetch_lookup(
        tables.wish_by_wish_customer,
        &KeyBuilder::new().int4(p_customer as i32).key(),
    );
    Ok(())
}
