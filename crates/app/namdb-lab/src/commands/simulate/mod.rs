//! `namdb simulate`: runs scenarios with many seeds in simulated worlds.
//!
//! Reading order: `select` (which scenarios), `work` (the runs, spread over threads), `summary`
//! (their results), `script` (the files of a failing run), `replay` (running a script again).

mod replay;
mod script;
mod select;
mod summary;
mod work;

use super::catch_interrupts;
use super::interruption;
use crate::Verdict;
use crate::bench::json;
use crate::output;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use namdb::host;
use scenario::{RunOptions, RunReport, Scenario, guards};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use summary::Summary;

const EXAMPLES: &str = "\
Examples:
  namdb simulate                                     every fast scenario, with a few seeds
  namdb simulate --seeds 2000                        with many seeds
  namdb simulate bank churn --seeds 500              these scenarios
  namdb simulate my.toml --first-seed 77 --seeds 1 --trace trace.txt
  namdb simulate --seeds 20000 --require-coverage    every fault and failure point must be hit
  namdb simulate --replay failed-bank-77.toml        run a failed run again

A run is defined by commit, seed and scenario; a failing run prints all three. A failing run is \
shrunk to a script, which --replay runs again. Beside the script are a timeline of the run with the \
reason of the failure, and the history that its clients saw, for `namdb check history`.

Exit codes: 0 every run holds; 1 a run fails; 2 a scenario cannot be read; 3 the required coverage \
is incomplete. Ctrl-C ends the command early; report and exit code are those of the finished runs.";

/// Maximal number of threads.
const THREADS_MAX: i64 = 256;
/// Maximal number of runs for shrinking one failure.
const SHRINK_RUNS_MAX: u64 = 3000;

/// Arguments of `namdb simulate`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArguments {
    /// Scenarios, by file or name [default: those with the tag `fast`]
    #[arg(value_name = "FILE|NAME")]
    scenarios: Vec<String>,
    /// Number of seeds per scenario
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..), allow_negative_numbers = true)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0, value_name = "SEED", allow_negative_numbers = true)]
    first_seed: u64,
    /// Folder of the scenarios given by name
    #[arg(long, default_value = "scenarios", value_name = "DIRECTORY")]
    folder: PathBuf,
    /// Run the scenarios with this tag if none is given
    #[arg(long, default_value = "fast", conflicts_with = "scenarios")]
    tag: String,
    /// Number of threads, each with its own run [default: one per processor]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=THREADS_MAX), allow_negative_numbers = true)]
    threads: Option<u32>,
    /// Also write the results as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write every event of the run; needs one scenario and one seed
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Fail if a kind of fault or a failure point was never hit, except faults that need recovery
    /// code
    #[arg(long)]
    require_coverage: bool,
    /// Do not shrink failing runs
    #[arg(long)]
    no_shrink: bool,
    /// Folder for the scripts of failing runs
    #[arg(long, default_value = ".", value_name = "DIRECTORY")]
    scripts: PathBuf,
    /// Disable this guard of the engine, to see that the runs fail
    #[arg(long, value_name = "NAME")]
    mutant: Vec<String>,
    /// Run the script of a failed run, and report whether it still fails
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenarios", "require_coverage", "mutant"])]
    replay: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &SimulateArguments) -> Result<Verdict> {
    for path in [&arguments.json, &arguments.trace].into_iter().flatten() {
        json::probe(path, &[])?;
    }
    if let Some(script) = &arguments.replay {
        return replay::run(script, arguments.trace.as_deref());
    }
    let seeds = seeds(arguments.first_seed, arguments.seeds)?;
    let mut scenarios = select::scenarios(&arguments.scenarios, &arguments.folder, &arguments.tag)?;
    if let Some(sentence) = arguments.mutant.iter().find_map(|name| guards::problem(name)) {
        bail!("--mutant: {sentence}");
    }
    for scenario in &mut scenarios {
        scenario.mutants.extend(arguments.mutant.iter().cloned());
    }
    if let Some(path) = &arguments.trace {
        ensure!(
            scenarios.len() == 1 && arguments.seeds == 1,
            "--trace needs a single run: give one scenario and --seeds 1"
        );
        write_trace(&scenarios[0], arguments.first_seed, path)?;
    }
    catch_interrupts()?;
    let threads = arguments.threads.unwrap_or(host::processor_count() as u32);
    let done = work::run_all(&scenarios, seeds, threads);
    let mut summary = Summary::new(done, arguments.require_coverage);
    if !arguments.no_shrink {
        shrink(&scenarios, &mut summary, &arguments.scripts)?;
    }
    json::deliver(&summary, arguments.json.as_deref(), &summary.draw())?;
    Ok(summary.verdict())
}

fn seeds(first: u64, count: u64) -> Result<Range<u64>> {
    let end = first.checked_add(count).with_context(|| {
        let most = u64::MAX - count;
        format!(
            "the largest seed is {}; with --seeds {count}, --first-seed is at most {most}",
            u64::MAX - 1
        )
    })?;
    Ok(first..end)
}

fn write_trace(scenario: &Scenario, seed: u64, path: &Path) -> Result<RunReport> {
    let report = scenario::run(scenario, seed, RunOptions { trace: true });
    output::replace(path, report.trace.as_bytes())?;
    Ok(report)
}

/// Shrinks the first failing run of each scenario, and writes its script and timeline.
fn shrink(scenarios: &[Scenario], summary: &mut Summary, folder: &Path) -> Result<()> {
    let goes_on = || !interruption().load(Relaxed);
    for row in summary.scenarios.iter_mut().filter(|row| !row.failures.is_empty()) {
        let Some(scenario) = scenarios.iter().find(|scenario| scenario.name == row.name) else {
            continue;
        };
        if !goes_on() {
            return Ok(());
        }
        let seed = row.failures[0].seed;
        output::say(&format!("  shrinking {} with seed {seed}", row.name));
        let commit = namdb_program::COMMIT;
        let shrunk = scenario::shrink(scenario, seed, commit, SHRINK_RUNS_MAX, &goes_on);
        let Some(shrunk) = shrunk else { continue };
        row.script = Some(script::write(shrunk, &row.name, seed, folder)?);
    }
    Ok(())
}
