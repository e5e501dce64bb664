//! `cargo xtask ci`: the fast checks in order, stopping at the first that fails.
//!
//! Everything builds in the one development profile, so dependencies compile once. Standard output
//! carries the tests' output unchanged and ends with `N passed, 0 failed`; all else goes to
//! standard error. `cargo xtask nightly` runs the checks that take minutes.
//!
//! Decision: docs/decisions/0293-the-build-is-tuned-for-the-inner-loop.md

pub mod grammar;
mod test_programs;
mod test_results;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::generated::{self, LAYOUT, METRICS};
use crate::{clock, counts, process, tidy, workspace};
use test_results::TestResults;

/// Which steps to run; all of them unless told otherwise.
#[derive(Args)]
pub struct Options {
    /// Print the steps and what they run, and do nothing
    #[arg(long)]
    list: bool,
    /// Run this step alone
    #[arg(long, value_name = "STEP", conflicts_with = "from")]
    only: Option<Step>,
    /// Run this step and those after it
    #[arg(long, value_name = "STEP")]
    from: Option<Step>,
}

/// The steps, cheapest refusal first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Step {
    Fmt,
    Tidy,
    Clippy,
    Layout,
    Metrics,
    Tests,
    Seeds,
    Counts,
    Doc,
}

const STEPS: [Step; 9] = [
    Step::Fmt,
    Step::Tidy,
    Step::Clippy,
    Step::Layout,
    Step::Metrics,
    Step::Tests,
    Step::Seeds,
    Step::Counts,
    Step::Doc,
];

const FMT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
const TESTS: &[&str] =
    &["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
const EXAMPLES: &[&str] = &["test", "--workspace", "--doc"];
const DOC: &[&str] = &["doc", "--workspace", "--no-deps"];
/// Seeds of each fast scenario.
const SEEDS: &[&str] = &["simulate", "--seeds", "200"];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::Tidy => "tidy",
            Step::Clippy => "clippy",
            Step::Layout => "layout",
            Step::Metrics => "metrics",
            Step::Tests => "tests",
            Step::Seeds => "seeds",
            Step::Counts => "counts",
            Step::Doc => "doc",
        }
    }

    fn what(self) -> String {
        match self {
            Step::Fmt => format!("cargo {}", FMT.join(" ")),
            Step::Tidy => "cargo xtask tidy".to_string(),
            Step::Clippy => format!("cargo {}", CLIPPY.join(" ")),
            Step::Layout => "cargo xtask layout --check".to_string(),
            Step::Metrics => "cargo xtask metrics --check".to_string(),
            Step::Tests => "cargo test --workspace".to_string(),
            Step::Seeds => format!("target/debug/namdb-lab {}", SEEDS.join(" ")),
            Step::Counts => "cargo xtask counts --verbs".to_string(),
            Step::Doc => format!("RUSTDOCFLAGS='-D warnings' cargo {}", DOC.join(" ")),
        }
    }
}

/// Runs the chosen steps and prints their times, also when one fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.list {
        for step in STEPS {
            println!("{:<9} {}", step.name(), step.what());
        }
        return Ok(());
    }
    let mut results = None;
    let mut times = Vec::new();
    let outcome = run_steps(root, &chosen(options), &mut results, &mut times);
    print_times(&times);
    outcome?;
    if let Some(results) = results {
        println!("{results}");
    }
    Ok(())
}

fn chosen(options: &Options) -> Vec<Step> {
    STEPS
        .into_iter()
        .filter(|step| options.only.is_none_or(|only| *step == only))
        .filter(|step| options.from.is_none_or(|from| *step >= from))
        .collect()
}

fn run_steps(
    root: &Path,
    steps: &[Step],
    results: &mut Option<TestResults>,
    times: &mut Vec<(Step, Duration)>,
) -> Result<()> {
    for &step in steps {
        eprintln!("ci: {} starts: {}", step.name(), step.what());
        let start = clock::now();
        let outcome = run_step(root, step, results);
        let time = start.elapsed();
        times.push((step, time));
        outcome.with_context(|| {
            let name = step.name();
            format!("ci stops at the step {name}; repeat it with `cargo xtask ci --only {name}`")
        })?;
        eprintln!("ci: {} passed in {:.1} s", step.name(), time.as_secs_f64());
    }
    Ok(())
}

fn run_step(root: &Path, step: Step, results: &mut Option<TestResults>) -> Result<()> {
    match step {
        Step::Fmt => process::run(&mut process::cargo(root, FMT)),
        Step::Tidy => tidy::run(root),
        Step::Clippy => process::run(&mut process::cargo(root, CLIPPY)),
        Step::Layout => generated::run(root, &LAYOUT, &generated::Options::checking()),
        Step::Metrics => generated::run(root, &METRICS, &generated::Options::checking()),
        Step::Tests => {
            let mut output = test_programs::run(root, TESTS)?;
            let examples = &mut process::cargo(root, EXAMPLES);
            output.push_str(&process::tee(examples, &mut std::io::stdout().lock())?);
            add(results, TestResults::read(&output))
        }
        Step::Seeds => {
            process::run(Command::new(tested_program(root)?).current_dir(root).args(SEEDS))
        }
        Step::Counts => counts::compare_verbs(root, &tested_program(root)?).map(drop),
        Step::Doc => process::run(process::cargo(root, DOC).env("RUSTDOCFLAGS", "-D warnings")),
    }
}

/// The program that the tests have built. A build of its own would have fewer features, and would
/// compile most crates again.
fn tested_program(root: &Path) -> Result<PathBuf> {
    Ok(workspace::target_directory(root)?.join("debug/namdb-lab"))
}

/// Adds what a step's tests said to what is known of those before.
fn add(results: &mut Option<TestResults>, sum: TestResults) -> Result<()> {
    ensure!(sum.failed == 0, "{sum}, though cargo test itself reported success");
    ensure!(sum.passed > 0, "no test ran, so nothing is known to work");
    let before = results.take().unwrap_or_default();
    *results = Some(before + sum);
    Ok(())
}

fn print_times(times: &[(Step, Duration)]) {
    eprintln!("\n{:<9} {:>10}", "step", "seconds");
    let mut total = Duration::ZERO;
    for (step, time) in times {
        eprintln!("{:<9} {:>10.1}", step.name(), time.as_secs_f64());
        total += *time;
    }
    eprintln!("{:<9} {:>10.1}", "total", total.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: Option<Step>, from: Option<Step>) -> Vec<&'static str> {
        chosen(&Options { list: false, only, from }).into_iter().map(Step::name).collect()
    }

    #[test]
    fn all_steps_run_in_order_unless_chosen() {
        let all = ["fmt", "tidy", "clippy", "layout", "metrics", "tests", "seeds", "counts", "doc"];
        assert_eq!(names(None, None), all);
        assert_eq!(names(Some(Step::Tidy), None), ["tidy"]);
        assert_eq!(names(None, Some(Step::Tests)), ["tests", "seeds", "counts", "doc"]);
    }
}
