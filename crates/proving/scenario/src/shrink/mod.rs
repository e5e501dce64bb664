//! Shrinks a failing run to a small one with the same failure.
//!
//! It first turns random faults into a plan, so that they can be omitted one by one. Then it tries
//! everything that makes the scenario smaller, and keeps a change if the run still fails in the
//! same way, with another seed if necessary, because a smaller scenario runs differently. The
//! result is a script.

mod smaller;
mod timeline;

use crate::file::{Replay, Scenario};
use crate::report::{Failure, RunReport};
use crate::run::{RunOptions, run};
pub(crate) use timeline::START;
pub use timeline::timeline;
use workload::History;

/// Number of seeds that a smaller scenario is tried with.
const SEEDS_TRIED: u64 = 12;

/// A failing run, as small as possible.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario with its seed: [`Scenario::write`] makes a file of it.
    pub script: Scenario,
    /// The events of the run, step by step.
    pub timeline: String,
    /// The clients' history, if the workload records it.
    pub history: Option<History>,
    pub failure: Failure,
    /// Number of runs that the shrinking took.
    pub runs: u64,
}

/// Shrinks a failing run, with at most `runs_max` runs, and while `goes_on` returns true. `None` if
/// the run does not fail.
pub fn shrink(
    scenario: &Scenario,
    seed: u64,
    commit: &str,
    runs_max: u64,
    goes_on: &dyn Fn() -> bool,
) -> Option<Shrunk> {
    let mut search = Search::begin(scenario, seed, runs_max, goes_on)?;
    search.plan_faults();
    search.descend();
    let Search { scenario: mut script, seed, failure, runs, .. } = search;
    let fails = failure.to_string();
    script.replay =
        Some(Replay { seed, commit: commit.to_owned(), fails, was: None, mutant: None });
    let told = run(&script, seed, RunOptions { trace: true });
    let timeline = timeline(&told);
    Some(Shrunk { timeline, history: told.history, script, failure, runs })
}

struct Search<'a> {
    scenario: Scenario,
    seed: u64,
    failure: Failure,
    /// The report of the smallest run so far.
    report: RunReport,
    runs: u64,
    runs_max: u64,
    goes_on: &'a dyn Fn() -> bool,
}

impl<'a> Search<'a> {
    fn begin(
        scenario: &Scenario,
        seed: u64,
        runs_max: u64,
        goes_on: &'a dyn Fn() -> bool,
    ) -> Option<Self> {
        let scenario = Scenario { replay: None, ..scenario.drawn(seed) };
        let report = run(&scenario, seed, RunOptions::default());
        let failure = report.failure.clone()?;
        Some(Self { scenario, seed, failure, report, runs: 1, runs_max, goes_on })
    }

    fn may_go_on(&self) -> bool {
        self.runs < self.runs_max && (self.goes_on)()
    }

    /// Adopts `scenario` if it fails in the same way with one of these seeds.
    fn takes(&mut self, scenario: &Scenario, seeds: impl IntoIterator<Item = u64>) -> bool {
        for seed in seeds {
            if !self.may_go_on() {
                return false;
            }
            self.runs += 1;
            let report = run(scenario, seed, RunOptions::default());
            if let Some(failure) = &report.failure
                && failure.kind() == self.failure.kind()
            {
                self.failure = failure.clone();
                (self.scenario, self.seed, self.report) = (scenario.clone(), seed, report);
                return true;
            }
        }
        false
    }

    /// Puts the random faults that have happened into the plan.
    fn plan_faults(&mut self) {
        let mut planned = self.scenario.clone();
        planned.faults.clear();
        planned.plan.extend(self.report.happened.iter().cloned());
        self.takes(&planned, [self.seed]);
    }

    /// Tries smaller scenarios until none of them fails.
    fn descend(&mut self) {
        loop {
            let found = smaller::candidates(&self.scenario).into_iter().any(|candidate| {
                let others = (0..SEEDS_TRIED).filter(|seed| *seed != self.seed);
                let seeds: Vec<u64> = std::iter::once(self.seed).chain(others).collect();
                self.takes(&candidate, seeds)
            });
            if !found || !self.may_go_on() {
                return;
            }
        }
    }
}
