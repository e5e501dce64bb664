//! The result: what was killed, and what was found.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Sums over all rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub seed: u64,
    pub rounds: u64,
    pub seconds: f64,
    /// Rounds by durability.
    pub synchronous_rounds: u64,
    pub periodic_rounds: u64,
    /// Kills by what was under way: a stage of the child, and possibly a task beside it.
    pub kills: BTreeMap<String, u64>,
    /// Kills that left at least one commit on the disk that was not reported yet.
    pub kills_after_a_group: u64,
    /// Kills that were followed by the next start without a check and a clean close in between.
    pub kills_without_check: u64,
    /// Commits that were reported.
    pub reported: u64,
    /// Those that the database may lose for a while, and has lost.
    pub forgotten: u64,
    /// Commits on the disk that the child did not come to report.
    pub unreported: u64,
    /// Numbers that transactions had read, and that were found again.
    pub seen: u64,
    pub groups: u64,
    pub checkpoints: u64,
    pub catalog_changes: u64,
    /// Times when commits had ended and the interval was over.
    pub quiet: u64,
    pub checks: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, rounds, seconds, synchronous_rounds, periodic_rounds, .. } = self;
        writeln!(formatter, "{rounds} rounds with seed {seed} in {seconds:.1} s")?;
        writeln!(formatter, "  {synchronous_rounds:>10}  synchronous")?;
        writeln!(formatter, "  {periodic_rounds:>10}  periodic")?;
        writeln!(formatter, "kills")?;
        for (stage, count) in &self.kills {
            writeln!(formatter, "  {count:>10}  {stage}")?;
        }
        writeln!(
            formatter,
            "  {:>10}  with commits on the disk that were not reported",
            self.kills_after_a_group
        )?;
        writeln!(
            formatter,
            "  {:>10}  followed by a start without a check",
            self.kills_without_check
        )?;
        writeln!(formatter, "work of the children")?;
        for (count, what) in [
            (self.reported, "commits reported"),
            (self.seen, "numbers read by transactions that wrote nothing"),
            (self.groups, "groups"),
            (self.checkpoints, "checkpoints"),
            (self.catalog_changes, "changes of the catalog"),
            (self.quiet, "times without commits for longer than the interval"),
        ] {
            writeln!(formatter, "  {count:>10}  {what}")?;
        }
        writeln!(formatter, "found by {} checks", self.checks)?;
        writeln!(formatter, "  {:>10}  commits that were not reported", self.unreported)?;
        writeln!(
            formatter,
            "  {:>10}  relaxed commits were gone, all of the last interval",
            self.forgotten
        )?;
        write!(formatter, "  {:>10}  acknowledged commits were lost, 0 wrong", 0)
    }
}
