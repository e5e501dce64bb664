//! `namdb spade generate`: writes Rust code for a workload's procedures.

use crate::Verdict;
use crate::bench::json;
use crate::bench::text::counted;
use anyhow::{Context, Result, ensure};
use clap::Args;
use codegen::folder::{self, Changes};
use codegen::project::{Project, Source};
use codegen::{Generated, generate};
use procedure::node::Workload;
use serde::Serialize;
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb spade generate mine --crate mine-code       write a cargo project for your workload, then build it:
    cargo build --release --manifest-path mine-code/Cargo.toml
    mine-code/target/release/mine bench mine        the program namdb with your code
  namdb spade generate mine --crate mine-code       update the code after a change of the workload
  namdb spade generate mine --crate mine-code --check    check whether it is up to date
  namdb spade generate workloads/tatp --into crates/sql/workload_code/src/tatp     write only the code, as a module of a crate
  namdb spade generate mine --into src/mine --json -     also print the result as JSON

A workload is a folder with schema.sql, procedures.sql, workload.toml and, made by `namdb spade plan`, plans. Each procedure
becomes a file with one function; tables.rs has the tables and columns, mod.rs declares the modules. Generate again after every
change of the workload. With --crate the code is a module of a project. The project's other files (Cargo.toml, Cargo.lock,
src/lib.rs, src/main.rs) are written if they do not exist, and are yours from then on. Its program does everything that namdb
does: start clusters with it, so that their compute servers have the code. Its library is for Rust programs
(namdb::procedures). With --into, the crate needs procedure_runtime, layout, fabric and txn as dependencies.

workload.toml determines which arguments may be null, and the scale of decimals. The executor of plans runs calls with other
arguments, and procedures for which no code can be generated; these are listed with the reason.

Exit codes: 0 the files are written or up to date; 1 --check finds differences; 2 nothing could be generated.";

/// Version of the JSON format.
const FORMAT: u32 = 1;
/// The file with a workload's procedures.
const PROCEDURES_FILE: &str = "procedures.sql";

/// Arguments of `namdb spade generate`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArguments {
    /// The workload's folder
    folder: PathBuf,
    #[command(flatten)]
    place: PlaceArguments,
    /// Only compare with the existing files; write nothing
    #[arg(long)]
    check: bool,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Destination of the code.
#[derive(Args)]
struct PlaceArguments {
    /// Write into this folder; other generated Rust files in it are removed
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "project",
        conflicts_with = "project"
    )]
    into: Option<PathBuf>,
    /// Write a cargo project in this folder, or update its code: the program namdb with this code
    /// linked, and a library
    #[arg(long = "crate", value_name = "FOLDER")]
    project: Option<PathBuf>,
    /// Source of namdb's crates for a new project: the path of a checkout, or the URL of a
    /// repository [default: the checkout from which this program was built]
    #[arg(long, value_name = "PATH|URL", requires = "project")]
    namdb: Option<String>,
}

/// The result, as JSON.
#[derive(Serialize)]
struct Report {
    format: u32,
    folder: String,
    into: String,
    project: Option<ProjectReport>,
    checked_only: bool,
    changed: Vec<String>,
    removed: Vec<String>,
    same: usize,
    left_to_executor: Vec<LeftReport>,
}

/// The project that contains the code.
#[derive(Serialize)]
struct ProjectReport {
    folder: String,
    program: String,
    written: Vec<String>,
    kept: Vec<String>,
    lacks_module: bool,
}

/// A procedure without generated code.
#[derive(Serialize)]
struct LeftReport {
    procedure: String,
    file: String,
    line: Option<u32>,
    reason: String,
}

/// The checkout from which this program was built.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Runs the command.
pub fn run(arguments: &GenerateArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        json::probe(path, &[&arguments.folder])?;
    }
    let (folder, is_check) = (&arguments.folder, arguments.check);
    let load = WorkloadFolder::read(folder)?.load;
    let generated = generate(&Workload::read(folder)?, &load);
    let project = arguments.place.project(&load.name)?;
    let into = match &project {
        Some((project, _)) => project.module(),
        None => {
            arguments.place.into.clone().context("give the destination with --into or --crate")?
        }
    };
    let changes = folder::write(&into, &generated, is_check)?;
    let project =
        project.map(|(project, source)| ProjectReport::write(&project, &source, is_check));
    let project = project.transpose()?;
    let file = folder.join(PROCEDURES_FILE).display().to_string();
    let left = generated.left.iter().map(|(procedure, reason)| LeftReport {
        procedure: procedure.clone(),
        file: file.clone(),
        line: reason.line,
        reason: reason.to_string(),
    });
    let is_sound = !is_check
        || changes.is_empty() && project.as_ref().is_none_or(|project| project.written.is_empty());
    let report = Report {
        format: FORMAT,
        folder: folder.display().to_string(),
        into: into.display().to_string(),
        project,
        checked_only: is_check,
        changed: changes.changed.clone(),
        removed: changes.removed.clone(),
        same: changes.same,
        left_to_executor: left.collect(),
    };
    let text = in_words(&report, &generated, &changes);
    json::deliver(&report, arguments.json.as_deref(), &text)
        .context("cannot write the result as JSON")?;
    Ok(if is_sound { Verdict::Sound } else { Verdict::Damaged })
}

impl PlaceArguments {
    /// The project that contains the code, if one is requested, and its source of namdb.
    fn project(&self, workload: &str) -> Result<Option<(Project, Source)>> {
        let of = |folder: &PathBuf| -> Result<_> {
            let is_new = !folder.join("Cargo.toml").exists();
            Ok((Project::new(folder, workload), self.source(is_new)?))
        };
        self.project.as_ref().map(of).transpose()
    }

    fn source(&self, is_new: bool) -> Result<Source> {
        let said = self.namdb.as_deref();
        if let Some(address) = said.filter(|said| said.contains("://")) {
            return Ok(Source::Repository(address.to_owned()));
        }
        let root = Path::new(said.unwrap_or(CHECKOUT));
        // An existing project already names its source.
        let is_there = !is_new || root.join("crates/app/namdb/Cargo.toml").is_file();
        match said {
            Some(said) => ensure!(
                is_there,
                "{said} is not a checkout of namdb: it has no crates/app/namdb; give a checkout, or the URL of a repository, such as \
                 https://host/namdb.git"
            ),
            None => ensure!(
                is_there,
                "the checkout from which this program was built does not exist; give another one: --namdb PATH or URL"
            ),
        }
        Ok(Source::Checkout(root.to_path_buf()))
    }
}

fn in_words(report: &Report, generated: &Generated, changes: &Changes) -> String {
    let Report { folder, into, checked_only, .. } = report;
    let files = counted(generated.files.len() as u64, "file");
    let mut text = format!("{into}: {files} for {folder}, {} unchanged\n", changes.same);
    let changed = if *checked_only { "outdated" } else { "written" };
    for (what, files) in [(changed, &changes.changed), ("not needed", &changes.removed)] {
        files.iter().for_each(|file| text.push_str(&format!("  {what}: {file}\n")));
    }
    for LeftReport { procedure, file, line, reason } in &report.left_to_executor {
        let line = line.map_or(String::new(), |line| format!(":{line}"));
        let place = format!("{file}{line}");
        text.push_str(&format!(
            "  left to the executor of plans: {procedure}, for {reason} ({place})\n"
        ));
    }
    if let Some(project) = &report.project {
        text.push_str(&project.in_words(folder, *checked_only));
    }
    if *checked_only && !changes.is_empty() {
        let place = match &report.project {
            Some(project) => format!("--crate {}", project.folder),
            None => format!("--into {into}"),
        };
        text.push_str(&format!("write them with `namdb spade generate {folder} {place}`\n"));
    }
    text
}

impl ProjectReport {
    fn write(project: &Project, source: &Source, is_check: bool) -> Result<Self> {
        let files = project.write(source, is_check)?;
        Ok(Self {
            folder: project.folder().display().to_string(),
            program: project.name().to_owned(),
            written: files.written,
            kept: files.kept,
            lacks_module: files.lacks_module,
        })
    }

    fn in_words(&self, workload: &str, checked_only: bool) -> String {
        let Self { folder, program, written, kept, lacks_module } = self;
        let mut text = String::new();
        let done = if checked_only { "missing" } else { "written" };
        for (what, files) in [(done, written), ("yours, unchanged", kept)] {
            files.iter().for_each(|file| text.push_str(&format!("  {what}: {folder}/{file}\n")));
        }
        if *lacks_module {
            text.push_str(&format!(
                "  {folder}/src/lib.rs does not declare the code yet: add `pub mod {program};` to it, and \
                 `namdb::procedures::code::<{program}::Tables>()` to the result of its function `code`\n"
            ));
        }
        if !checked_only {
            text.push_str(&format!(
                "build the program `{program}`, which is namdb with this code, and run it:\n  \
                 cargo build --release --manifest-path {folder}/Cargo.toml\n  \
                 {folder}/target/release/{program} bench {workload}\n"
            ));
        }
        text
    }
}
