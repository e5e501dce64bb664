//! Procedure `send_payment`, line 66 of `procedures.sql`.

use super::tables::{Tables, checking};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `customer`, bigint.
    pub customer: i64,
    /// `other`, bigint.
    pub other: i64,
    /// `amount`, bigint.
    pub amount: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [customer, other, amount] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            customer: customer.int()?,
            other: other.int()?,
            amount: amount.int()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `send_payment`.
pub async fn send_payment<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let customer = arguments.customer;
    let other = arguments.other;
    let amount = arguments.amount;
    let mut in_checking: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.accounts, KeyBuilder::new().int8(customer).key()));
    call.scratch.reads.push((tables.accounts, KeyBuilder::new().int8(other).key()));
    call.scratch.reads.push((tables.checking, KeyBuilder::new().int8(customer).key()));
    call.scratch.reads.push((tables.checking, KeyBuilder::new().int8(other).key()));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_accounts], &mut call.scratch.found)
        .await?;
    let Some(accounts_row) = call.scratch.found[0] else {
        return Err(Stop::raised("P0001", "There is no such customer"));
    };
    let Some(accounts_row_2) = call.scratch.found[1] else {
        return Err(Stop::raised("P0001", "There is no such customer"));
    };
    let Some(checking_row) = call.scratch.found[2] else {
        return Err(Stop::Deviates);
    };
    let checking = call.txn.row(checking_row);
    in_checking = checking.int_in(checking::BALANCE);
    if in_checking < amount {
        return Err(Stop::raised("P0001", "There is not enough money"));
    }
    if let Some(checking_row_2) = call.scratch.found[2] {
        let checking_2 = call.txn.row(checking_row_2);
        let balance = number::subtract(checking_2.int_in(checking::BALANCE), amount)?;
        let mut new_checking = call.txn.update(checking_row_2);
        new_checking.set_int_in(checking::BALANCE, balance);
    }
    if let Some(checking_row_3) = call.scratch.found[3] {
        let checking_3 = call.txn.row(checking_row_3);
        let balance_2 = number::add(checking_3.int_in(checking::BALANCE), amount)?;
        let mut new_checking_2 = call.txn.update(checking_row_3);
        new_checking_2.set_int_in(checking::BALANCE, balance_2);
    }
    call.results.row();
    call.results.int(number::subtract(in_checking, amount)?);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let customer = arguments.customer;
    let other = arguments.other;
    lane.prefetch(&[
        (tables.accounts, KeyBuilder::new().int8(customer).key()),
        (tables.accounts, KeyBuilder::new().int8(other).key()),
        (tables.checking, KeyBuilder::new().int8(customer).key()),
        (tables.checking, KeyBuilder::new().int8(other).key()),
    ]);
    Ok(())
}
