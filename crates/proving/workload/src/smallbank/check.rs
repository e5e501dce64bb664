//! Checks the consistency of the bank.

use super::Tables;
use super::config::{BALANCE_INITIAL_CENTS, SmallBankConfig};
use super::tables::{BALANCE, CUSTOMER, NAME, NAMES, name};
use crate::catch_up::catch_up;
use crate::driver::CheckResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane};

const ROWS: &str = "every customer has one row in each table";
const NAMED: &str = "every account has its customer's name";
const MONEY: &str = "money is conserved: balances match the committed transactions";
const SAVINGS: &str = "no savings account is overdrawn";

/// The result of one pass over the tables.
#[derive(Clone, Debug, Default)]
struct Found {
    rows: [u64; 3],
    cents: i64,
    misnamed: Option<i64>,
    overdrawn: Option<(i64, i64)>,
}

/// Reads all tables in one snapshot. `change_cents` is the change of the sum of all accounts by
/// committed transactions; `unknown` transactions may have changed it further.
pub(super) async fn check<E: Env>(
    lane: &mut Lane<E>,
    tables: Tables,
    config: &SmallBankConfig,
    change_cents: i64,
    unknown: u64,
) -> Result<Vec<CheckResult>, WorkloadError> {
    catch_up(lane).await?;
    let mut found = Found::default();
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let visit = &mut |account: layout::RecordRef<'_>| {
        found.rows[0] += 1;
        let customer = account.int(CUSTOMER);
        if account.bytes(NAME) != name(customer as u64).as_bytes() {
            found.misnamed.get_or_insert(customer);
        }
    };
    transaction.for_each(tables.accounts, visit).await?;
    let visit = &mut |savings: layout::RecordRef<'_>| {
        found.rows[1] += 1;
        let cents = savings.int(BALANCE);
        found.cents += cents;
        if cents < 0 {
            found.overdrawn.get_or_insert((savings.int(CUSTOMER), cents));
        }
    };
    transaction.for_each(tables.savings, visit).await?;
    let visit = &mut |checking: layout::RecordRef<'_>| {
        found.rows[2] += 1;
        found.cents += checking.int(BALANCE);
    };
    transaction.for_each(tables.checking, visit).await?;
    transaction.abort().await;
    Ok(judge(&found, config.customers, change_cents, unknown))
}

fn judge(found: &Found, customers: u64, change_cents: i64, unknown: u64) -> Vec<CheckResult> {
    let wrong = (0..3).find(|&table| found.rows[table] != customers);
    let rows = match wrong {
        None => CheckResult::holds(ROWS, format!("{customers} customers")),
        Some(table) => {
            let (name, rows) = (NAMES[table], found.rows[table]);
            CheckResult::fails(ROWS, format!("{name} has {rows} rows instead of {customers}"))
        }
    };
    let named = match found.misnamed {
        None => CheckResult::holds(NAMED, format!("{} accounts", found.rows[0])),
        Some(customer) => CheckResult::fails(NAMED, format!("account {customer} does not")),
    };
    let savings = match found.overdrawn {
        None => CheckResult::holds(SAVINGS, format!("{} accounts", found.rows[1])),
        Some((customer, cents)) => {
            CheckResult::fails(SAVINGS, format!("customer {customer} has {cents} cents"))
        }
    };
    vec![rows, named, judge_money(found.cents, customers, change_cents, unknown), savings]
}

/// A transaction of unknown outcome may have moved money in or out of the bank, so the exact sum is
/// unknown; the check then reports that and only tests the possible range.
fn judge_money(cents: i64, customers: u64, change_cents: i64, unknown: u64) -> CheckResult {
    let expected = 2 * customers as i64 * BALANCE_INITIAL_CENTS + change_cents;
    let tolerance = unknown as i64 * super::config::CHANGE_CENTS_MAX;
    if (cents - expected).abs() <= tolerance {
        return CheckResult::holds(MONEY, format!("{cents} cents"));
    }
    CheckResult::fails(MONEY, format!("{cents} cents instead of {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(damage: impl FnOnce(&mut Found)) -> Vec<&'static str> {
        let cents = 20 * BALANCE_INITIAL_CENTS + 130;
        let mut found = Found { rows: [10; 3], cents, ..Found::default() };
        damage(&mut found);
        let verdicts = judge(&found, 10, 130, 0);
        verdicts.iter().filter(|verdict| !verdict.ok).map(|verdict| verdict.name).collect()
    }

    #[test]
    fn each_damage_fails_its_check_and_no_other() {
        assert_eq!(failing(|_| ()), [""; 0]);
        assert_eq!(failing(|found| found.rows[2] = 9), [ROWS]);
        assert_eq!(failing(|found| found.misnamed = Some(3)), [NAMED]);
        assert_eq!(failing(|found| found.cents -= 1), [MONEY]);
        assert_eq!(failing(|found| found.overdrawn = Some((3, -1))), [SAVINGS]);
    }

    #[test]
    fn an_unknown_outcome_widens_what_the_sum_may_be() {
        assert!(!judge_money(20 * BALANCE_INITIAL_CENTS - 500, 10, 0, 0).ok);
        assert!(judge_money(20 * BALANCE_INITIAL_CENTS - 500, 10, 0, 1).ok);
        assert!(!judge_money(20 * BALANCE_INITIAL_CENTS - 50_000, 10, 0, 1).ok);
    }
}
