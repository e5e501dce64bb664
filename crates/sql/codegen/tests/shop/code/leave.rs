//! Procedure `leave`, line 87 of `procedures.sql`.

use super::tables::{Tables, customer};
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

/// Executes the procedure `leave`.
pub async fn leave<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    if let Some(customer_row) =
        call.txn.read(tables.customer, &KeyBuilder::new().int4(p_id as i32).key()).await?
    {
        let customer = call.txn.row(customer_row);
        let mut customer_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.customer_by_customer_advised_by,
                &KeyBuilder::new().unsigned(0, 1).int4(customer.int_in(customer::ID) as i32).key(),
                &mut customer_rows,
            )
            .await?;
        check(customer_rows.is_empty())?;
        call.scratch.give_rows(customer_rows);
        let customer = call.txn.row(customer_row);
        let mut purchase_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.purchase_by_purchase_customer,
                &KeyBuilder::new().int4(customer.int_in(customer::ID) as i32).key(),
                &mut purchase_rows,
            )
            .await?;
        check(purchase_rows.is_empty())?;
        call.scratch.give_rows(purchase_rows);
        let customer = call.txn.row(customer_row);
        let mut line_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.line_by_line_gift_for,
                &KeyBuilder::new().unsigned(0, 1).int4(customer.int_in(customer::ID) as i32).key(),
                &mut line_rows,
            )
            .await?;
        check(line_rows.is_empty())?;
        call.scratch.give_rows(line_rows);
        let customer = call.txn.row(customer_row);
        let mut visit_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.visit_by_visit_customer,
                &KeyBuilder::new().unsigned(0, 1).int4(customer.int_in(customer::ID) as i32).key(),
                &mut visit_rows,
            )
            .await?;
        check(visit_rows.is_empty())?;
        call.scratch.give_rows(visit_rows);
        let customer = call.txn.row(customer_row);
        let mut wish_rows = call.scratch.take_rows();
        call.txn
            .lookup(
                tables.wish_by_wish_customer,
                &KeyBuilder::new().int4(customer.int_in(customer::ID) as i32).key(),
                &mut wish_rows,
            )
            .await?;
        check(wish_rows.is_empty())?;
        call.scratch.give_rows(wish_rows);
        call.txn.delete(customer_row);
    }
    Ok(())
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    lane.prefetch(&[(tables.customer, KeyBuilder::new().int4(p_id as i32).key())]);
    Ok(())
}
