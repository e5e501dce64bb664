//! The coverage of runs: which faults had an effect and which failure points were reached, and
//! which were not.

use fabric::FailurePoint;
use index::hash::HashStep;
use index::tree::TreeStep;
use sim::{Coverage, FaultKind};
use txn::commit::CommitStep;
use txn::step::{ChangeStep, CollectStep};

/// The names of all failure points.
pub fn failure_points() -> Vec<&'static str> {
    let commit = CommitStep::ALL.iter().map(|step| step.name());
    let hash = HashStep::ALL.iter().map(|step| step.name());
    let tree = TreeStep::ALL.iter().map(|step| step.name());
    let collect = CollectStep::ALL.iter().map(|step| step.name());
    let change = ChangeStep::ALL.iter().map(|step| step.name());
    let mut points: Vec<_> = commit.chain(hash).chain(tree).chain(collect).chain(change).collect();
    points.sort_unstable();
    points
}

/// The faults and failure points that no run covered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Missing {
    /// Kinds of faults that a gate requires.
    pub faults: Vec<FaultKind>,
    /// Kinds of faults that a gate does not require: recovering from them needs code that this
    /// database does not have.
    pub exempt: Vec<FaultKind>,
    pub points: Vec<&'static str>,
}

impl Missing {
    /// The uncovered part after many runs.
    pub fn of(coverage: &Coverage) -> Self {
        let never = FaultKind::ALL.into_iter().filter(|kind| coverage.of(*kind) == 0);
        let (exempt, faults) = never.partition(|kind| kind.needs_recovery());
        let is_missed = |point: &&str| coverage.reached.get(*point).is_none_or(|count| *count == 0);
        let points = failure_points().into_iter().filter(is_missed).collect();
        Self { faults, exempt, points }
    }

    /// Whether a gate accepts the coverage.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty() && self.points.is_empty()
    }
}

/// Number of faults that had an effect.
pub fn fault_count(coverage: &Coverage) -> u64 {
    coverage.faults.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncovered_faults_and_points_are_missing() {
        let mut coverage = Coverage::default();
        for point in failure_points() {
            coverage.reached.insert(point, 3);
        }
        coverage.reached.insert("commit::LocksHeld", 0);
        for kind in FaultKind::ALL.into_iter().filter(|kind| !kind.needs_recovery()) {
            coverage.faults.insert(kind, 1);
        }
        let missing = Missing::of(&coverage);
        assert_eq!(missing.points, ["commit::LocksHeld"]);
        assert_eq!(missing.faults, []);
        assert!(missing.exempt.contains(&FaultKind::NodeCrash) && !missing.is_complete());
        coverage.reached.insert("commit::LocksHeld", 1);
        assert!(Missing::of(&coverage).is_complete());
        coverage.faults.remove(&FaultKind::GreyCard);
        assert_eq!(Missing::of(&coverage).faults, [FaultKind::GreyCard]);
    }
}
