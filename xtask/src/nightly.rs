//! `cargo xtask nightly`: the checks that take too long for every change, in parts of at most 25
//! minutes.
//!
//! A part that passed at a commit is not run again there, so an interrupted run continues where it
//! stopped. Parts that draw seeds draw new ones in each round, and the record adds up rounds and
//! seeds per commit.
//!
//! Decision: docs/decisions/0293-the-build-is-tuned-for-the-inner-loop.md

mod part;
mod record;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::done::Done;
use crate::{block, clock, process};
use part::{PARTS, Part};
use record::{Record, Run, RunResult};

/// Which parts to run; all that have not passed at this commit unless told otherwise.
#[derive(Args)]
pub struct Options {
    /// Print the parts, what each runs, and what is recorded of this commit
    #[arg(long)]
    list: bool,
    /// Run this part, also if it has passed at this commit: with new seeds
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// Write each part's newest result, at this commit or before, into docs/testing.md; with
    /// --list, without running any
    #[arg(long)]
    write: bool,
}

/// Runs the parts, and writes the record after each.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let commit = commit(root)?;
    let mut record = Record::read(root)?;
    if options.list {
        for part in &PARTS {
            println!("{:<11} {:<52} {}", part.name, part.what, record.of(&commit, part.name));
        }
    } else {
        run_parts(root, &parts(options, &record, &commit)?, &mut record, &commit)?;
    }
    if options.write {
        let table = record.table(&PARTS.map(|part| part.name), &history(root)?);
        block::write(root, "docs/testing.md", "cargo xtask nightly", &table)?;
    }
    Ok(())
}

fn run_parts(root: &Path, parts: &[&Part], record: &mut Record, commit: &str) -> Result<()> {
    for part in parts {
        let before = record.of(commit, part.name);
        eprintln!("nightly: {} starts: {}", part.name, part.what);
        let start = clock::now();
        let outcome = part.run(root, before.rounds);
        let seconds = start.elapsed().as_secs();
        // Another run may have recorded a part meanwhile.
        *record = Record::read(root)?;
        record.add(
            commit,
            part.name,
            Run { result: RunResult::of(&outcome), seconds, seeds: part.seeds },
        );
        record.write(root)?;
        let done = outcome.with_context(|| {
            let name = part.name;
            format!("nightly stops at {name}; repeat it with `cargo xtask nightly --part {name}`")
        })?;
        let result = if done == Done::Skipped { "is skipped" } else { "passed" };
        eprintln!("nightly: {} {result} in {seconds} s", part.name);
    }
    Ok(())
}

fn parts(options: &Options, record: &Record, commit: &str) -> Result<Vec<&'static Part>> {
    if let Some(name) = &options.part {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        let part = PARTS.iter().find(|part| part.name == name);
        return Ok(vec![part.with_context(|| {
            format!("there is no part {name:?}; the parts are {}", names.join(", "))
        })?]);
    }
    Ok(PARTS.iter().filter(|part| !record.of(commit, part.name).passed).collect())
}

fn commit(root: &Path) -> Result<String> {
    let mut command = std::process::Command::new("git");
    let hash = process::capture(command.current_dir(root).args(["rev-parse", "HEAD"]))?;
    let hash = hash.trim().to_owned();
    ensure!(hash.len() >= 8, "git names no commit: {hash:?}");
    Ok(hash)
}

/// HEAD and the commits before it, newest first.
fn history(root: &Path) -> Result<Vec<String>> {
    let mut command = std::process::Command::new("git");
    let hashes = process::capture(command.current_dir(root).args(["rev-list", "HEAD"]))?;
    Ok(hashes.lines().map(str::to_owned).collect())
}
