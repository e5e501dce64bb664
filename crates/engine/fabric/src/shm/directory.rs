//! The folder with the sockets of this host's servers, and how a server claims its name there.
//!
//! A server runs if and only if its lock is held: the kernel releases it however the server ends. A
//! socket whose lock is free is stale and is removed; the lock's file stays, since removing it
//! would let two servers hold one each.

use crate::identity::named;
use crate::shm::socket::listen;
use layout::NodeId;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{DirBuilder, File, metadata, remove_file};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a server cannot be reached through shared memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// A file or folder could not be created or used.
    #[error("{path} cannot be used: {error}")]
    File { path: PathBuf, error: io::Error },
    /// The folder belongs to another user, or other users may change its contents.
    #[error(
        "the folder {path} belongs to user {uid} and has mode {mode:o}; other users could replace a memory server's files there: use a folder of the cluster's own"
    )]
    Shared { path: PathBuf, uid: u32, mode: u32 },
    /// A server with the same number is running.
    #[error(
        "{} runs already: process {process} holds {path}; stop it, or use another folder for this cluster",
        named(*.node)
    )]
    Taken {
        node: NodeId,
        /// The process that holds the lock, as written in its file.
        process: String,
        path: PathBuf,
    },
    /// The world has no region that can be shared.
    #[error("memory server {} has no region that other processes can map", .0.0)]
    NotShared(NodeId),
}

impl ListenError {
    pub(super) fn file(path: &Path, error: impl Into<io::Error>) -> Self {
        Self::File { path: path.to_owned(), error: error.into() }
    }
}

/// The path of the socket of server `node`.
pub(super) fn socket_path(directory: &Path, node: NodeId) -> PathBuf {
    directory.join(file_name(node) + ".socket")
}

/// The base name of a server's files.
fn file_name(node: NodeId) -> String {
    named(node).replace(' ', "-")
}

/// A claimed name, released on drop.
pub(super) struct ClaimedName {
    socket_path: PathBuf,
    _lock: File,
}

impl Drop for ClaimedName {
    fn drop(&mut self) {
        // Still under the lock, so it is no other server's socket. A socket that remains does no
        // harm.
        let _ = remove_file(&self.socket_path);
    }
}

/// Claims the name of `node` and listens there.
pub(super) fn claim(directory: &Path, node: NodeId) -> Result<(ClaimedName, OwnedFd), ListenError> {
    make_directory(directory)?;
    let lock = lock(&directory.join(file_name(node) + ".lock"), node)?;
    let path = socket_path(directory, node);
    match remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(ListenError::file(&path, error));
        }
        _ => {}
    }
    let place = ClaimedName { socket_path: path, _lock: lock };
    let listener =
        listen(&place.socket_path).map_err(|error| ListenError::file(&place.socket_path, error))?;
    Ok((place, listener))
}

fn make_directory(directory: &Path) -> Result<(), ListenError> {
    let failed = |error| ListenError::file(directory, error);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let found = metadata(directory).map_err(failed)?;
    let (uid, mode) = (found.uid(), found.mode() & 0o777);
    if uid != geteuid().as_raw() || mode & 0o022 != 0 {
        return Err(ListenError::Shared { path: directory.to_owned(), uid, mode });
    }
    Ok(())
}

/// Holds the lock until the process ends, and writes the process number to its file.
fn lock(path: &Path, node: NodeId) -> Result<File, ListenError> {
    let failed = |error: Errno| ListenError::file(path, error);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(open(path, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut process = String::new();
            // Empty if the owner has not yet written its number.
            let _ = file.read_to_string(&mut process);
            let process = process.trim().to_owned();
            return Err(ListenError::Taken { node, process, path: path.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    }
    let said = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    said.map_err(|error| ListenError::file(path, error))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, read_dir, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("namdb-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        path
    }

    fn claim_error(directory: &Path) -> String {
        match claim(directory, NodeId(3)) {
            Ok(_) => unreachable!("it must be refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_place_is_taken_by_one_server_and_free_when_it_is_gone() {
        let directory = folder("place");
        let claimed = claim(&directory, NodeId(3)).expect("an empty folder");
        let taken = claim_error(&directory);
        let own = format!("memory server 3 runs already: process {} holds", std::process::id());
        assert!(taken.starts_with(&own), "{taken}");
        claim(&directory, NodeId(4)).expect("another number");
        let socket = socket_path(&directory, NodeId(3));
        assert_eq!(metadata(&socket).expect("a socket").mode() & 0o777, 0o600);
        drop(claimed);
        assert!(!socket.exists());
        // The remains of a server that could not clean up.
        write(&socket, "").expect("a file");
        claim(&directory, NodeId(3)).expect("nobody holds the lock");
        let names = read_dir(&directory).expect("the folder").count();
        assert_eq!(names, 2, "the two locks");
        std::fs::remove_dir_all(&directory).expect("our folder");
    }

    #[test]
    fn a_folder_that_others_may_change_is_refused() {
        let directory = folder("open");
        create_dir(&directory).expect("a folder");
        set_permissions(&directory, Permissions::from_mode(0o777)).expect("our folder");
        let refused = claim_error(&directory);
        assert!(refused.contains("has mode 777; other users could replace"), "{refused}");
        std::fs::remove_dir_all(&directory).expect("our folder");
    }

    #[test]
    fn a_path_that_is_too_long_is_an_error_with_the_path() {
        let directory = folder("long").join("x".repeat(100));
        let refused = claim_error(&directory);
        assert!(refused.contains("xxx/memory-server-3.socket cannot be used"), "{refused}");
        std::fs::remove_dir_all(folder("long")).expect_err("removed by `folder`");
    }
}
