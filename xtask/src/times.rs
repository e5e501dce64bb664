//! `cargo xtask times`: how long a developer waits, and how large the program is.
//!
//! All builds run in a fresh clone of the committed sources, so that the working tree and its
//! artefacts stay as they are. Other builds on the machine distort the times.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;

use crate::{block, clock, process, workspace};

/// Measurements beside the build of the program.
#[derive(Args)]
pub struct Options {
    /// Also run the test command, cold and warm
    #[arg(long)]
    gate: bool,
    /// Also compare TPC-C with this build of the program, by turns
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// Write the table into docs/performance.md
    #[arg(long)]
    write: bool,
}

/// A source file of the engine, which the rebuild changes.
const TOUCHED: &str = "crates/engine/txn/src/lib.rs";
/// The rebuild's change.
const CHANGE: &str = "\n#[doc(hidden)]\npub const REBUILT: u32 = 1;\n";
const BUILD: &[&str] = &["build", "--release", "-p", "namdb-program"];
const DEMO: &[&str] = &["run", "--release", "--quiet", "--", "demo"];
/// Pairs of runs of TPC-C.
const TURNS: usize = 5;

/// Measures, and prints a table as `docs/performance.md` shows it.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let clone = workspace::target_directory(root)?.join("times");
    let _absent_is_fine = std::fs::remove_dir_all(&clone);
    let mut command = Command::new("git");
    process::run(command.args(["clone", "--quiet"]).arg(root).arg(&clone))?;
    let cargo = |arguments: &[&str]| {
        let mut command = process::cargo(&clone, arguments);
        command.env("CARGO_TARGET_DIR", clone.join("target"));
        command
    };
    let mut lines = Vec::new();
    let cold = time(&mut cargo(DEMO))?;
    lines.push(("fresh clone to the end of the demo".to_owned(), seconds(cold)));
    let program = clone.join("target/release/namdb");
    let bytes = std::fs::metadata(&program).context("look at the program")?.len();
    lines.push(("the program".to_owned(), format!("{:.1} MB", bytes as f64 / 1e6)));
    let touched = clone.join(TOUCHED);
    let text = std::fs::read_to_string(&touched).with_context(|| format!("read {TOUCHED}"))?;
    std::fs::write(&touched, text + CHANGE).with_context(|| format!("change {TOUCHED}"))?;
    lines.push(("rebuild after a change in `txn`".to_owned(), seconds(time(&mut cargo(BUILD))?)));
    if options.gate {
        lines.push(("test command, cold".to_owned(), seconds(time(&mut cargo(&["xtask", "ci"]))?)));
        lines.push(("test command, warm".to_owned(), seconds(time(&mut cargo(&["xtask", "ci"]))?)));
    }
    if let Some(against) = &options.against {
        let ratio = ratio(&program, against)?;
        lines
            .push((format!("TPC-C, this build over {}", against.display()), format!("{ratio:.3}")));
    }
    let mut table = "| what | measured |\n|---|---|\n".to_owned();
    lines.iter().for_each(|(what, measured)| table.push_str(&format!("| {what} | {measured} |\n")));
    print!("{table}");
    if options.write {
        block::write(root, "docs/performance.md", "cargo xtask times", &table)?;
    }
    Ok(())
}

fn time(command: &mut Command) -> Result<Duration> {
    let start = clock::now();
    process::run(command)?;
    Ok(start.elapsed())
}

fn seconds(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}

/// The median ratio of throughputs, measured by turns.
fn ratio(program: &Path, against: &Path) -> Result<f64> {
    let mut ratios = Vec::new();
    for _ in 0..TURNS {
        ratios.push(throughput(program)? / throughput(against)?);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[TURNS / 2])
}

fn throughput(program: &Path) -> Result<f64> {
    let mut command = Command::new(program);
    command.args([
        "bench",
        "tpcc",
        "--warehouses",
        "1",
        "--threads",
        "1",
        "--seconds",
        "4",
        "--json",
        "-",
    ]);
    let report: serde_json::Value =
        serde_json::from_str(&process::capture(&mut command)?).context("parse a report")?;
    report["txn_per_s"].as_f64().context("a report has its throughput")
}
