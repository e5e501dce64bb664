//! `namdb spade plan`: gets the plans of a workload's statements from PostgreSQL.

use crate::bench::json;
use crate::bench::text::counted;
use crate::commands::{catch_interrupts_with, interruption};
use crate::{Verdict, output};
use anyhow::{Context, Result, bail};
use clap::Args;
use datagen::{Population, Scale};
use folder_benchmark::empty_table_warnings;
use postgres_plan::ServerChoice;
use postgres_plan::folder::{self, Changes, Made};
use procedure::node::Workload;
use serde::Serialize;
use sql::{EmbeddedStatement, WorkloadFolder};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

const EXAMPLES: &str = "\
Examples:
  namdb spade plan workloads/tpcc                      start a PostgreSQL for the plans
  namdb spade plan mine --server postgresql:///postgres    use a running one
  namdb spade plan mine --check                        check whether the plans are up to date
  namdb spade plan mine --json -                       also print the result as JSON

A workload is a folder with schema.sql, procedures.sql and workload.toml (docs/sql.md, docs/workload.md). Its folder plans contains
the plans, so that tuning needs no PostgreSQL. Plan again after every change of the three files.

Without --server, the programs postgres and initdb are searched in the path and in /usr/lib/postgresql; the server uses a
temporary folder and is stopped at the end. With --server, a database is created there and dropped, which needs a superuser.

The command reports each part of a plan that namdb cannot execute, with its line.

Exit codes: 0 the plans are written or up to date; 1 --check finds differences; 2 a plan is missing or cannot be executed.";

/// Version of the JSON format.
const FORMAT: u32 = 1;

/// Arguments of `namdb spade plan`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArguments {
    /// The workload's folder
    folder: PathBuf,
    /// Use the PostgreSQL at this URL, as for psql [default: start one]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Only compare with the existing plans; write nothing
    #[arg(long)]
    check: bool,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report {
    format: u32,
    folder: String,
    postgresql: u32,
    checked_only: bool,
    statements: Vec<StatementReport>,
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    same: usize,
}

/// A statement and the file of its plan.
#[derive(Serialize)]
struct StatementReport {
    procedure: String,
    number: u32,
    line: u32,
    file: String,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path, &[&arguments.folder])?;
    }
    let folder = &arguments.folder;
    let workload = WorkloadFolder::read(folder)?;
    ensure_drawn(folder, &workload)?;
    let checks = workload.checks.embedded_statements();
    let statements: Vec<&EmbeddedStatement> =
        workload.program.embedded_statements().chain(checks).collect();
    catch_interrupts_with(|| {
        output::say("\n  stopping the server; press Ctrl-C again to exit at once")
    })?;
    let choice = match &arguments.server {
        None => ServerChoice::Private,
        Some(url) => ServerChoice::Url(url.clone()),
    };
    let whom =
        if arguments.server.is_some() { "the given PostgreSQL" } else { "a temporary PostgreSQL" };
    let count = counted(statements.len() as u64, "statement");
    output::say(&format!("  getting the plans of {count} from {whom}"));
    let made = folder::make(folder, &workload, &choice);
    if interruption().load(Relaxed) {
        bail!("interrupted; no plan was changed");
    }
    let made = made?;
    let changes = match arguments.check {
        true => folder::compare(folder, &made.files)?,
        false => folder::write(folder, &made.files)?,
    };
    let name = folder.display().to_string();
    let statements = statements.iter().zip(&made.files).map(|(statement, file)| StatementReport {
        procedure: statement.procedure.clone(),
        number: statement.number,
        line: statement.line,
        file: file.name.clone(),
    });
    let report = Report {
        format: FORMAT,
        folder: name.clone(),
        postgresql: made.server_version,
        checked_only: arguments.check,
        statements: statements.collect(),
        added: changes.added.clone(),
        changed: changes.changed.clone(),
        removed: changes.removed.clone(),
        same: changes.same,
    };
    let text = in_words(&name, &made, &changes, arguments.check);
    json::deliver(&report, arguments.json.as_deref(), &text)
        .context("cannot write the result as JSON")?;
    if !arguments.check {
        let refused = "the plans are written, but some cannot be executed";
        let planned = Workload::read(folder).context(refused)?;
        Workload::read_checks(folder).context(refused)?;
        let warnings = empty_table_warnings(&planned, &workload.load);
        warnings.iter().for_each(|warning| output::say(&format!("  {warning}")));
    }
    let is_sound = !arguments.check || changes.is_empty();
    Ok(if is_sound { Verdict::Sound } else { Verdict::Damaged })
}

/// Rejects a load whose rows cannot be generated, as `bench` does: its plans would be useless.
fn ensure_drawn(folder: &Path, workload: &WorkloadFolder) -> Result<()> {
    let scale = Scale { units: workload.load.units, seed: 0, now_us: 0 };
    let drawn = Population::new(&workload.program, &workload.load, scale);
    drawn.map(drop).with_context(|| format!("cannot load {}", folder.display()))
}

fn in_words(name: &str, made: &Made, changes: &Changes, checked_only: bool) -> String {
    let plans = counted(made.files.len() as u64, "plan");
    let mut text = format!(
        "{name}: {plans} by PostgreSQL {}, {} unchanged\n",
        made.server_version, changes.same
    );
    let (added, changed, removed) = match checked_only {
        true => ("missing", "outdated", "without statement"),
        false => ("new", "changed", "removed"),
    };
    for (what, files) in
        [(added, &changes.added), (changed, &changes.changed), (removed, &changes.removed)]
    {
        files.iter().for_each(|file| text.push_str(&format!("  {what}: plans/{file}\n")));
    }
    if checked_only && !changes.is_empty() {
        text.push_str(&format!("write them with `namdb spade plan {name}`\n"));
    }
    text
}
