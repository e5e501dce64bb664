//! From a run that fails to a small one that fails alike.
//!
//! Faults that came by chance are written down as a plan first: then they can be left out one by one. After
//! that whatever makes the scenario smaller is tried, and kept if the run still fails in the same way, if
//! need be with another seed: a smaller scenario takes another course. What is left is a script.

mod smaller;
mod timeline;

use crate::file::{Replay, Scenario};
use crate::report::{Failure, RunReport};
use crate::run::{RunOptions, run};
pub(crate) use timeline::START;
pub use timeline::timeline;
use workload::History;

/// Seeds that a smaller scenario is tried with.
const SEEDS_TRIED: u64 = 12;

/// A run that fails, as small as it could be made.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario with its seed: [`Scenario::write`] makes a file of it.
    pub script: Scenario,
    /// What happens in it, step by step.
    pub timeline: String,
    /// What its clients saw, if the workload records it.
    pub history: Option<History>,
    /// How it fails.
    pub failure: Failure,
    /// Runs that it took.
    pub runs: u64,
}

/// Shrinks a run that fails, with so many runs at most, and as long as `goes_on` says so. Nothing if the run
/// does not fail.
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
    script.replay = Some(Replay { seed, commit: commit.to_owned(), fails, was: None });
    let told = run(&script, seed, RunOptions { trace: true });
    let timeline = timeline(&told);
    Some(Shrunk { timeline, history: told.history, script, failure, runs })
}

struct Search<'a> {
    scenario: Scenario,
    seed: u64,
    failure: Failure,
    /// What the smallest run so far has to say.
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

    /// Takes `scenario` if it fails alike with one of these seeds.
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

    /// Puts the faults that have happened by chance into the plan.
    fn plan_faults(&mut self) {
        let mut planned = self.scenario.clone();
        planned.faults.clear();
        planned.plan.extend(self.report.happened.iter().cloned());
        self.takes(&planned, [self.seed]);
    }

    /// Tries everything smaller until nothing smaller fails.
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
