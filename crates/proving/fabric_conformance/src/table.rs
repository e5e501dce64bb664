//! The outcome of every test on every fabric, as the lines of a table that is printed line by line.

use crate::stage::Outcome;
use std::fmt::Write;

/// Outcomes so far, and the widths of the columns.
pub struct Table {
    tests: usize,
    fabrics: usize,
    pub passed: u32,
    pub failed: u32,
    /// Whether tests may be skipped; if not, a skipped test counts as failed unless hardware is
    /// absent.
    may_skip: bool,
}

impl Table {
    /// An empty table with columns wide enough for these names.
    pub fn new(tests: &[&str], fabrics: &[&str], may_skip: bool) -> Self {
        let width = |names: &[&str]| names.iter().map(|name| name.len()).max().unwrap_or(0);
        Self { tests: width(tests), fabrics: width(fabrics), passed: 0, failed: 0, may_skip }
    }

    /// Records an outcome of `test` on `fabric`, which counts `seen`; returns its line.
    pub fn enter(&mut self, test: &str, fabric: &str, seen: &str, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Passed(_) => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped { is_hardware: false, .. } if !self.may_skip => self.failed += 1,
            Outcome::Cannot(_) | Outcome::Skipped { .. } => {}
        }
        let (tests, fabrics) = (self.tests, self.fabrics);
        let mut line = format!("{test:tests$}  {fabric:fabrics$}  ");
        let written = match outcome {
            Outcome::Passed(_) if seen.is_empty() => write!(line, "ok"),
            Outcome::Passed(count) => write!(line, "ok       {count} {seen}"),
            Outcome::Failed(what) => write!(line, "FAILED   {what}"),
            Outcome::Cannot(reason) => write!(line, "cannot   {reason}"),
            Outcome::Skipped { reason, .. } => write!(line, "skipped  {reason}"),
        };
        written.expect("a line of text takes any text");
        line
    }
}
