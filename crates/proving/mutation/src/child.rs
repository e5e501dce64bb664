//! A child process with bounds: its memory, its time, and the time without a line of output.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The variable that turns a mutant on.
const VARIABLE: &str = "NAMDB_MUTATION";
/// The largest address space of a child. A mutant may allocate without end.
const MEMORY_KIB_MAX: u64 = 6 << 20;
/// Sets the limit and becomes the program.
const LIMITED: &str = "ulimit -v \"$1\"; shift; exec \"$@\"";

/// The way in which a child ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By a signal.
    Signal(String),
    /// It printed nothing for too long, or did not end in time.
    Hangs,
}

/// The time that a child has.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a line of output.
    pub silence: Duration,
    /// In all.
    pub all: Duration,
}

/// The state of the switch in a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// No mutant is on.
    Off,
    /// No mutant is on, and visits are counted.
    Counting,
    /// This mutant is on.
    On(u32),
}

/// Runs a program in `folder`; `line` gets each line of its output.
///
/// # Errors
/// If it cannot be started, or watched.
pub fn run(
    folder: &Path,
    program: &Path,
    arguments: &[String],
    switch: Switch,
    patience: Patience,
    mut line: impl FnMut(&str),
) -> Result<Ended> {
    let mut command = Command::new("sh");
    command.args(["-c", LIMITED, "sh", &MEMORY_KIB_MAX.to_string()]);
    command.arg(program).args(arguments).current_dir(folder).env("RUST_BACKTRACE", "0");
    let word = match switch {
        Switch::Off => "0".to_owned(),
        Switch::Counting => "count".to_owned(),
        Switch::On(number) => number.to_string(),
    };
    command.env(VARIABLE, word);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let stdout = child.stdout.take().expect("it was piped just above");
    let (sender, lines) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let start = now();
        loop {
            let left = patience.all.saturating_sub(start.elapsed());
            match lines.recv_timeout(patience.silence.min(left)) {
                Ok(text) => line(&text),
                Err(RecvTimeoutError::Disconnected) => return wait(&mut child),
                Err(RecvTimeoutError::Timeout) => {
                    child.kill().context("cannot end a child that hangs")?;
                    wait(&mut child)?;
                    return Ok(Ended::Hangs);
                }
            }
        }
    })
}

fn wait(child: &mut Child) -> Result<Ended> {
    let status: ExitStatus = child.wait().context("cannot wait for a child")?;
    Ok(status.code().map_or_else(|| Ended::Signal(status.to_string()), Ended::Code))
}

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, silence_ms: u64) -> (Ended, Vec<String>) {
        let mut seen = Vec::new();
        let silence = Duration::from_millis(silence_ms);
        let patience = Patience { silence, all: Duration::from_secs(20) };
        let arguments = ["-c", script].map(str::to_owned);
        let ended = run(
            Path::new("."),
            Path::new("/bin/sh"),
            &arguments,
            Switch::On(7),
            patience,
            |line| {
                seen.push(line.to_owned());
            },
        );
        (ended.expect("the shell starts"), seen)
    }

    #[test]
    fn a_child_knows_its_mutant_and_its_end_is_told_apart() {
        let (ended, seen) = shell("echo $NAMDB_MUTATION; exit 3", 10_000);
        assert_eq!((ended, seen), (Ended::Code(3), vec!["7".to_owned()]));
        assert!(matches!(shell("kill -9 $$", 10_000).0, Ended::Signal(_)));
    }

    #[test]
    fn a_silent_child_hangs() {
        assert_eq!(shell("echo begins; exec sleep 60", 200).0, Ended::Hangs);
    }
}
