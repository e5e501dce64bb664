//! Runs the program under callgrind and reads the counts of both.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::record::{Counts, TypeCounts};
use crate::{process, workspace};

/// Result of measuring one workload.
pub enum Measurement {
    Counts(Counts),
    /// The program does not run it; with the reason.
    Unknown(String),
}

/// The JSON line that the program prints, with averages per transaction.
#[derive(Deserialize)]
struct Report {
    workload: String,
    transactions: u64,
    round_trips: f64,
    verbs: f64,
    bytes: f64,
    #[serde(default)]
    types: BTreeMap<String, TypeCounts>,
}

/// One run under callgrind.
struct Run {
    instructions: u64,
    report: Report,
}

pub fn has_valgrind() -> bool {
    succeeds(Command::new("valgrind").arg("--version"))
}

pub fn rustc_version() -> Result<String> {
    Ok(process::capture(Command::new("rustc").arg("--version"))?.trim().to_string())
}

/// Builds the program and returns its path.
pub fn build(root: &Path, is_optimized: bool) -> Result<PathBuf> {
    let build = ["build", "--quiet", "-p", "namdb-program", "--bin", "namdb"];
    let (profile, folder): (&[&str], _) =
        if is_optimized { (&["--release"], "release") } else { (&[], "debug") };
    process::run(process::cargo(root, &build).args(profile))?;
    Ok(workspace::target_directory(root)?.join(folder).join("namdb"))
}

/// Runs 2N transactions at full speed; instructions are not counted.
pub fn verbs(binary: &Path, workload: &str, transactions: u64) -> Result<Counts> {
    let transactions = 2 * transactions;
    let output = process::capture(&mut counts(binary, workload, transactions))?;
    let report = report(&output, workload, transactions)?;
    Ok(Counts {
        transactions: transactions / 2,
        instructions: 0.0,
        round_trips: report.round_trips,
        verbs: report.verbs,
        bytes: report.bytes,
        types: report.types,
    })
}

/// Whether the program has this subcommand.
pub fn knows_counts(binary: &Path) -> bool {
    succeeds(Command::new(binary).args(["counts", "--help"]))
}

fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Runs N and 2N transactions and takes the difference: start and load cost the same in both.
pub fn measure(
    root: &Path,
    binary: &Path,
    workload: &str,
    transactions: u64,
) -> Result<Measurement> {
    // Once at full speed, to distinguish an unknown workload from one that fails under callgrind.
    if let Err(error) = process::capture(&mut counts(binary, workload, 1)) {
        return Ok(Measurement::Unknown(format!("{error:#}")));
    }
    eprintln!("counts: {workload} runs {transactions} and {} transactions", 2 * transactions);
    let single = run(root, binary, workload, transactions)?;
    let double = run(root, binary, workload, 2 * transactions)?;
    ensure!(
        double.instructions > single.instructions,
        "{workload}: {} instructions for twice the transactions of a run with {}",
        double.instructions,
        single.instructions
    );
    let difference = double.instructions - single.instructions;
    Ok(Measurement::Counts(Counts {
        transactions,
        instructions: difference as f64 / transactions as f64,
        round_trips: double.report.round_trips,
        verbs: double.report.verbs,
        bytes: double.report.bytes,
        types: double.report.types,
    }))
}

fn counts(program: &Path, workload: &str, transactions: u64) -> Command {
    let mut command = Command::new(program);
    command.args(["counts", "--workload", workload]);
    command.args(["--transactions", &transactions.to_string()]);
    command
}

fn run(root: &Path, binary: &Path, workload: &str, transactions: u64) -> Result<Run> {
    let folder = workspace::target_directory(root)?.join("counts");
    fs::create_dir_all(&folder).context("create the folder of the measurements")?;
    let out = folder.join(format!("{workload}-{transactions}.callgrind"));
    // Remove the result of an earlier run.
    let _absent_is_fine = fs::remove_file(&out);
    let inner = counts(binary, workload, transactions);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--cache-sim=no", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(binary).args(inner.get_args());
    let output = process::capture(&mut command)?;
    let profile = fs::read_to_string(&out).context("read callgrind's result")?;
    Ok(Run { instructions: total(&profile)?, report: report(&output, workload, transactions)? })
}

/// The total of a callgrind file: `totals: N`, in a line of its own near the end.
fn total(profile: &str) -> Result<u64> {
    let totals = profile.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    let first = totals.and_then(|totals| totals.split_whitespace().next());
    first.and_then(|number| number.parse().ok()).context("callgrind's result has no totals")
}

/// Finds the report in the program's output, and checks that it belongs to this run.
fn report(output: &str, workload: &str, transactions: u64) -> Result<Report> {
    let Some(line) = output.lines().find(|line| line.starts_with('{')) else {
        bail!("`namdb counts --workload {workload}` printed no line of JSON");
    };
    let report: Report = serde_json::from_str(line).with_context(|| format!("parse {line}"))?;
    ensure!(
        report.workload == workload && report.transactions == transactions,
        "namdb ran {} transactions of {} instead of {transactions} of {workload}",
        report.transactions,
        report.workload
    );
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_callgrinds_result() {
        let profile = "events: Ir\nsummary: 99\n\nfn=(1) main\n3 4\n\ntotals: 126651\n";
        assert_eq!(total(profile).expect("the line is there"), 126_651);
        assert!(total("events: Ir\n").is_err());
    }

    #[test]
    fn the_report_is_found_and_checked() {
        let output = "loading\n{\"workload\":\"tpcc\",\"transactions\":10,\"round_trips\":2.5,\
            \"verbs\":31,\"bytes\":4096,\"types\":{\"new_order\":{\"count\":4,\"verbs\":40,\
            \"bytes\":5000,\"round_trips\":3.25}}}\n";
        let read = report(output, "tpcc", 10).expect("the line is as agreed");
        assert_eq!(read.types["new_order"].round_trips, 3.25);
        assert!(report(output, "tpcc", 20).is_err());
        assert!(report(output, "ycsb", 10).is_err());
        assert!(report("loading\n", "tpcc", 10).is_err());
    }
}
