//! `cargo xtask ci`: every check in order, stopping at the first that fails.
//!
//! Everything builds in the one release profile, so dependencies compile once. Standard output
//! carries the tests' output unchanged and ends with `N passed, 0 failed`; all else goes to
//! standard error.

mod grammar;
mod test_programs;
mod test_results;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use crate::generated::{self, LAYOUT, METRICS};
use crate::{clock, counts, figures, hosts, process, soft_roce, tidy};
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

/// The steps, cheapest refusal first; `counts` is last because it wants the binary built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Step {
    Fmt,
    Clippy,
    Tidy,
    Layout,
    Metrics,
    Tests,
    Grammar,
    Doc,
    SoftRoce,
    Hosts,
    Figures,
    Counts,
}

const STEPS: [Step; 12] = [
    Step::Fmt,
    Step::Clippy,
    Step::Tidy,
    Step::Layout,
    Step::Metrics,
    Step::Tests,
    Step::Grammar,
    Step::Doc,
    Step::SoftRoce,
    Step::Hosts,
    Step::Figures,
    Step::Counts,
];

const FMT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] =
    &["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
/// The library without the program, as programs that embed it build it.
const CLIPPY_LIBRARY: &[&str] = &[
    "clippy",
    "--release",
    "-p",
    "namdb",
    "--lib",
    "--no-default-features",
    "--",
    "-D",
    "warnings",
];
const TESTS: &[&str] =
    &["test", "--release", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
const EXAMPLES: &[&str] = &["test", "--release", "--workspace", "--doc"];
const DOC: &[&str] = &["doc", "--release", "--workspace", "--no-deps"];

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Fmt => "fmt",
            Step::Clippy => "clippy",
            Step::Tidy => "tidy",
            Step::Layout => "layout",
            Step::Metrics => "metrics",
            Step::Tests => "tests",
            Step::Grammar => "grammar",
            Step::Doc => "doc",
            Step::SoftRoce => "soft-roce",
            Step::Hosts => "hosts",
            Step::Figures => "figures",
            Step::Counts => "counts",
        }
    }

    fn what(self) -> String {
        match self {
            Step::Fmt => format!("cargo {}", FMT.join(" ")),
            Step::Clippy => format!("cargo {}", CLIPPY.join(" ")),
            Step::Tidy => "cargo xtask tidy".to_string(),
            Step::Layout => "cargo xtask layout --check".to_string(),
            Step::Metrics => "cargo xtask metrics --check".to_string(),
            Step::Tests => "cargo test --release --workspace".to_string(),
            Step::Grammar => format!("cargo {}", grammar::TESTS.join(" ")),
            Step::Doc => format!("RUSTDOCFLAGS='-D warnings' cargo {}", DOC.join(" ")),
            Step::SoftRoce => "cargo xtask soft-roce".to_string(),
            Step::Hosts => "cargo xtask hosts".to_string(),
            Step::Figures => "cargo xtask figures".to_string(),
            Step::Counts => "cargo xtask counts".to_string(),
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
        Step::Clippy => {
            process::run(&mut process::cargo(root, CLIPPY))?;
            process::run(&mut process::cargo(root, CLIPPY_LIBRARY))
        }
        Step::Tidy => tidy::run(root),
        Step::Layout => generated::run(root, &LAYOUT, &generated::Options::checking()),
        Step::Metrics => generated::run(root, &METRICS, &generated::Options::checking()),
        Step::Tests => {
            let mut output = test_programs::run(root, TESTS)?;
            let examples = &mut process::cargo(root, EXAMPLES);
            output.push_str(&process::tee(examples, &mut std::io::stdout().lock())?);
            add(results, TestResults::read(&output))
        }
        Step::Grammar => grammar::run(root)?.map_or(Ok(()), |sum| add(results, sum)),
        Step::Doc => process::run(process::cargo(root, DOC).env("RUSTDOCFLAGS", "-D warnings")),
        Step::SoftRoce => soft_roce::run(root, &soft_roce::Options::tests()),
        Step::Hosts => hosts::run(root, &hosts::Options::all()),
        Step::Figures => figures::run(root, &figures::Options::default()),
        Step::Counts => counts::run(root, &counts::Options::default()),
    }
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
        assert_eq!(
            names(None, None),
            [
                "fmt",
                "clippy",
                "tidy",
                "layout",
                "metrics",
                "tests",
                "grammar",
                "doc",
                "soft-roce",
                "hosts",
                "figures",
                "counts"
            ]
        );
        assert_eq!(names(Some(Step::Tidy), None), ["tidy"]);
        assert_eq!(
            names(None, Some(Step::Tests)),
            ["tests", "grammar", "doc", "soft-roce", "hosts", "figures", "counts"]
        );
    }
}
