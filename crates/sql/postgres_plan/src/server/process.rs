//! Runs programs until they exit or exceed a deadline.

use super::CollectError;
use super::interrupt::{forget_program, note_program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often an interruption by the user is checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Maximum time for a program to stop.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The exit status and output of a program.
pub(super) struct Finished {
    pub status: ExitStatus,
    pub output: String,
    pub complaint: String,
}

/// When a running program is stopped.
pub(super) struct Limit {
    /// The time limit.
    pub within: Duration,
    /// Whether the user has interrupted.
    pub is_unwanted: fn() -> bool,
}

impl Limit {
    /// A time limit only.
    pub fn within(within: Duration) -> Self {
        Self { within, is_unwanted: || false }
    }
}

/// Runs a program; its output goes to files in `folder`, and `what` is its name in messages.
pub(super) fn run(
    command: &mut Command,
    what: &str,
    folder: &Path,
    limit: &Limit,
) -> Result<Finished, CollectError> {
    let (output, complaint) = (folder.join("output"), folder.join("complaint"));
    let create = |path: &Path| File::create(path).map_err(|error| failed(what, &error));
    command.stdin(Stdio::null()).stdout(create(&output)?).stderr(create(&complaint)?);
    let mut child = command.spawn().map_err(|error| failed(what, &error))?;
    note_program(Pid::from_child(&child), Signal::TERM);
    let ended = wait_unless(&mut child, limit);
    if matches!(ended, Ok(None)) && (limit.is_unwanted)() {
        stop(&mut child);
    }
    forget_program(Pid::from_child(&child));
    let status = match ended {
        Ok(Some(status)) => status,
        Ok(None) if (limit.is_unwanted)() => return Err(CollectError::Interrupted),
        Ok(None) => {
            end(&mut child);
            return Err(CollectError::Late {
                what: what.to_owned(),
                seconds: limit.within.as_secs(),
            });
        }
        Err(error) => {
            end(&mut child);
            return Err(failed(what, &error));
        }
    };
    let read = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|error| failed(what, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Finished { status, output: read(&output)?, complaint: read(&complaint)? })
}

/// Waits for a process; `None` if it still runs after the time limit.
pub(super) fn wait(child: &mut Child, within: Duration) -> std::io::Result<Option<ExitStatus>> {
    wait_unless(child, &Limit::within(within))
}

/// As [`wait`]; `None` also after an interruption.
fn wait_unless(child: &mut Child, limit: &Limit) -> std::io::Result<Option<ExitStatus>> {
    let descriptor = descriptor(child)?;
    #[allow(clippy::disallowed_methods, reason = "waiting for a process is not part of a run")]
    let now = Instant::now;
    let end = now() + limit.within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = end.saturating_duration_since(now());
        if left.is_zero() || (limit.is_unwanted)() {
            return Ok(None);
        }
        let left = left.min(LOOK_EVERY);
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        // The loop checks again, also after EINTR.
        let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout));
    }
}

/// Becomes readable when the process has ended. A child that was not waited for keeps its PID, so
/// the PID is valid.
fn descriptor(child: &Child) -> std::io::Result<OwnedFd> {
    let pid = Pid::from_child(child);
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Asks a process and its children to stop; kills it if it does not.
fn stop(child: &mut Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    if !matches!(wait(child, STOP_WITHIN), Ok(Some(_))) {
        end(child);
    }
}

/// Kills a process and reaps it.
pub(super) fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

fn failed(what: &str, error: &std::io::Error) -> CollectError {
    CollectError::Run { what: what.to_owned(), error: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scratch::Scratch;

    #[test]
    fn what_a_program_says_is_kept_apart() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("sh");
        command.args(["-c", "echo said; echo complained >&2; exit 3"]);
        let limit = Limit::within(Duration::from_secs(20));
        let finished = run(&mut command, "sh", scratch.path(), &limit).expect("it runs");
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((&*finished.output, &*finished.complaint), ("said\n", "complained\n"));
    }

    #[test]
    fn a_late_program_is_ended() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("sleep");
        command.arg("60");
        let limit = Limit::within(Duration::from_millis(50));
        let result = run(&mut command, "sleep", scratch.path(), &limit);
        assert!(matches!(result, Err(CollectError::Late { .. })));
    }

    #[test]
    fn an_interrupted_program_is_stopped() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("sleep");
        command.arg("60");
        let limit = Limit { within: Duration::from_secs(60), is_unwanted: || true };
        let result = run(&mut command, "sleep", scratch.path(), &limit);
        assert!(matches!(result, Err(CollectError::Interrupted)));
    }

    #[test]
    fn a_missing_program_is_reported() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("/nonexistent/program");
        let limit = Limit::within(Duration::from_secs(1));
        let error = run(&mut command, "program", scratch.path(), &limit).err().expect("it fails");
        assert!(error.to_string().contains("program"), "{error}");
    }
}
