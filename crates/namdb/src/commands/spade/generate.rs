//! `namdb spade generate`: Rust for a workload's procedures.

use crate::Verdict;
use crate::bench::json;
use anyhow::{Context, Result};
use clap::Args;
use generate::folder::{self, Changes};
use generate::{Generated, generate};
use procedure::node::Workload;
use serde::Serialize;
use sql::WorkloadFolder;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb spade generate workloads/tatp --into crates/generated/src/tatp     write the code of TATP
  namdb spade generate mine --into src/mine --check                        see whether it is up to date
  namdb spade generate mine --into src/mine --json -                       for programs

A workload is a folder with schema.sql, procedures.sql, workload.toml and, made by `namdb spade plan`, plans. Each procedure
becomes a file with one function; tables.rs has tables and columns, mod.rs all of it together. Make them again after
every change of the workload. The crates runtime, layout, fabric and txn have to be at hand where they are compiled.

What arguments may be null, and how many digits behind the point they have, follows from workload.toml: calls with others are
carried out by the executor of plans, as are procedures that no code is generated for, which are listed with the reason.

The exit code is 0 if the files are written, or are as they were; 1 if --check finds others; 2 if there is none to be had.";

/// Version of the JSON.
const FORMAT: u32 = 1;

/// Options of `spade generate`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArguments {
    /// The workload's folder
    folder: PathBuf,
    /// Write into this folder, from which all other files of Rust are removed
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// Only compare with the files that are there, and write nothing
    #[arg(long)]
    check: bool,
    /// Also write what was done as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What was done, for programs.
#[derive(Serialize)]
struct Report {
    format: u32,
    folder: String,
    into: String,
    checked_only: bool,
    changed: Vec<String>,
    removed: Vec<String>,
    same: usize,
    left_to_executor: Vec<LeftReport>,
}

/// A procedure without code.
#[derive(Serialize)]
struct LeftReport {
    procedure: String,
    reason: String,
}

/// Runs the command.
pub fn run(arguments: &GenerateArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path)?;
    }
    let folder = &arguments.folder;
    let load = WorkloadFolder::read(folder)?.load;
    let generated = generate(&Workload::read(folder)?, &load);
    let changes = folder::write(&arguments.into, &generated, arguments.check)?;
    let left = generated.left.iter().map(|(procedure, reason)| LeftReport {
        procedure: procedure.clone(),
        reason: reason.to_string(),
    });
    let report = Report {
        format: FORMAT,
        folder: folder.display().to_string(),
        into: arguments.into.display().to_string(),
        checked_only: arguments.check,
        changed: changes.changed.clone(),
        removed: changes.removed.clone(),
        same: changes.same,
        left_to_executor: left.collect(),
    };
    let text = in_words(&report, &generated, &changes);
    json::deliver(&report, arguments.json.as_deref(), &text)
        .context("cannot tell what was done")?;
    let is_sound = !arguments.check || changes.is_empty();
    Ok(if is_sound { Verdict::Sound } else { Verdict::Damaged })
}

fn in_words(report: &Report, generated: &Generated, changes: &Changes) -> String {
    let Report { folder, into, checked_only, .. } = report;
    let count = generated.files.len();
    let mut text = format!("{into}: {count} files for {folder}, {} as they were\n", changes.same);
    let changed = if *checked_only { "other than generated" } else { "written" };
    for (what, files) in [(changed, &changes.changed), ("of nothing", &changes.removed)] {
        files.iter().for_each(|file| text.push_str(&format!("  {what}: {file}\n")));
    }
    for (procedure, reason) in &generated.left {
        text.push_str(&format!("  left to the executor of plans: {procedure}, for {reason}\n"));
    }
    if *checked_only && !changes.is_empty() {
        text.push_str(&format!("write them with `namdb spade generate {folder} --into {into}`\n"));
    }
    text
}
