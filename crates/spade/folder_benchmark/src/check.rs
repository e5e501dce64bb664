//! The checks of a folder, which are executed after all calls have ended.
//!
//! Decisions:
//! - docs/decisions/0206-checks-of-a-folder-are-sql.md
//! - docs/decisions/0248-rows-are-checked-when-they-are-loaded.md

use crate::names::kept;
use fabric::Env;
use interpreter::{CallError, Procedures, Settings};
use procedure::node::Workload as Ready;
use sql::Field;
use sql::load::Load;
use sql_value::Value;
use txn::{Database, Isolation, Lane};
use workload::{CheckResult, RunTotals, WorkloadError};

/// A share may deviate by this number of standard deviations; a correct run exceeds it once in two
/// million.
const DEVIATIONS: f64 = 5.0;

/// Text before the first wrong row.
const ROW_AHEAD: &str = " wrong: ";
/// Text before the error of a check.
const ERROR_AHEAD: &str = "it ends with SQLSTATE ";

/// Splits the result of a check into its own words and the values from tables, which must be
/// printed verbatim.
pub fn own_words(detail: &str) -> (&str, &str) {
    let ahead = [ROW_AHEAD, ERROR_AHEAD].into_iter();
    let found = ahead.filter_map(|ahead| Some(detail.find(ahead)? + ahead.len())).min();
    detail.split_at(found.unwrap_or(detail.len()))
}

pub struct Checks {
    functions: Ready,
    /// Names of the functions, as sentences.
    names: Vec<&'static str>,
    /// For each procedure with an expected share of successful calls: its name, and the bounds of
    /// the share.
    shares: Vec<Option<(&'static str, f64, f64)>>,
}

impl Checks {
    /// The checks of these functions and of this load.
    pub fn new(functions: Ready, load: &Load) -> Self {
        let names = functions.procedures.iter().map(|check| {
            let words = check.routine.name.replace('_', " ");
            kept(&words)
        });
        let shares = load.procedures.iter().map(|procedure| {
            let (low, high) = procedure.succeeds?;
            let name = format!("{} succeeds as often as expected", procedure.procedure);
            Some((kept(&name), low, high))
        });
        Self { names: names.collect(), shares: shares.collect(), functions }
    }

    pub async fn judge<E: Env>(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        totals: &RunTotals,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        let refused = |error: String| WorkloadError::Configuration(error);
        let settings = Settings { isolation: Isolation::Snapshot, ..Settings::default() };
        let mut procedures = Procedures::open(database, &self.functions, settings)
            .map_err(|error| refused(error.to_string()))?;
        let mut results = Vec::new();
        for (check, name) in self.functions.procedures.iter().zip(&self.names) {
            let id = procedures.find(&check.routine.name).expect("it was opened just now");
            let columns = procedures.fields(id);
            let found = match procedures.call(lane, id, &[]).await {
                Ok(outcome) => outcome.rows.iter().next().map(|row| {
                    let row = in_words(&columns, row);
                    match outcome.rows.len() {
                        1 => format!("1 row is{ROW_AHEAD}{row}"),
                        count => format!("{count} rows are{ROW_AHEAD}first {row}"),
                    }
                }),
                Err(CallError::Sql(error)) => {
                    let (code, sentence) = (error.sqlstate, error.message);
                    Some(format!("{ERROR_AHEAD}{code}: {sentence}"))
                }
                Err(CallError::Engine(error)) => return Err(WorkloadError::Statement(error)),
                Err(CallError::Aborted(reason)) => return Err(WorkloadError::Aborted(reason)),
                Err(error) => return Err(refused(format!("the check `{name}`: {error}"))),
            };
            results.push(match found {
                None => CheckResult::holds(name, "no row is wrong".to_owned()),
                Some(detail) => CheckResult::fails(name, detail),
            });
        }
        results.extend((0..).zip(&self.shares).filter_map(|(kind, share)| {
            let (name, low, high) = (*share)?;
            let seen = totals.kind(kind);
            judge_share(
                name,
                (low, high),
                seen.committed - seen.skipped,
                seen.rolled_back + seen.skipped,
            )
        }));
        Ok(results)
    }
}

/// Judges the share of successful calls; `None` if there were no calls.
fn judge_share(
    name: &'static str,
    (low, high): (f64, f64),
    successes: u64,
    failures: u64,
) -> Option<CheckResult> {
    let calls = successes + failures;
    if calls == 0 {
        return None;
    }
    let (count, share) = (calls as f64, successes as f64 / calls as f64);
    // The extra call allows for deviations where the expected share is 0 or 1.
    let slack = |of: f64| DEVIATIONS * (of * (1.0 - of) * count).sqrt() + 1.0;
    let least = (low * count - slack(low)).ceil().max(0.0) as u64;
    let most = (high * count + slack(high)).floor().min(count) as u64;
    let expected = if low == high { format!("{low}") } else { format!("{low} to {high}") };
    let detail = format!(
        "{successes} of {calls} calls, a share of {share:.4}; {expected} expected, {least} to {most} successes are allowed"
    );
    let holds = (least..=most).contains(&successes);
    let judged =
        if holds { CheckResult::holds(name, detail) } else { CheckResult::fails(name, detail) };
    Some(judged.of_rates())
}

fn in_words(columns: &[Field], row: &[Value]) -> String {
    let pairs = columns.iter().zip(row).map(|(column, value)| match value {
        Value::Null => format!("{} null", column.name),
        value => format!("{} {}", column.name, sql_value::output::text(value, &column.sql_type)),
    });
    pairs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_far_from_what_is_expected_are_refused() {
        let judge = |bounds, successes, failures| {
            judge_share("rate", bounds, successes, failures).map(|result| result.ok)
        };
        assert_eq!(judge((0.625, 0.625), 0, 0), None, "nobody has called");
        assert_eq!(judge((0.625, 0.625), 6_250, 3_750), Some(true));
        assert_eq!(judge((0.625, 0.625), 6_480, 3_520), Some(true), "within five deviations");
        assert_eq!(judge((0.625, 0.625), 6_520, 3_480), Some(false));
        assert_eq!(judge((0.1, 0.2), 1_500, 8_500), Some(true), "between the bounds");
        assert_eq!(judge((0.1, 0.2), 2_300, 7_700), Some(false));
        assert_eq!(judge((1.0, 1.0), 1_000, 0), Some(true));
        assert_eq!(judge((1.0, 1.0), 1_000, 3), Some(false));
    }

    #[test]
    fn shares_are_judged_by_the_bounds_that_are_told() {
        let told = |bounds, successes, calls| {
            let result = judge_share("rate", bounds, successes, calls - successes);
            let result = result.expect("there were calls");
            let allowed = result.detail.split_once("expected, ").map(|(_, allowed)| allowed);
            let words: Vec<&str> = allowed.expect("it is told").split(' ').collect();
            let bound = |at: usize| words[at].parse::<u64>().expect("a number of successes");
            ((bound(0), bound(2)), result.ok)
        };
        // The share is outside of the bounds, but with few calls that is within the tolerance.
        assert_eq!(told((0.59, 0.66), 161, 237), ((101, 193), true));
        for bounds in [(0.59, 0.66), (0.5, 0.5), (0.0, 0.1), (1.0, 1.0), (0.0, 0.0)] {
            for calls in [1, 2, 7, 60, 237, 4_000] {
                let judged = |successes| {
                    let ((least, most), holds) = told(bounds, successes, calls);
                    assert_eq!(holds, (least..=most).contains(&successes));
                    assert!(most <= calls && least <= most);
                    holds
                };
                let holding = (0..=calls).filter(|successes| judged(*successes)).count();
                assert!(holding > 0, "{bounds:?} of {calls}");
            }
        }
    }
}
