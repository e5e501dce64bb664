//! `namdb spade design`: writes the default design of a workload.

use crate::Verdict;
use crate::commands::parse_units;
use crate::output;
use anyhow::{Result, ensure};
use clap::Args;
use folder_benchmark::default_design;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb spade design workloads/tatp                       print it
  namdb spade design mine --out mine/design.json          write a file to edit

A design defines for each table where its rows are (hash-inlined, hash-outside, tree), how keys select their bucket, the
slots per bucket and bytes per node, how many old versions a row keeps beside it, and how indexes are stored. The default
design follows from procedures and load alone. `namdb bench FOLDER` uses the folder's design.json, or the file of --design.
A design records the units it was made for (otherwise those of workload.toml). With other --units, its rows and key ranges
grow as those of the load do.

Exit codes: 0 the design is written; 2 it is not.";

/// Arguments of `namdb spade design`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DesignArguments {
    /// The workload's folder
    folder: PathBuf,
    /// Scale, such as the number of warehouses [default: as in workload.toml]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_units)]
    units: Option<u64>,
    /// Write the design to a new file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &DesignArguments) -> Result<Verdict> {
    let text = default_design(&arguments.folder, arguments.units)?.json();
    let Some(path) = &arguments.out else {
        output::print(&text)?;
        return Ok(Verdict::Sound);
    };
    // An existing file may have been edited. A device has nothing to lose.
    ensure!(
        !path.is_file(),
        "{} exists and may have been edited; choose another file, or remove it",
        path.display()
    );
    output::replace(path, text.as_bytes())?;
    output::print(&format!(
        "{}: the default design of {}\n",
        path.display(),
        arguments.folder.display()
    ))?;
    Ok(Verdict::Sound)
}
