//! Interruption by the user: stops the programs that this process has started, and removes its
//! temporary files.
//!
//! A signal concerns the whole process, so this state is global.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Maximum time for a program to stop when this process exits at once.
const STOP_WITHIN: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// Number of attempts to remove a folder while a server still writes to it.
const REMOVE_ATTEMPTS: u32 = 3;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LEFT: Mutex<Left> = Mutex::new(Left { programs: BTreeMap::new(), folders: BTreeSet::new() });

/// Programs and folders that would be left over if the process ended now.
struct Left {
    /// Running programs, with the signal that stops each and its children.
    programs: BTreeMap<i32, Signal>,
    folders: BTreeSet<PathBuf>,
}

/// Stops running programs, now and from now on: calls return
/// [`CollectError::Interrupted`](super::CollectError), and their owners remove servers and folders.
pub fn interrupt() {
    INTERRUPTED.store(true, Relaxed);
}

/// Whether [`interrupt`] was called.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Relaxed)
}

/// Stops all started programs and removes all temporary files, for a process that exits without
/// running destructors.
pub fn clear_away() {
    interrupt();
    // Another holder of the lock only records one entry, so the wait is short.
    let Ok(mut left) = LEFT.lock() else { return };
    for (program, signal) in std::mem::take(&mut left.programs) {
        let Some(pid) = Pid::from_raw(program) else { continue };
        let _ = kill_process(pid, signal);
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
            let _ = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&STOP_WITHIN));
        }
    }
    for folder in std::mem::take(&mut left.folders) {
        let mut attempts = (0..REMOVE_ATTEMPTS).map(|_| std::fs::remove_dir_all(&folder));
        let _ = attempts.any(|removed| removed.is_ok());
    }
}

/// Records a running program and the signal that stops it.
pub(super) fn note_program(pid: Pid, signal: Signal) {
    let Ok(mut left) = LEFT.lock() else { return };
    left.programs.insert(pid.as_raw_nonzero().get(), signal);
}

pub(super) fn forget_program(pid: Pid) {
    let Ok(mut left) = LEFT.lock() else { return };
    left.programs.remove(&pid.as_raw_nonzero().get());
}

/// Records that a folder exists, or was removed.
pub(super) fn note_folder(path: &Path, is_there: bool) {
    let Ok(mut left) = LEFT.lock() else { return };
    if is_there {
        left.folders.insert(path.to_path_buf())
    } else {
        left.folders.remove(path)
    };
}
