//! The judge's verdict on the recorded sessions of a run, as checks of the workload.

use crate::driver::CheckResult;
use history_judge::{History, Level, Report, Verdict};
use txn::Isolation;

pub(crate) const SNAPSHOT: &str = "the history is of strong session snapshot isolation";
const SERIALIZABLE: &str = "the history is serializable";

/// Checks the engine's promises: sessions see their own commits, and no snapshot is torn; at the
/// serializable level a serial order exists.
pub(crate) fn verdicts(history: &History, isolation: Isolation) -> Vec<CheckResult> {
    let mut levels = vec![(SNAPSHOT, Level::StrongSessionSnapshot)];
    if isolation == Isolation::Serializable {
        levels.push((SERIALIZABLE, Level::Serializable));
    }
    match history_judge::judge(history) {
        Ok(report) => {
            levels.into_iter().map(|(name, level)| verdict(name, level, &report)).collect()
        }
        Err(error) => vec![CheckResult::fails(SNAPSHOT, error.to_string())],
    }
}

fn verdict(name: &'static str, level: Level, report: &Report) -> CheckResult {
    match report.verdict(level) {
        Verdict::Holds => {
            let counts = report.counts;
            let told = format!("{} committed, {} aborted", counts.committed, counts.aborted);
            CheckResult::holds(name, told)
        }
        Verdict::Violated => {
            let found = report.against(level).next().expect("a violation has an anomaly");
            let (anomaly, summary) = (found.witness.anomaly, &found.witness.summary);
            CheckResult::fails(name, format!("{anomaly}: {summary}"))
        }
        Verdict::Unknown(reason) => CheckResult::fails(name, (*reason).to_owned()),
    }
}
