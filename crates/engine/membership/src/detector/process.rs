//! The processes of this host, whose end the kernel reports.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;

/// Identifies a process among all that a kernel has ever run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessKey {
    /// The kernel's boot and the namespace of process ids: only processes of the same place can
    /// look at each other's ids. Empty if unknown.
    place: String,
    /// When the process started, in ticks since the boot; tells processes with one id apart.
    started: u64,
}

/// The kernel's knowledge of a process.
pub(super) enum Found {
    /// It runs; the descriptor becomes readable at its end.
    Running(OwnedFd),
    Ended,
    /// The process is elsewhere, or this one has no permission to look.
    Unknown,
}

impl ProcessKey {
    /// The key of this process.
    pub fn own() -> Self {
        let started = start_of(std::process::id());
        match (place(), started) {
            (Some(place), Some(started)) => Self { place, started },
            _ => Self::default(),
        }
    }

    /// Looks for the process with this key and process id.
    pub(super) fn find(&self, pid: u32) -> Found {
        if self.place.is_empty() || Some(&self.place) != place().as_ref() {
            return Found::Unknown;
        }
        let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Found::Unknown;
        };
        let descriptor = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(descriptor) => descriptor,
            Err(Errno::SRCH) => return Found::Ended,
            Err(_) => return Found::Unknown,
        };
        // Compared after the process is held: its id cannot go to another one any more.
        match start_of(pid) {
            Some(started) if started == self.started => Found::Running(descriptor),
            Some(_) => Found::Ended,
            None => Found::Unknown,
        }
    }
}

fn place() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// The start of a process, in ticks since the boot.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain spaces. The start is field 22, the name field 2.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::process::Command;

    fn has_ended(descriptor: &OwnedFd, wait_s: i64) -> bool {
        let timeout = Timespec { tv_sec: wait_s, tv_nsec: 0 };
        poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)) == Ok(1)
    }

    fn key_of(pid: u32) -> ProcessKey {
        ProcessKey { started: start_of(pid).expect("it runs"), ..ProcessKey::own() }
    }

    #[test]
    fn the_end_of_a_process_is_seen() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("there is sleep");
        let key = key_of(child.id());
        let Found::Running(descriptor) = key.find(child.id()) else { panic!("it runs") };
        assert!(!has_ended(&descriptor, 0));
        child.kill().expect("it is ours");
        assert!(has_ended(&descriptor, 10), "before somebody waits for it, too");
        child.wait().expect("it is ours");
        assert!(matches!(key.find(child.id()), Found::Ended));
    }

    #[test]
    fn a_process_of_another_start_is_another_one() {
        let own = ProcessKey::own();
        let pid = std::process::id();
        assert!(matches!(own.find(pid), Found::Running(_)));
        let before = ProcessKey { started: own.started - 1, ..own.clone() };
        assert!(matches!(before.find(pid), Found::Ended));
        for place in ["", "another boot"] {
            let elsewhere = ProcessKey { place: place.to_owned(), ..own.clone() };
            assert!(matches!(elsewhere.find(pid), Found::Unknown));
        }
    }
}
