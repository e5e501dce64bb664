//! The report of a run: survivors first, then the score.

use crate::results::{MutantResult, Verdict};
use anyhow::{Context, Result};
use serde_json::json;
use std::fmt::Write;

/// The number of results with each verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    pub caught: usize,
    pub survived: usize,
    pub equivalent: usize,
    pub not_reached: usize,
    pub fails_anyway: usize,
}

impl Score {
    /// Counts.
    pub fn of(results: &[MutantResult]) -> Self {
        let mut score = Self::default();
        for result in results {
            *match result.verdict {
                Verdict::Caught => &mut score.caught,
                Verdict::Survived => &mut score.survived,
                Verdict::Equivalent => &mut score.equivalent,
                Verdict::NotReached => &mut score.not_reached,
                Verdict::FailsAnyway => &mut score.fails_anyway,
            } += 1;
        }
        score
    }

    /// Percentage of caught mutants among those that runs reach and that are not equivalent.
    pub fn percent(&self) -> f64 {
        let all = self.caught + self.survived;
        if all == 0 { 100.0 } else { 100.0 * self.caught as f64 / all as f64 }
    }
}

/// The report as text; its last line is the score.
pub fn text(results: &[MutantResult]) -> String {
    let mut text = String::new();
    let heads = [
        (Verdict::Survived, "Survivors: no world and no test shows them"),
        (Verdict::NotReached, "Not reached by any run"),
        (Verdict::FailsAnyway, "Fails without the mutant, too"),
    ];
    for (verdict, head) in heads {
        let mut of: Vec<&MutantResult> =
            results.iter().filter(|result| result.verdict == verdict).collect();
        if of.is_empty() {
            continue;
        }
        of.sort_by(|one, other| one.mutant.cmp(&other.mutant));
        writeln!(text, "{head}").expect("a string takes all");
        for result in of {
            let MutantResult { mutant, runs, visits, by, detail, .. } = result;
            let rest = match verdict {
                Verdict::Survived => format!("  ({runs} runs; visited by {visits} of the profile)"),
                Verdict::FailsAnyway => format!("  ({by}: {detail})"),
                _ => String::new(),
            };
            writeln!(text, "  {mutant}{rest}").expect("a string takes all");
        }
        text.push('\n');
    }
    let score = Score::of(results);
    let Score { caught, survived, equivalent, not_reached, .. } = score;
    writeln!(
        text,
        "{} mutants: {caught} caught, {survived} survived, {equivalent} equivalent, {not_reached} not \
         reached\n{caught} of {} reached and not equivalent caught: {:.1} %",
        results.len(),
        caught + survived,
        score.percent()
    )
    .expect("a string takes all");
    text
}

/// The report as JSON.
///
/// # Errors
/// If a result has no JSON.
pub fn json(results: &[MutantResult]) -> Result<String> {
    let Score { caught, survived, equivalent, not_reached, fails_anyway } = Score::of(results);
    let report = json!({
        "caught": caught,
        "survived": survived,
        "equivalent": equivalent,
        "not_reached": not_reached,
        "fails_anyway": fails_anyway,
        "results": results,
    });
    let text = serde_json::to_string_pretty(&report).context("a result is not JSON")?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(mutant: &str, verdict: Verdict) -> MutantResult {
        MutantResult {
            identity: mutant.to_owned(),
            mutant: mutant.to_owned(),
            verdict,
            by: String::new(),
            detail: String::new(),
            runs: 5,
            seconds: 1.0,
            visits: 2,
        }
    }

    #[test]
    fn survivors_are_listed_and_equivalent_mutants_do_not_count() {
        let results = [
            result("a", Verdict::Caught),
            result("b", Verdict::Survived),
            result("c", Verdict::Equivalent),
            result("d", Verdict::NotReached),
        ];
        let text = text(&results);
        assert!(text.contains("  b  (5 runs; visited by 2 of the profile)\n"), "{text}");
        assert!(text.contains("Not reached by any run\n  d\n"), "{text}");
        assert!(text.ends_with("1 of 2 reached and not equivalent caught: 50.0 %\n"), "{text}");
        assert_eq!(Score::of(&[]).percent(), 100.0);
    }
}
