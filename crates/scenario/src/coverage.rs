//! What runs have covered: which faults had an effect, which failure points were reached, and which were
//! not.

use fabric::FailurePoint;
use index::hash::HashStep;
use index::tree::TreeStep;
use sim::{Coverage, FaultKind};
use txn::commit::CommitStep;
use txn::step::{ChangeStep, CollectStep};

/// The name of every failure point that there is.
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

/// What was never covered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Missing {
    /// Kinds of faults that a gate asks for.
    pub faults: Vec<FaultKind>,
    /// Kinds of faults that a gate does not ask for: a database needs code to recover from them that this
    /// one does not have.
    pub exempt: Vec<FaultKind>,
    /// Failure points.
    pub points: Vec<&'static str>,
}

impl Missing {
    /// What is missing in the coverage of many runs.
    pub fn of(coverage: &Coverage) -> Self {
        let never = FaultKind::ALL.into_iter().filter(|kind| coverage.of(*kind) == 0);
        let (exempt, faults) = never.partition(|kind| kind.needs_recovery());
        let is_missed = |point: &&str| coverage.reached.get(*point).is_none_or(|count| *count == 0);
        let points = failure_points().into_iter().filter(is_missed).collect();
        Self { faults, exempt, points }
    }

    /// Whether a gate lets this pass.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty() && self.points.is_empty()
    }
}

/// How many faults had an effect.
pub fn fault_count(coverage: &Coverage) -> u64 {
    coverage.faults.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_hit_is_missing() {
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
