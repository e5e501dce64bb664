//! SmallBank's anomaly, step by step: three transactions that snapshot isolation lets commit
//! although no order of them explains their results [Fekete, O'Neil, O'Neil 2004; Cahill et al.
//! 2008].
//!
//! ```text
//! before             savings 400, checking 300
//! 1 WriteCheck       reads 400 + 300: a check of 500 is covered, no penalty
//! 2 TransactSavings  takes 400 from savings, commits
//! 3 Balance          reads 0 + 300, commits
//! 4 WriteCheck       takes 500 from checking, commits
//! after              savings 0, checking -200
//! ```
//! Balance's result implies that TransactSavings came before it and WriteCheck after it; but after
//! a balance of 300 the check would have cost a penalty.

use super::Tables;
use super::config::{CHECK_CENTS, PENALTY_CENTS};
use super::tables::{BALANCE, NAMES, key};
use super::transaction::{add, balance};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Abort, Isolation, Lane, RowId, Transaction};

/// Cents on savings before the transactions.
pub const SAVINGS_BEFORE: i64 = 400;
/// Cents on checking before the transactions; together with the savings they cover the check, alone
/// they do not.
pub const CHECKING_BEFORE: i64 = 300;
/// Cents that TransactSavings withdraws.
pub const WITHDRAWN: i64 = 400;

/// The results of the three transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    pub write_check: TransactionResult,
    pub transact_savings: TransactionResult,
    pub balance: TransactionResult,
    /// The sum of savings and checking that Balance read.
    pub balance_seen: i64,
    pub savings_after: i64,
    pub checking_after: i64,
}

impl Observation {
    /// Whether some serial order of the committed transactions explains the results.
    pub fn is_serializable(&self) -> bool {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        orders.iter().any(|order| self.is_explained_by(order))
    }

    /// Replays those of 0 WriteCheck, 1 TransactSavings, 2 Balance that committed, in this order.
    fn is_explained_by(&self, order: &[usize; 3]) -> bool {
        let (mut savings, mut checking) = (SAVINGS_BEFORE, CHECKING_BEFORE);
        let mut balance_seen = None;
        for step in order {
            let result = [self.write_check, self.transact_savings, self.balance][*step];
            if result != TransactionResult::Committed {
                continue;
            }
            match step {
                0 if savings + checking < CHECK_CENTS => checking -= CHECK_CENTS + PENALTY_CENTS,
                0 => checking -= CHECK_CENTS,
                1 => savings -= WITHDRAWN,
                _ => balance_seen = Some(savings + checking),
            }
        }
        balance_seen.is_none_or(|seen| seen == self.balance_seen)
            && (savings, checking) == (self.savings_after, self.checking_after)
    }

    /// Whether validation of its reads aborted WriteCheck.
    pub fn was_prevented(&self) -> bool {
        self.write_check == TransactionResult::Aborted(Abort::ReadValidation)
    }
}

/// Runs the three transactions on one customer of a loaded bank, interleaved as above, on two
/// lanes.
pub async fn run<E: Env>(
    slow: &mut Lane<E>,
    quick: &mut Lane<E>,
    tables: Tables,
    customer: u64,
    isolation: Isolation,
) -> Result<Observation, WorkloadError> {
    set_balances(quick, tables, customer).await?;

    let mut write_check = slow.begin(isolation).await?;
    let (savings, checking) = accounts(&mut write_check, tables, customer).await?;
    let covered = balance(&write_check, savings) + balance(&write_check, checking) >= CHECK_CENTS;

    let mut transact_savings = quick.begin(isolation).await?;
    let (withdrawn_from, _) = accounts(&mut transact_savings, tables, customer).await?;
    add(&mut transact_savings, withdrawn_from, -WITHDRAWN);
    let transact_savings = result_of(transact_savings.commit().await);

    let (balance_seen, balance_result) = read_balance(quick, tables, customer, isolation).await?;

    let charge = if covered { CHECK_CENTS } else { CHECK_CENTS + PENALTY_CENTS };
    add(&mut write_check, checking, -charge);
    let write_check = result_of(write_check.commit().await);

    let mut after = quick.begin(Isolation::Snapshot).await?;
    let (savings, checking) = accounts(&mut after, tables, customer).await?;
    let (savings_after, checking_after) = (balance(&after, savings), balance(&after, checking));
    after.abort().await;
    let balance = balance_result;
    Ok(Observation {
        write_check,
        transact_savings,
        balance,
        balance_seen: balance_seen.0 + balance_seen.1,
        savings_after,
        checking_after,
    })
}

async fn read_balance<E: Env>(
    lane: &mut Lane<E>,
    tables: Tables,
    customer: u64,
    isolation: Isolation,
) -> Result<((i64, i64), TransactionResult), WorkloadError> {
    let mut transaction = lane.begin(isolation).await?;
    let (savings, checking) = accounts(&mut transaction, tables, customer).await?;
    let seen = (balance(&transaction, savings), balance(&transaction, checking));
    Ok((seen, result_of(transaction.commit().await)))
}

/// Sets the customer's balances to those at the beginning.
async fn set_balances<E: Env>(
    lane: &mut Lane<E>,
    tables: Tables,
    customer: u64,
) -> Result<(), WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let (savings, checking) = accounts(&mut transaction, tables, customer).await?;
    transaction.update(savings).set_int(BALANCE, SAVINGS_BEFORE);
    transaction.update(checking).set_int(BALANCE, CHECKING_BEFORE);
    match result_of(transaction.commit().await) {
        TransactionResult::Committed => Ok(()),
        TransactionResult::Aborted(reason) => Err(WorkloadError::Aborted(reason)),
        _ => Err(WorkloadError::Unknown("the transaction that sets the balances")),
    }
}

async fn accounts<E: Env>(
    transaction: &mut Transaction<'_, E>,
    tables: Tables,
    customer: u64,
) -> Result<(RowId, RowId), WorkloadError> {
    let reads = [(tables.savings, key(customer)), (tables.checking, key(customer))];
    let mut found = Vec::with_capacity(reads.len());
    transaction.read_many(&reads, &mut found).await?;
    match found[..] {
        [Some(savings), Some(checking)] => Ok((savings, checking)),
        [None, _] => Err(WorkloadError::MissingRow { table: NAMES[1] }),
        _ => Err(WorkloadError::MissingRow { table: NAMES[2] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransactionResult::{Aborted, Committed};

    const SKEW: Observation = Observation {
        write_check: Committed,
        transact_savings: Committed,
        balance: Committed,
        balance_seen: SAVINGS_BEFORE - WITHDRAWN + CHECKING_BEFORE,
        savings_after: SAVINGS_BEFORE - WITHDRAWN,
        checking_after: CHECKING_BEFORE - CHECK_CENTS,
    };

    #[test]
    fn the_anomaly_has_no_serial_order_and_its_repairs_have_one() {
        assert!(!SKEW.is_serializable());
        // With the penalty, or if Balance had not seen the withdrawal, the history would be
        // serializable.
        let penalty =
            Observation { checking_after: CHECKING_BEFORE - CHECK_CENTS - PENALTY_CENTS, ..SKEW };
        assert!(penalty.is_serializable());
        let early = Observation { balance_seen: SAVINGS_BEFORE + CHECKING_BEFORE, ..SKEW };
        assert!(early.is_serializable());
        let refused = Observation {
            write_check: Aborted(Abort::ReadValidation),
            checking_after: CHECKING_BEFORE,
            ..SKEW
        };
        assert!(refused.is_serializable() && refused.was_prevented());
    }
}
