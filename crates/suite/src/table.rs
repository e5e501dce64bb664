//! What came of every test on every fabric, as a table.

use crate::stage::Outcome;
use std::fmt::Write;

/// Outcomes, test by test.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

/// One outcome.
struct Row {
    test: &'static str,
    fabric: &'static str,
    /// What it is that was seen.
    seen: &'static str,
    outcome: Outcome,
}

impl Table {
    /// Enters an outcome of `test` on `fabric`, which counts `seen`.
    pub fn enter(
        &mut self,
        test: &'static str,
        fabric: &'static str,
        seen: &'static str,
        outcome: Outcome,
    ) {
        self.rows.push(Row { test, fabric, seen, outcome });
    }

    /// How many failed; where nothing may be skipped, what was skipped counts among them unless it is for want
    /// of hardware.
    pub fn failures(&self, may_skip: bool) -> usize {
        let is_failure = |row: &&Row| match &row.outcome {
            Outcome::Passed(_) | Outcome::Cannot(_) => false,
            Outcome::Failed(_) => true,
            Outcome::Skipped { is_hardware, .. } => !may_skip && !is_hardware,
        };
        self.rows.iter().filter(is_failure).count()
    }

    /// How many passed.
    pub fn passes(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Passed(_))).count()
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |of: fn(&Row) -> &'static str| {
            self.rows.iter().map(|row| of(row).len()).max().unwrap_or(0)
        };
        let (tests, fabrics) = (width(|row| row.test), width(|row| row.fabric));
        for row in &self.rows {
            let mut line = format!("{:tests$}  {:fabrics$}  ", row.test, row.fabric);
            match &row.outcome {
                Outcome::Passed(_) if row.seen.is_empty() => line.push_str("ok"),
                Outcome::Passed(count) => write!(line, "ok       {count} {}", row.seen)?,
                Outcome::Failed(what) => write!(line, "FAILED   {what}")?,
                Outcome::Cannot(reason) => write!(line, "cannot   {reason}")?,
                Outcome::Skipped { reason, .. } => write!(line, "skipped  {reason}")?,
            }
            writeln!(formatter, "{line}")?;
        }
        Ok(())
    }
}
