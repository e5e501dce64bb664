//! Failure points and mutants: what is done to whoever arrives, and how often somebody did.

use crate::config::SimConfig;
use crate::random::Random;
use std::collections::BTreeMap;

/// What happens to the task that arrives at a failure point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Hold { duration_ns: u64 },
    KillGroup,
    KillNode,
}

/// The plan of a run, and its counts.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    reached: BTreeMap<&'static str, u64>,
    asked: BTreeMap<&'static str, u64>,
    plan: Vec<(String, u64, Verdict)>,
}

impl Faults {
    /// Does `verdict` to the `nth` arrival (from 1) at `point`.
    pub(crate) fn plan(&mut self, point: &str, nth: u64, verdict: Verdict) {
        assert!(nth > 0, "arrivals are counted from 1");
        self.plan.push((point.to_owned(), nth, verdict));
    }

    /// Somebody arrived at `point`.
    pub(crate) fn arrive(
        &mut self,
        point: &'static str,
        config: &SimConfig,
        random: &mut Random,
    ) -> Verdict {
        let count = self.reached.entry(point).or_insert(0);
        *count += 1;
        let planned = self.plan.iter().find(|(name, nth, _)| name == point && nth == count);
        if let Some((_, _, verdict)) = planned {
            return *verdict;
        }
        if random.one_in(config.reach_delay_one_in) {
            return Verdict::Hold { duration_ns: config.reach_delay_ns.draw(random) };
        }
        Verdict::Pass
    }

    /// Somebody asked whether a guard is removed.
    pub(crate) fn ask(&mut self, mutant: &'static str, config: &SimConfig) -> bool {
        *self.asked.entry(mutant).or_insert(0) += 1;
        config.mutants.contains(&mutant)
    }

    pub(crate) fn reached(&self) -> &BTreeMap<&'static str, u64> {
        &self.reached
    }

    pub(crate) fn asked(&self, mutant: &str) -> u64 {
        self.asked.get(mutant).copied().unwrap_or(0)
    }
}
