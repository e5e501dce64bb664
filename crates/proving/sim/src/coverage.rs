//! Counters: how often each fault had an effect, and how often each failure point was reached.

use crate::fault::FaultKind;
use std::collections::BTreeMap;
use std::fmt;

/// The counts of one run or of several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// For every kind of fault, how often one had an effect.
    pub faults: BTreeMap<FaultKind, u64>,
    /// For each failure point, how often it was reached.
    pub reached: BTreeMap<&'static str, u64>,
    /// For each failure point, how often a process died there.
    pub killed: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.faults, &other.faults);
        add(&mut self.reached, &other.reached);
        add(&mut self.killed, &other.killed);
    }

    /// How often a fault of `kind` had an effect.
    pub fn of(&self, kind: FaultKind) -> u64 {
        self.faults.get(&kind).copied().unwrap_or(0)
    }
}

fn add<K: Ord + Copy>(sum: &mut BTreeMap<K, u64>, other: &BTreeMap<K, u64>) {
    for (&key, count) in other {
        *sum.entry(key).or_insert(0) += count;
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{:<44} {:>12}", "fault", "effects")?;
        for (kind, count) in &self.faults {
            writeln!(formatter, "{kind:<44} {count:>12}")?;
        }
        writeln!(formatter, "{:<44} {:>12} {:>12}", "failure point", "reached", "killed")?;
        for (point, count) in &self.reached {
            let killed = self.killed.get(point).copied().unwrap_or(0);
            writeln!(formatter, "{point:<44} {count:>12} {killed:>12}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_become_a_table() {
        let mut sum = Coverage::default();
        let run = Coverage {
            faults: BTreeMap::from([(FaultKind::Zombie, 2)]),
            reached: BTreeMap::from([("commit::LocksHeld", 5)]),
            killed: BTreeMap::from([("commit::LocksHeld", 1)]),
        };
        sum.add(&run);
        sum.add(&run);
        assert_eq!((sum.of(FaultKind::Zombie), sum.of(FaultKind::NodeCrash)), (4, 0));
        let table = sum.to_string();
        assert!(table.lines().any(|line| line.starts_with("zombie") && line.ends_with(" 4")));
        let point = table.lines().find(|line| line.starts_with("commit::LocksHeld"));
        assert_eq!(
            point.map(|line| line.split_whitespace().skip(1).collect()),
            Some(vec!["10", "2"])
        );
    }
}
