//! A user who wants the program to end: what runs for it ends, and nothing of it stays behind.
//!
//! A signal is of the whole process, and so is this.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long a program may take to stop when the program leaves at once.
const STOP_WITHIN: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// How often a folder is tried to be removed while a server still writes there.
const REMOVE_ATTEMPTS: u32 = 3;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LEFT: Mutex<Left> = Mutex::new(Left { programs: BTreeMap::new(), folders: BTreeSet::new() });

/// What would stay behind if the program ended now.
struct Left {
    /// Programs that run, with what stops each together with those that it has started.
    programs: BTreeMap<i32, Signal>,
    folders: BTreeSet<PathBuf>,
}

/// Ends what runs for this process, now and from now on: it answers with [`CollectError::Interrupted`](super::CollectError), and
/// servers and folders go with their owners.
pub fn interrupt() {
    INTERRUPTED.store(true, Relaxed);
}

/// Whether it was.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Relaxed)
}

/// Stops all programs that were started here, and removes all temporary files, for a process that ends without dropping anything.
pub fn clear_away() {
    interrupt();
    // Whoever holds it at this moment notes one thing, and goes on.
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

/// Notes a program that runs, and by what signal it stops.
pub(super) fn note_program(pid: Pid, signal: Signal) {
    let Ok(mut left) = LEFT.lock() else { return };
    left.programs.insert(pid.as_raw_nonzero().get(), signal);
}

/// Takes that note away.
pub(super) fn forget_program(pid: Pid) {
    let Ok(mut left) = LEFT.lock() else { return };
    left.programs.remove(&pid.as_raw_nonzero().get());
}

/// Notes a folder that is there, or takes the note away.
pub(super) fn note_folder(path: &Path, is_there: bool) {
    let Ok(mut left) = LEFT.lock() else { return };
    if is_there {
        left.folders.insert(path.to_path_buf())
    } else {
        left.folders.remove(path)
    };
}
