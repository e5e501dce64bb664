//! The disk of the operating system.

use crate::directory::LOCK_NAME;
use crate::disk::{Disk, Entry, Failure, FailureKind};
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags, fallocate, fdatasync, flock,
    fstatvfs, fsync, ftruncate, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Zeros that are written at a time where the file system cannot reserve room.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A directory of the file system. Calls block, and futures are ready at their first poll.
pub struct RealDisk {
    path: PathBuf,
    directory: OwnedFd,
    /// Closing it gives the lock back.
    lock: OnceLock<File>,
}

impl RealDisk {
    /// Opens the directory at `path`, which must exist.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty()).map_err(failure)?;
        Ok(Self { path: path.to_owned(), directory, lock: OnceLock::new() })
    }

    /// Opens the directory at `path`, and creates it first if only its last part is missing. The
    /// new name is durable when this returns.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        match mkdirat(CWD, path, Mode::RWXU) {
            Ok(()) => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = Self::open(parent.unwrap_or(Path::new(".")))?;
                fsync(&parent.directory).map_err(failure)?;
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failure(error)),
        }
        Self::open(path)
    }

    fn open_at(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.directory, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
    }

    fn take_lock(&self) -> Result<(), Failure> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        let mut file = self.open_at(LOCK_NAME, flags).map_err(failure)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut process = String::new();
                // Empty if the owner has not yet written its number.
                let _ = file.read_to_string(&mut process);
                let process = process.trim();
                let reason = format!("another process has it open (process {process})");
                return Err(Failure::new(FailureKind::Locked, reason));
            }
            Err(error) => return Err(failure(error)),
        }
        let number = format!("{}\n", std::process::id());
        file.set_len(0).and_then(|()| file.write_all(number.as_bytes())).map_err(io_failure)?;
        if self.lock.set(file).is_err() {
            let reason = "this process has it open already";
            return Err(Failure::new(FailureKind::Locked, reason));
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<Entry>, std::io::Error> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // Removed since the directory was read.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            if metadata.is_file() && name != LOCK_NAME {
                entries.push(Entry { name, bytes: metadata.len() });
            }
        }
        Ok(entries)
    }
}

/// Reserves room by writing zeros behind the end of the file.
fn write_zeros(file: &File, bytes: u64) -> Result<(), std::io::Error> {
    let mut at = file.metadata()?.len();
    while at < bytes {
        let count = (bytes - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

fn failure(error: Errno) -> Failure {
    io_failure(error.into())
}

fn io_failure(error: std::io::Error) -> Failure {
    use std::io::ErrorKind as Io;
    let kind = match error.kind() {
        Io::StorageFull | Io::QuotaExceeded => FailureKind::Full,
        Io::NotFound => FailureKind::Missing,
        Io::AlreadyExists => FailureKind::Exists,
        _ => FailureKind::Other,
    };
    Failure::new(kind, error)
}

impl Disk for RealDisk {
    type Handle = File;

    fn label(&self) -> String {
        self.path.display().to_string()
    }

    async fn lock(&self) -> Result<(), Failure> {
        self.take_lock()
    }

    async fn create(&self, name: &str) -> Result<File, Failure> {
        self.open_at(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL).map_err(failure)
    }

    async fn open(&self, name: &str, is_writable: bool) -> Result<File, Failure> {
        let flags = if is_writable { OFlags::RDWR } else { OFlags::RDONLY };
        self.open_at(name, flags).map_err(failure)
    }

    async fn list(&self) -> Result<Vec<Entry>, Failure> {
        self.entries().map_err(io_failure)
    }

    async fn length(&self, file: &File) -> Result<u64, Failure> {
        file.metadata().map(|metadata| metadata.len()).map_err(io_failure)
    }

    async fn read_at(&self, file: &File, offset: u64, buffer: &mut [u8]) -> Result<usize, Failure> {
        let mut count = 0;
        while count < buffer.len() {
            match file.read_at(&mut buffer[count..], offset + count as u64) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_failure(error)),
            }
        }
        Ok(count)
    }

    async fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        file.write_all_at(bytes, offset).map_err(io_failure)
    }

    async fn allocate(&self, file: &File, bytes: u64) -> Result<(), Failure> {
        if bytes == 0 {
            return Ok(());
        }
        loop {
            return match fallocate(file, FallocateFlags::empty(), 0, bytes) {
                Ok(()) => Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    write_zeros(file, bytes).map_err(io_failure)
                }
                Err(error) => Err(failure(error)),
            };
        }
    }

    async fn truncate(&self, file: &File, bytes: u64) -> Result<(), Failure> {
        ftruncate(file, bytes).map_err(failure)
    }

    async fn sync(&self, file: &File) -> Result<(), Failure> {
        fdatasync(file).map_err(failure)
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        renameat(&self.directory, from, &self.directory, to).map_err(failure)
    }

    async fn remove(&self, name: &str) -> Result<(), Failure> {
        unlinkat(&self.directory, name, AtFlags::empty()).map_err(failure)
    }

    async fn sync_directory(&self) -> Result<(), Failure> {
        fsync(&self.directory).map_err(failure)
    }

    async fn free_bytes(&self) -> Result<u64, Failure> {
        let room = fstatvfs(&self.directory).map_err(failure)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_and_quotas_are_one_kind() {
        for error in [Errno::NOSPC, Errno::DQUOT] {
            assert_eq!(failure(error).kind, FailureKind::Full);
        }
        assert_eq!(failure(Errno::IO).kind, FailureKind::Other);
    }
}
