//! The events of a run, step by step: transactions, failure points and faults, without accesses to
//! single words.

use crate::report::RunReport;
use std::fmt::Write;

/// The observer's note at the start of the clients; everything before it is loading.
pub(crate) const START: &str = "the clients start";
/// The largest number of lines of a timeline; the last ones are kept because they matter most.
const LINES_MAX: usize = 3000;

/// The timeline of a run that was traced.
pub fn timeline(report: &RunReport) -> String {
    let from = report.trace.find(START).map_or(0, |at| at + START.len());
    let lines: Vec<&str> = report.trace[from..].lines().filter(|line| is_step(line)).collect();
    let mut text = String::new();
    let failure = report.failure.as_ref().map_or_else(
        || "nothing is wrong".to_owned(),
        |failure| format!("what is wrong: {failure}"),
    );
    let _ = writeln!(text, "scenario {}, seed {}; {failure}", report.scenario, report.seed);
    let _ = writeln!(text, "virtual time in nanoseconds, and what happens then");
    let left_out = lines.len().saturating_sub(LINES_MAX);
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier lines are left out)");
    }
    for line in &lines[left_out..] {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Lines of word accesses begin with their node, but not with "reached" or "notes". Completions of
/// batches are left out because they say little.
fn is_step(line: &str) -> bool {
    let what = line.trim_start().split_once(' ').map_or("", |(_, what)| what);
    !what.is_empty()
        && !what.starts_with("completed flight")
        && (!what.starts_with("node ") || what.contains(" reached ") || what.contains(" notes "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines_have_steps_and_no_word_accesses() {
        assert!(is_step("     120 node 2 reached commit::LocksHeld"));
        assert!(is_step("     120 node 2 notes client 1: transaction 4"));
        assert!(is_step("     120 killed group 9"));
        assert!(!is_step("     120 completed flight 3"));
        assert!(!is_step("     120 node 0 reads 0:4096 0x7"));
        assert!(!is_step(""));
    }
}
