//! Results of the runs: a row per scenario, the failures with everything needed to repeat them, and
//! the coverage.

use super::work::{Done, ScenarioDone};
use crate::Verdict;
use crate::bench::text::{counted, grouped};
use scenario::coverage::{Missing, failure_points, fault_count};
use scenario::{Coverage, FaultKind};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximal number of failures of a scenario that are printed.
const FAILURES_TOLD: usize = 5;

/// The results, as in the JSON.
#[derive(Serialize)]
pub struct Summary {
    pub commit: &'static str,
    pub first_seed: u64,
    pub seeds: u64,
    pub seconds: f64,
    pub is_interrupted: bool,
    pub scenarios: Vec<ScenarioSummary>,
    pub faults: BTreeMap<&'static str, u64>,
    pub failure_points: BTreeMap<&'static str, Point>,
    pub never_hit: Vec<&'static str>,
    /// Points that were never hit but are not required: the database cannot recover from them.
    pub exempt: Vec<&'static str>,
    pub is_coverage_required: bool,
}

/// A failure point and its hits.
#[derive(Serialize)]
pub struct Point {
    pub reached: u64,
    pub killed: u64,
}

/// Results of a scenario.
#[derive(Serialize)]
pub struct ScenarioSummary {
    pub name: String,
    pub seeds: u64,
    pub committed: u64,
    pub without_effect: u64,
    pub unknown: u64,
    pub verbs: u64,
    pub faults: u64,
    pub failures: Vec<FailedRun>,
    /// The smallest run that fails like the first failing run.
    pub script: Option<Script>,
}

/// The files of a shrunk failing run.
#[derive(Serialize)]
pub struct Script {
    pub path: String,
    /// Seed of the run that was shrunk.
    #[serde(skip)]
    pub seed: u64,
    /// The judge's proof, line by line.
    pub why: Vec<String>,
    /// The file with the history that clients saw.
    pub history: Option<String>,
}

impl Script {
    fn draw(&self, text: &mut String) {
        let Self { path, why, history, .. } = self;
        let _ = writeln!(text, "  shrunk to {path}");
        for line in why {
            let _ = writeln!(text, "    {line}");
        }
        let _ = writeln!(text, "  repeat it with `namdb simulate --replay {path}`");
        if let Some(history) = history {
            let _ = writeln!(text, "  judge it with `namdb check history {history}`");
        }
    }
}

#[derive(Serialize)]
pub struct FailedRun {
    pub seed: u64,
    pub sentence: String,
}

impl Summary {
    /// Summarizes the runs.
    pub fn new(done: Done, is_coverage_required: bool) -> Self {
        let missing = Missing::of(&done.coverage);
        let mut never_hit: Vec<&'static str> =
            missing.faults.iter().map(|kind| kind.name()).collect();
        never_hit.extend(&missing.points);
        Self {
            commit: namdb_program::COMMIT,
            first_seed: done.seeds.start,
            seeds: done.seeds.end - done.seeds.start,
            seconds: done.seconds,
            is_interrupted: done.is_interrupted,
            scenarios: done.scenarios.into_iter().map(row).collect(),
            faults: faults(&done.coverage),
            failure_points: points(&done.coverage),
            never_hit,
            exempt: missing.exempt.iter().map(|kind| kind.name()).collect(),
            is_coverage_required,
        }
    }

    /// The verdict on all runs.
    pub fn verdict(&self) -> Verdict {
        if self.scenarios.iter().any(|row| !row.failures.is_empty()) {
            return Verdict::Damaged;
        }
        match self.is_coverage_required && !self.never_hit.is_empty() {
            true => Verdict::Incomplete,
            false => Verdict::Sound,
        }
    }

    /// The summary as text, in 80 columns.
    pub fn draw(&self) -> String {
        let mut text = String::new();
        self.draw_rows(&mut text);
        self.draw_failures(&mut text);
        self.draw_coverage(&mut text);
        text
    }

    fn draw_rows(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{:<24} {:>8} {:>13} {:>13} {:>8}  verdict",
            "scenario", "seeds", "transactions", "verbs", "faults"
        );
        for row in &self.scenarios {
            let transactions = row.committed + row.without_effect + row.unknown;
            let verdict = match row.failures.len() {
                0 if row.seeds == 0 => "not run".to_owned(),
                0 => "holds".to_owned(),
                count => format!("{count} fail"),
            };
            let _ = writeln!(
                text,
                "{:<24} {:>8} {:>13} {:>13} {:>8}  {verdict}",
                row.name,
                grouped(row.seeds),
                grouped(transactions),
                grouped(row.verbs),
                grouped(row.faults),
            );
        }
        let runs = counted(self.scenarios.iter().map(|row| row.seeds).sum(), "run");
        let ended = if self.is_interrupted { ", ended early by the user" } else { "" };
        let _ = writeln!(text, "\n{runs} in {:.1} s, commit {}{ended}", self.seconds, self.commit);
    }

    /// Prints commit, scenario and seed of each failing run, and how it failed.
    fn draw_failures(&self, text: &mut String) {
        for row in self.scenarios.iter().filter(|row| !row.failures.is_empty()) {
            for failed in row.failures.iter().take(FAILURES_TOLD) {
                let (commit, seed) = (self.commit, failed.seed);
                let _ = writeln!(text, "\ncommit {commit}, seed {seed}, scenario {}", row.name);
                let _ = writeln!(text, "  {}", failed.sentence);
                if let Some(script) = row.script.as_ref().filter(|script| script.seed == seed) {
                    script.draw(text);
                }
            }
            if row.failures.len() > FAILURES_TOLD {
                let more = row.failures.len() - FAILURES_TOLD;
                let _ = writeln!(text, "and {} of {}", counted(more as u64, "more run"), row.name);
            }
        }
    }

    fn draw_coverage(&self, text: &mut String) {
        let _ = writeln!(text, "\n{:<40} {:>12}", "fault", "effects");
        for (fault, count) in &self.faults {
            let _ = writeln!(text, "{fault:<40} {:>12}", grouped(*count));
        }
        let _ = writeln!(text, "\n{:<40} {:>12} {:>12}", "failure point", "reached", "killed");
        for (point, Point { reached, killed }) in &self.failure_points {
            let _ =
                writeln!(text, "{point:<40} {:>12} {:>12}", grouped(*reached), grouped(*killed));
        }
        if !self.never_hit.is_empty() {
            let _ = writeln!(text, "\nnever hit: {}", self.never_hit.join(", "));
        }
        if !self.exempt.is_empty() {
            let exempt = self.exempt.join(", ");
            let _ = writeln!(text, "never hit, and not required before recovery exists: {exempt}");
        }
    }
}

fn row(done: ScenarioDone) -> ScenarioSummary {
    let failed = |(seed, sentence)| FailedRun { seed, sentence };
    ScenarioSummary {
        seeds: done.seeds,
        committed: done.transactions.committed,
        without_effect: done.transactions.without_effect,
        unknown: done.transactions.unknown,
        verbs: done.verbs,
        faults: fault_count(&done.coverage),
        failures: done.failures.into_iter().map(failed).collect(),
        script: None,
        name: done.name,
    }
}

fn faults(coverage: &Coverage) -> BTreeMap<&'static str, u64> {
    FaultKind::ALL.into_iter().map(|kind| (kind.name(), coverage.of(kind))).collect()
}

fn points(coverage: &Coverage) -> BTreeMap<&'static str, Point> {
    let count = |counts: &BTreeMap<&'static str, u64>, name| counts.get(name).copied().unwrap_or(0);
    let point = |name| {
        let reached = count(&coverage.reached, name);
        (name, Point { reached, killed: count(&coverage.killed, name) })
    };
    failure_points().into_iter().map(point).collect()
}
