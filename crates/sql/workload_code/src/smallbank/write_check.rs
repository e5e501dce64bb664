//! Procedure `write_check`, line 110 of `procedures.sql`.

use super::tables::{Tables, checking, savings};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};
use txn::Lane;

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `customer`, bigint.
    pub customer: i64,
    /// `amount`, bigint.
    pub amount: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [customer, amount] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            customer: customer.int()?,
            amount: amount.int()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `write_check`.
pub async fn write_check<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let customer = arguments.customer;
    let amount = arguments.amount;
    let mut penalty: i64;
    let mut in_savings: i64;
    let mut in_checking: i64;
    let mut charge: i64;
    penalty = 100;
    charge = amount;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.accounts, KeyBuilder::new().int8(customer).key()));
    call.scratch.reads.push((tables.savings, KeyBuilder::new().int8(customer).key()));
    call.scratch.reads.push((tables.checking, KeyBuilder::new().int8(customer).key()));
    call.txn
        .read_columns(&call.scratch.reads, &[tables.columns_of_accounts], &mut call.scratch.found)
        .await?;
    let Some(accounts_row) = call.scratch.found[0] else {
        return Err(Stop::raised("P0001", "There is no such customer"));
    };
    let Some(savings_row) = call.scratch.found[1] else {
        return Err(Stop::Deviates);
    };
    let savings = call.txn.row(savings_row);
    in_savings = savings.int_in(savings::BALANCE);
    let Some(checking_row) = call.scratch.found[2] else {
        return Err(Stop::Deviates);
    };
    let checking = call.txn.row(checking_row);
    in_checking = checking.int_in(checking::BALANCE);
    if number::add(in_savings, in_checking)? < amount {
        charge = number::add(amount, penalty)?;
    }
    if let Some(checking_row_2) = call.scratch.found[2] {
        let balance = number::subtract(in_checking, charge)?;
        let mut new_checking = call.txn.update(checking_row_2);
        new_checking.set_int_in(checking::BALANCE, balance);
    }
    call.results.row();
    call.results.int(charge);
    return Ok(());
}

/// Prefetches the rows that a call with these arguments reads first.
pub fn prefetch<E: Env>(
    lane: &Lane<E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let customer = arguments.customer;
    lane.prefetch(&[
        (tables.accounts, KeyBuilder::new().int8(customer).key()),
        (tables.savings, KeyBuilder::new().int8(customer).key()),
        (tables.checking, KeyBuilder::new().int8(customer).key()),
    ]);
    Ok(())
}
