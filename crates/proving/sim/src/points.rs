//! Failure points and mutants: the faults of arrivals, and the counters of arrivals and of queried
//! guards.

use crate::config::SimConfig;
use crate::fault::Fault;
use fabric::Mutant;
use std::collections::BTreeMap;

/// The plan for failure points, and the counters of points and mutants.
#[derive(Debug, Default)]
pub(crate) struct Points {
    reached: BTreeMap<&'static str, u64>,
    killed: BTreeMap<&'static str, u64>,
    asked: BTreeMap<Mutant, u64>,
    plan: Vec<(String, u64, Fault)>,
}

impl Points {
    /// Plans `fault` for the `nth` arrival (from 1) at `point`.
    pub(crate) fn plan(&mut self, point: &str, nth: u64, fault: Fault) {
        assert!(nth > 0, "arrivals are counted from 1");
        self.plan.push((point.to_owned(), nth, fault));
    }

    /// Drops the plan.
    pub(crate) fn forget_plan(&mut self) {
        self.plan.clear();
    }

    /// Counts an arrival at `point`. Returns its number.
    pub(crate) fn arrive(&mut self, point: &'static str) -> u64 {
        let count = self.reached.entry(point).or_insert(0);
        *count += 1;
        *count
    }

    /// The faults planned for an arrival.
    pub(crate) fn planned(&self, point: &str, nth: u64) -> Vec<Fault> {
        let fits = |(name, number, _): &&(String, u64, Fault)| name == point && *number == nth;
        self.plan.iter().filter(fits).map(|(_, _, fault)| fault.clone()).collect()
    }

    /// Counts a death at `point`.
    pub(crate) fn died(&mut self, point: &'static str) {
        *self.killed.entry(point).or_insert(0) += 1;
    }

    /// Counts a query of a guard; returns whether it is removed.
    pub(crate) fn ask(&mut self, mutant: Mutant, config: &SimConfig) -> bool {
        *self.asked.entry(mutant).or_insert(0) += 1;
        config.mutants.contains(&mutant)
    }

    pub(crate) fn reached(&self) -> &BTreeMap<&'static str, u64> {
        &self.reached
    }

    pub(crate) fn killed(&self) -> &BTreeMap<&'static str, u64> {
        &self.killed
    }

    pub(crate) fn asked(&self, mutant: Mutant) -> u64 {
        self.asked.get(&mutant).copied().unwrap_or(0)
    }
}
