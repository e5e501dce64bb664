//! Procedure `longest_seen`, line 188 of `procedures.sql`.

use super::tables::{Tables, visit};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, count};
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

/// Executes the procedure `longest_seen`.
pub async fn longest_seen<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_customer = arguments.p_customer;
    let mut visit_rows = call.scratch.take_rows();
    call.txn
        .lookup(
            tables.visit_by_visit_customer,
            &KeyBuilder::new().unsigned(0, 1).int4(p_customer as i32).key(),
            &mut visit_rows,
        )
        .await?;
    visit_rows.sort_by(|&a, &b| {
        let (left, right) = (call.txn.row(a), call.txn.row(b));
        Ord::cmp(&right.int_in(visit::SECONDS), &left.int_in(visit::SECONDS))
            .then_with(|| Ord::cmp(left.bytes_in(visit::SKU), right.bytes_in(visit::SKU)))
    });
    for &visit_row in visit_rows.iter().take(count(3)?) {
        let visit = call.txn.row(visit_row);
        call.results.row();
        call.results.text(visit.bytes_in(visit::SKU));
        call.results.int(visit.int_in(visit::SECONDS));
    }
    call.scratch.give_rows(visit_rows);
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
        tables.visit_by_visit_customer,
        &KeyBuilder::new().unsigned(0, 1).int4(p_customer as i32).key(),
    );
    Ok(())
}
