//! The commands of the program `namdb-lab`: simulator, evaluation of the papers, and SPADE.
//!
//! `namdb` starts `namdb-lab` for these commands; `namdb-lab` is built separately.
//!
//! Decision: docs/decisions/0292-the-laboratory-is-a-program-of-its-own.md

use crate::Verdict;
use crate::commands::bench::BenchArguments;
use anyhow::{Context, Result};
use clap::Args;
use namdb::procedures::Code;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// File name of the program.
const PROGRAM: &str = "namdb-lab";
/// Names of its commands.
const COMMANDS: [&str; 3] = ["simulate", "reproduce", "spade"];

/// Functions for these commands in a program that links them.
pub struct Lab {
    /// Runs the command named by this process's arguments.
    pub command: fn(&[Code]) -> Result<Verdict>,
    /// Runs a benchmark on a simulated cluster: `namdb bench --profile`.
    pub bench: fn(&BenchArguments) -> Result<Verdict>,
}

/// Unparsed arguments of a command of `namdb-lab`.
#[derive(Args)]
pub struct Passed {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Rewrites `help COMMAND` to `COMMAND --help`, which `namdb-lab` answers.
pub fn with_help(arguments: Vec<OsString>) -> Vec<OsString> {
    match &arguments[..] {
        [program, help, command, rest @ ..]
            if help == "help" && COMMANDS.iter().any(|known| command == known) =>
        {
            let words = [program.clone(), command.clone()];
            words.into_iter().chain(rest.iter().cloned()).chain(["--help".into()]).collect()
        }
        _ => arguments,
    }
}

/// Starts `namdb-lab` with this process's arguments and returns its exit code.
pub fn start() -> Result<Verdict> {
    let path = path()?;
    let arguments = with_help(std::env::args_os().collect());
    let status = Command::new(&path)
        .args(&arguments[1..])
        .status()
        .with_context(|| format!("cannot start {}", path.display()))?;
    std::process::exit(exit_code(status));
}

/// The path of `namdb-lab`, beside this program.
fn path() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let path = own.with_file_name(PROGRAM);
    path.is_file().then_some(path).with_context(|| {
        format!(
            "this command is part of the program {PROGRAM}, which is not in {}; \
             build it with `cargo build --release -p {PROGRAM}`",
            own.parent().unwrap_or(&own).display()
        )
    })
}

/// The exit code in a shell's convention: 128 plus the signal's number after a signal.
fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_help_of(words: &str) -> Vec<OsString> {
        with_help(words.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn help_of_a_lab_command_is_asked_of_the_lab() {
        assert_eq!(with_help_of("namdb help spade tune"), ["namdb", "spade", "tune", "--help"]);
        assert_eq!(with_help_of("namdb help bench"), ["namdb", "help", "bench"]);
        assert_eq!(with_help_of("namdb spade"), ["namdb", "spade"]);
    }
}
