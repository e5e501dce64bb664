//! Procedure `amalgamate`, line 7 of `procedures.sql`.

use super::tables::{Tables, checking, savings};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, number};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `customer`, bigint.
    pub customer: i64,
    /// `other`, bigint.
    pub other: i64,
    /// The lifetime is unused.
    pub borrowed: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [customer, other] = arguments else { return Err(Stop::Deviates) };
        Ok(Self {
            customer: customer.int()?,
            other: other.int()?,
            borrowed: std::marker::PhantomData,
        })
    }
}

/// Executes the procedure `amalgamate`.
pub async fn amalgamate<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let customer = arguments.customer;
    let other = arguments.other;
    let mut in_savings: i64;
    let mut in_checking: i64;
    // What the arguments name is read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.accounts, KeyBuilder::new().int8(customer).key()));
    call.scratch.reads.push((tables.accounts, KeyBuilder::new().int8(other).key()));
    call.scratch.reads.push((tables.savings, KeyBuilder::new().int8(customer).key()));
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
    let Some(savings_row) = call.scratch.found[2] else {
        return Err(Stop::Deviates);
    };
    let savings = call.txn.row(savings_row);
    in_savings = savings.int_in(savings::BALANCE);
    let Some(checking_row) = call.scratch.found[3] else {
        return Err(Stop::Deviates);
    };
    let checking = call.txn.row(checking_row);
    in_checking = checking.int_in(checking::BALANCE);
    if let Some(savings_row_2) = call.scratch.found[2] {
        let mut new_savings = call.txn.update(savings_row_2);
        new_savings.set_int_in(savings::BALANCE, 0);
    }
    if let Some(checking_row_2) = call.scratch.found[3] {
        let mut new_checking = call.txn.update(checking_row_2);
        new_checking.set_int_in(checking::BALANCE, 0);
    }
    if let Some(checking_row_3) = call.scratch.found[4] {
        let checking_3 = call.txn.row(checking_row_3);
        let balance = number::add(
            number::add(checking_3.int_in(checking::BALANCE), in_savings)?,
            in_checking,
        )?;
        let mut new_checking_2 = call.txn.update(checking_row_3);
        new_checking_2.set_int_in(checking::BALANCE, balance);
    }
    call.results.row();
    call.results.int(number::add(in_savings, in_checking)?);
    return Ok(());
}
