//! Programs that are run to their end, or to a deadline.

use super::CollectError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a program has left.
pub(super) struct Finished {
    pub status: ExitStatus,
    pub output: String,
    pub complaint: String,
}

/// Runs a program in a folder that takes what it says; `what` is the program's name in messages.
pub(super) fn run(
    command: &mut Command,
    what: &str,
    folder: &Path,
    within: Duration,
) -> Result<Finished, CollectError> {
    let (output, complaint) = (folder.join("output"), folder.join("complaint"));
    let create = |path: &Path| File::create(path).map_err(|error| failed(what, &error));
    command.stdin(Stdio::null()).stdout(create(&output)?).stderr(create(&complaint)?);
    let mut child = command.spawn().map_err(|error| failed(what, &error))?;
    let status = match wait(&mut child, within) {
        Ok(Some(status)) => status,
        Ok(None) => {
            end(&mut child);
            return Err(CollectError::Late { what: what.to_owned(), seconds: within.as_secs() });
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

/// Waits for a process; none if it still runs when the time is over.
pub(super) fn wait(child: &mut Child, within: Duration) -> std::io::Result<Option<ExitStatus>> {
    let descriptor = descriptor(child)?;
    #[allow(clippy::disallowed_methods, reason = "waiting for a process is not part of a run")]
    let now = Instant::now;
    let end = now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = end.saturating_duration_since(now());
        if left.is_zero() {
            return Ok(None);
        }
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        // Interrupted or not, the loop looks again.
        let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout));
    }
}

/// Readable when the process has ended. A child that was not waited for keeps its number, so it is the right one.
fn descriptor(child: &Child) -> std::io::Result<OwnedFd> {
    let pid = Pid::from_child(child);
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Ends a process that is late, and takes its remains.
pub(super) fn end(child: &mut Child) {
    // It may have ended by itself; then there is nothing to kill.
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
        let limit = Duration::from_secs(20);
        let finished = run(&mut command, "sh", scratch.path(), limit).expect("it runs");
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!((&*finished.output, &*finished.complaint), ("said\n", "complained\n"));
    }

    #[test]
    fn a_late_program_is_ended() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("sleep");
        command.arg("60");
        let result = run(&mut command, "sleep", scratch.path(), Duration::from_millis(50));
        assert!(matches!(result, Err(CollectError::Late { .. })));
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let mut command = Command::new("/nonexistent/program");
        let limit = Duration::from_secs(1);
        let error = run(&mut command, "program", scratch.path(), limit).err().expect("it fails");
        assert!(error.to_string().contains("program"), "{error}");
    }
}
