//! Procedure `advised`, line 152 of `procedures.sql`.

use super::tables::{Tables, customer};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop};

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

/// Executes the procedure `advised`.
pub async fn advised<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let mut customer_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.customer_by_customer_advised_by,
            &KeyBuilder::new().unsigned(0, 1).int4(p_customer as i32).key(),
            &mut customer_rows,
        )
        .await?;
    customer_rows.retain(|&customer_row_2| {
        let customer_2 = call.txn.row(customer_row_2);
        (!customer_2.is_null_in(customer::CREDIT) && customer_2.int_in(customer::CREDIT) > 1000)
            || customer_2.int_in(customer::BALANCE) < 0
    });
    customer_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&left.int_in(customer::ID), &right.int_in(customer::ID))
    });
    for &customer_row in customer_rows.iter() {
        let customer = call.txn.row(customer_row);
        call.results.row();
        call.results.int(customer.int_in(customer::ID));
        call.results.text(
            if !customer.is_null_in(customer::CREDIT) && customer.int_in(customer::CREDIT) > 5000 {
                &b"good"[..]
            } else if customer.is_null_in(customer::CREDIT) {
                &b"none"[..]
            } else {
                &b"low"[..]
            },
        );
    }
    call.scratch.give_rows(customer_rows);
    Ok(())
}
