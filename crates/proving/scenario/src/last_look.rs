//! The final checks after all clients have ended: the workload's checks with the judge's verdict,
//! the structure of every table and index, and remaining locks.

use crate::client::{Desk, Standing, until};
use crate::file::plans::Expectation;
use crate::report::{Demand, Failure};
use crate::work::Play;
use fabric::Env;
use txn::{Database, HeldLock};
use workload::{CheckResult, RunTotals, WorkloadError};

/// The time limit in virtual time of a final read that may fail.
const PATIENCE_NS: u64 = 20_000_000;
/// The largest number of locks that a message names.
const TOLD_MAX: usize = 3;

/// Checks everything; returns the first failure.
pub(crate) async fn look<E: Env, P: Play<E>>(
    database: &Database<E>,
    play: &P,
    totals: &RunTotals,
    expect: &Expectation,
) -> Option<Failure> {
    let checked = match expect.last_look {
        true => check(database, play, totals).await,
        false => match until(database.env(), PATIENCE_NS, check(database, play, totals)).await {
            Some(checked) => checked,
            None => Err(WorkloadError::Unknown("the last look")),
        },
    };
    match checked {
        Err(error) if expect.last_look => {
            return Some(Failure::new(Demand::LastLook, format!("in the end: {error}")));
        }
        _ if !expect.history_holds => return None,
        Ok(results) => {
            if let Some(failure) = first_failing(&results) {
                return Some(failure);
            }
        }
        // The history before is judged all the same.
        Err(_) => return first_failing(&play.verdicts()),
    }
    structure(database, expect).await
}

async fn check<E: Env, P: Play<E>>(
    database: &Database<E>,
    play: &P,
    totals: &RunTotals,
) -> Result<Vec<CheckResult>, WorkloadError> {
    database.refresh().await?;
    let mut lane = database.lane().await?;
    let results = play.check(database, &mut lane, totals, false).await;
    lane.rest().await?;
    results
}

fn first_failing(results: &[CheckResult]) -> Option<Failure> {
    let failing = results.iter().find(|result| !result.ok)?;
    Some(Failure::new(Demand::Check, format!("{}: {}", failing.name, failing.detail)))
}

async fn structure<E: Env>(database: &Database<E>, expect: &Expectation) -> Option<Failure> {
    let report = match database.check().await {
        Ok(report) => report,
        Err(error) => return Some(Failure::new(Demand::LastLook, format!("in the end: {error}"))),
    };
    if let Some(error) = report.errors.first().filter(|_| expect.structure_whole) {
        return Some(Failure::new(Demand::Structure, error.clone()));
    }
    if report.locks.is_empty() || expect.locks_left {
        return None;
    }
    let told = report.locks.iter().take(TOLD_MAX).map(HeldLock::to_string);
    let told = told.collect::<Vec<_>>().join(", ");
    let sentence = format!("still locked: {told}; {} in all", report.locks.len());
    Some(Failure::new(Demand::Unlocked, sentence))
}

/// The failure of clients that have not ended within the bound after faults have stopped.
pub(crate) fn stuck(desk: &Desk, bound_ns: u64) -> Failure {
    let standings = desk.standings.borrow();
    let waiting: Vec<String> = (0..).zip(standings.iter()).filter_map(waiting_text).collect();
    let sentence = format!("after {bound_ns} ns without a fault there is {}", waiting.join(", "));
    Failure::new(Demand::Progress, sentence)
}

fn waiting_text((number, standing): (u32, &Standing)) -> Option<String> {
    (!standing.is_done).then(|| match standing.is_in_transaction {
        true => format!("client {number} in transaction {}", standing.begun),
        false => format!("client {number} before transaction {}", standing.begun + 1),
    })
}

/// The failure of a client without a commit since faults have stopped, if the scenario requires
/// one.
pub(crate) fn late_commits(desk: &Desk, expect: &Expectation) -> Option<Failure> {
    if !expect.every_client_commits || !desk.is_closing.get() {
        return None;
    }
    let standings = desk.standings.borrow();
    let idle = standings.iter().position(|standing| standing.late_commits == 0)?;
    let sentence = format!("faults have stopped, and client {idle} commits nothing");
    Some(Failure::new(Demand::Progress, sentence))
}
