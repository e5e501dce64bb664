//! `cargo xtask hosts`: a cluster on several hosts, and how it handles a host that is cut off, dies
//! or returns.
//!
//! A host is a network namespace with a cable to a switch: three for memory servers, two for
//! compute servers and clients, and one for the registry, from which databases are checked as well.
//! The programs are built by cargo. If the kernel allows it, no privilege is needed: everything
//! runs inside a user namespace, and in a process namespace whose end is the end of every program
//! in it.

mod cases;
mod cluster;
mod enclosure;
mod network;
mod running;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::clock;
use crate::done::Done;
use crate::{process, workspace};
use cases::{CASES, Case};
use network::Network;

/// Which cases to run; all of them unless told otherwise.
#[derive(Args)]
pub struct Options {
    /// Cases to run
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Print the cases and what each shows, and do nothing
    #[arg(long)]
    list: bool,
    /// This process is inside, and everything is built: the folder to work in
    #[arg(long, hide = true, value_name = "FOLDER")]
    inside: Option<PathBuf>,
}

impl Options {
    /// All cases.
    pub fn all() -> Self {
        Self { cases: Vec::new(), list: false, inside: None }
    }
}

const BUILD: &[&str] = &["build", "--release", "-p", "namdb-program", "--bin", "namdb"];

/// Runs the cases. If this host lacks a tool, prints which and skips them, except under CI.
pub fn run(root: &Path, options: &Options) -> Result<Done> {
    let chosen = chosen(&options.cases)?;
    if options.list {
        for case in chosen {
            println!("{:<22} {}", case.name, case.shows);
        }
        return Ok(Done::Ran);
    }
    let target = workspace::target_directory(root)?;
    let program = target.join("release/namdb");
    if let Some(work) = &options.inside {
        return run_inside(&chosen, work, &program).map(|()| Done::Ran);
    }
    let enclosure = match enclosure::find() {
        Ok(enclosure) => enclosure,
        Err(reason) if std::env::var_os("NAMDB_CI").is_some_and(|value| value == "1") => {
            return Err(reason.context("under CI the tests on several hosts may not be skipped"));
        }
        Err(reason) => {
            eprintln!("hosts: skipped: {reason:#}");
            return Ok(Done::Skipped);
        }
    };
    process::run(&mut process::cargo(root, BUILD))?;
    let work = target.join("hosts");
    if work.exists() {
        std::fs::remove_dir_all(&work).context("remove the files of the last run")?;
    }
    std::fs::create_dir_all(&work).with_context(|| format!("make {}", work.display()))?;
    enclosure.run(&work, &options.cases).map(|()| Done::Ran)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Case>> {
    for name in names {
        let known: Vec<_> = CASES.iter().map(|case| case.name).collect();
        ensure!(
            known.contains(&name.as_str()),
            "there is no case `{name}`; the cases are {}",
            known.join(", ")
        );
    }
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(is_chosen).collect())
}

fn run_inside(cases: &[&Case], work: &Path, program: &Path) -> Result<()> {
    let network = Network::new()?;
    let mut lab = cluster::Lab::new(network, work, program)?;
    let mut failed = Vec::new();
    for case in cases {
        eprintln!("hosts: {}: {}", case.name, case.shows);
        let start = clock::now();
        let outcome = (case.run)(&mut lab);
        lab.mend()?;
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => eprintln!("hosts: {}: holds ({seconds:.1} s)", case.name),
            Err(error) => {
                eprintln!("hosts: {}: FAILS ({seconds:.1} s): {error:#}", case.name);
                failed.push(case.name);
            }
        }
    }
    if !failed.is_empty() {
        bail!(
            "{} of {} cases failed: {}; their output is in {}",
            failed.len(),
            cases.len(),
            failed.join(", "),
            work.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_name() {
        let all = chosen(&[]).expect("all");
        assert_eq!(all.len(), CASES.len());
        let one = chosen(&[CASES[1].name.to_owned()]).expect("it is there");
        assert!(one.len() == 1 && one[0].name == CASES[1].name);
        let error = chosen(&["nothing".to_owned()]).err().expect("there is none").to_string();
        assert!(error.contains("`nothing`") && error.contains(CASES[0].name), "{error}");
    }
}
