//! Procedure `mailed`, line 259 of `procedures.sql`.

use super::tables::{Tables, customer};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_adviser`, integer.
    pub p_adviser: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_adviser] = arguments else { return Err(Stop::Deviates) };
        Ok(Self { p_adviser: p_adviser.int4()?, borrowed: std::marker::PhantomData })
    }
}

/// Executes the procedure `mailed`.
pub async fn mailed<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_adviser = arguments.p_adviser;
    let mut customer_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.customer_by_customer_advised_by,
            &KeyBuilder::new().unsigned(0, 1).int4(p_adviser as i32).key(),
            &mut customer_rows,
        )
        .await?;
    customer_rows.retain(|&customer_row_2| {
        let customer_2 = call.txn.row(customer_row_2);
        !customer_2.is_null_in(customer::EMAIL)
            && !customer_2.bytes_in(customer::EMAIL).starts_with(b"a")
    });
    customer_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(customer::ID), &right.int_in(customer::ID))
    });
    for &customer_row in customer_rows.iter() {
        let customer = call.txn.row(customer_row);
        call.results.row();
        call.results.int(customer.int_in(customer::ID));
    }
    call.scratch.give_rows(customer_rows);
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_adviser = arguments.p_adviser;
    lane.prefetch_lookup(
        tables.customer_by_customer_advised_by,
        &KeyBuilder::new().unsigned(0, 1).int4(p_adviser as i32).key(),
    );
    Ok(())
}
