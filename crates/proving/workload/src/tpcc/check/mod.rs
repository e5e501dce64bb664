//! Checks the consistency of a database: the twelve conditions of [TPC-C 3.3.2], further
//! invariants, and that every committed transaction exists.
//!
//! TPC-C is serializable under snapshot isolation [Fekete et al. 2005], so a condition that fails
//! always shows a bug. All tables are read in one snapshot.

mod conditions;
mod counts;
mod facts;
mod gather;
mod invariants;

use super::Config;
use super::tables::Partitions;
use crate::attempts::{insist, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, RunTotals, TransactionResult};
use crate::error::WorkloadError;
use fabric::Env;
use facts::Facts;
use txn::{Isolation, Lane};

/// Runs every check that applies.
pub async fn check<E: Env>(
    lane: &mut Lane<E>,
    tables: &Partitions,
    config: &Config,
    totals: &RunTotals,
    after_load: bool,
) -> Result<Vec<CheckResult>, WorkloadError> {
    catch_up(lane).await?;
    let facts = read_facts(lane, tables, config).await?;
    let mut results = vec![counts::no_strays(&facts)];
    results.extend(conditions::check(&facts, after_load));
    results.extend(invariants::check(&facts));
    results.extend(counts::check(&facts, totals));
    Ok(results)
}

/// Reads everything in one snapshot. If the snapshot grows too old during the scan, a new one is
/// taken.
async fn read_facts<E: Env>(
    lane: &mut Lane<E>,
    tables: &Partitions,
    config: &Config,
) -> Result<Facts, WorkloadError> {
    let mut facts = Facts::new(config);
    let read = async |lane: &mut Lane<E>| {
        facts = Facts::new(config);
        try_read(lane, tables, &mut facts).await
    };
    insist(lane, read).await?;
    Ok(facts)
}

async fn try_read<E: Env>(
    lane: &mut Lane<E>,
    tables: &Partitions,
    facts: &mut Facts,
) -> Result<TransactionResult, WorkloadError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    gather::gather(&mut txn, tables, facts).await?;
    Ok(result_of(txn.commit().await))
}

/// Checks every element of a population. `wrong` describes an element's defect, if it has one.
fn for_all<T>(
    name: &'static str,
    what: &str,
    elements: impl Iterator<Item = T>,
    wrong: impl Fn(&T) -> Option<String>,
) -> CheckResult {
    let mut count = 0_u64;
    let mut wrong_count = 0_u64;
    let mut first = None;
    for element in elements {
        count += 1;
        if let Some(sentence) = wrong(&element) {
            wrong_count += 1;
            first.get_or_insert(sentence);
        }
    }
    match first {
        None if count == 1 => {
            CheckResult::holds(name, format!("1 {}", what.strip_suffix('s').unwrap_or(what)))
        }
        None => CheckResult::holds(name, format!("{count} {what}")),
        Some(first) => {
            let detail = format!("{wrong_count} of {count} {what} are wrong; the first: {first}");
            CheckResult::fails(name, detail)
        }
    }
}

/// Describes the difference between two numbers that should be equal.
fn differ(place: &dyn std::fmt::Display, one: i64, other: i64) -> Option<String> {
    (one != other).then(|| format!("{place}: {one} and {other}"))
}
