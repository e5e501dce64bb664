//! Checks for files that dead servers have left in the cluster's directory.

use super::code::STALE_FILES;
use super::finding::Finding;
use crate::bench::text::counted;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::path::Path;

const SOCKET: &str = ".socket";
const LOCK: &str = ".lock";

/// A socket in the directory, and whether its server is alive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Socket {
    pub name: String,
    pub is_held: bool,
}

/// Checks a directory; not applicable if it does not exist.
pub fn check(directory: &Path) -> Finding {
    judge(directory, read(directory).as_deref())
}

/// A live server holds a lock on the file beside its socket, so the kernel knows whether it is
/// alive.
fn read(directory: &Path) -> Option<Vec<Socket>> {
    let entries = std::fs::read_dir(directory).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut sockets: Vec<Socket> = names
        .filter_map(|name| {
            let lock = format!("{}{LOCK}", name.strip_suffix(SOCKET)?);
            let is_held = File::open(directory.join(lock))
                .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err());
            Some(Socket { name, is_held })
        })
        .collect();
    sockets.sort_by(|one, other| one.name.cmp(&other.name));
    Some(sockets)
}

fn judge(directory: &Path, sockets: Option<&[Socket]>) -> Finding {
    let place = directory.display();
    let Some(sockets) = sockets else {
        return STALE_FILES.not_applicable(format!("{place} does not exist yet"));
    };
    let stale: Vec<String> = sockets
        .iter()
        .filter(|socket| !socket.is_held)
        .map(|socket| directory.join(&socket.name).display().to_string())
        .collect();
    if stale.is_empty() {
        return STALE_FILES.ok(format!(
            "none in {place}, which contains the sockets of {}",
            counted(sockets.len() as u64, "live server")
        ));
    }
    let found =
        format!("left by dead servers: {}; the next servers replace them", stale.join(", "));
    STALE_FILES.warning(found, format!("rm {}", stale.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn a_socket_is_stale_once_its_lock_is_free() {
        let directory = std::env::temp_dir().join(format!("namdb-doctor-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("room for a folder");
        for name in ["memory-server-0.socket", "memory-server-1.socket", "other"] {
            File::create(directory.join(name)).expect("room for a file");
        }
        let lock = File::create(directory.join("memory-server-0.lock")).expect("room for a file");
        flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
        let finding = check(&directory);
        assert_eq!(finding.grade, Grade::Warning);
        let fix = finding.fix.expect("one");
        assert!(fix.starts_with("rm ") && fix.contains("server-1.socket"), "{fix}");
        assert!(!fix.contains("server-0") && !fix.contains("other"), "{fix}");
        std::fs::remove_file(directory.join("memory-server-1.socket")).expect("it is there");
        assert_eq!(check(&directory).grade, Grade::Ok);
        std::fs::remove_dir_all(&directory).expect("it is there");
        assert_eq!(check(&directory).grade, Grade::NotApplicable);
    }
}
