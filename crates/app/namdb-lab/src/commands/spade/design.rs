//! `namdb spade design`: the default design of a workload as a file.

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
  namdb spade design mine --out mine/design.json          a file to change by hand

A design says of each table where its rows are (hash-inlined, hash-outside, tree), how keys choose their bucket, slots of
buckets and bytes of nodes, how many old versions a row keeps beside it, and how indexes are stored. The default one follows
from procedures and load alone. `namdb bench FOLDER` takes design.json of the folder, or what --design says. A design is made
for the units that it says, or else for those of workload.toml: run with other --units, its rows and ranges of keys grow as
those of the load do.

The exit code is 0 if it is written, 2 if there is none to be had.";

/// Options of `spade design`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DesignArguments {
    /// The workload's folder
    folder: PathBuf,
    /// Units of scale, such as warehouses [default: as workload.toml says]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_units)]
    units: Option<u64>,
    /// Write it to a new file
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
    // A file that is there may have been changed by hand. One that is no file has nothing to lose.
    ensure!(
        !path.is_file(),
        "{} is there, and may have been changed by hand; name another file, or remove it",
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
