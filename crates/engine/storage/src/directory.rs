//! A directory and its files as users see them: checked names, errors with their place, and the end
//! of all operations after a failed sync.

use crate::disk::{Disk, Entry, Failure, FailureKind};
use crate::error::{DiskError, ErrorKind, Operation};
use crate::planted::PlantedBug;
use std::sync::{Arc, OnceLock};

/// The file that a process locks while it has the directory open; it holds the process number.
pub const LOCK_NAME: &str = "lock";
/// Longest name of a file in bytes.
const NAME_BYTES_MAX: usize = 128;

struct Shared<D> {
    disk: D,
    is_writable: bool,
    /// The first failed sync. It is never reset: only a new process or a new `Directory` starts
    /// from what the disk really holds.
    ended: OnceLock<DiskError>,
}

impl<D: Disk> Shared<D> {
    fn path(&self, name: &str) -> String {
        if name.is_empty() { self.disk.label() } else { format!("{}/{name}", self.disk.label()) }
    }

    fn refusal(&self, kind: ErrorKind, operation: Operation, name: &str, why: &str) -> DiskError {
        let reason = why.to_owned();
        DiskError { kind, operation, path: self.path(name), offset: None, reason }
    }

    /// Refuses everything after a failed sync, and changes of a directory that is only read.
    fn admit(&self, operation: Operation, name: &str, is_change: bool) -> Result<(), DiskError> {
        if let Some(first) = self.ended.get() {
            let why = format!("an earlier sync failed ({}: {})", first.path, first.reason);
            return Err(self.refusal(ErrorKind::Ended, operation, name, &why));
        }
        if is_change && !self.is_writable {
            let why = "the directory is open for reading only";
            return Err(self.refusal(ErrorKind::ReadOnly, operation, name, why));
        }
        Ok(())
    }

    /// As [`Self::admit`], for operations that take a name from the caller.
    fn admit_name(
        &self,
        operation: Operation,
        name: &str,
        is_change: bool,
    ) -> Result<(), DiskError> {
        self.admit(operation, name, is_change)?;
        let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
        let begins = name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic());
        if !begins || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
            let why = "this is not a plain file name";
            return Err(self.refusal(ErrorKind::Name, operation, name, why));
        }
        if name == LOCK_NAME {
            let why = "this file is the lock of the directory";
            return Err(self.refusal(ErrorKind::Name, operation, name, why));
        }
        Ok(())
    }

    fn named<T>(
        &self,
        operation: Operation,
        name: &str,
        result: Result<T, Failure>,
    ) -> Result<T, DiskError> {
        result.map_err(|failure| DiskError::new(operation, self.path(name), failure))
    }

    /// Turns the result of a sync into the end of the directory if it failed.
    fn synced(
        &self,
        operation: Operation,
        name: &str,
        result: Result<(), Failure>,
    ) -> Result<(), DiskError> {
        let result = self.named(operation, name, result);
        if let Err(error) = &result {
            // An earlier failure stays the reason.
            let _ = self.ended.set(error.clone());
        }
        result
    }
}

/// One database directory. Clones share the lock and the end after a failed sync.
pub struct Directory<D: Disk>(Arc<Shared<D>>);

impl<D: Disk> Clone for Directory<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Disk> Directory<D> {
    /// Locks the directory, so that no other process changes it.
    pub async fn open(disk: D) -> Result<Self, DiskError> {
        let shared = Shared { disk, is_writable: true, ended: OnceLock::new() };
        let locked = shared.disk.lock().await;
        shared.named(Operation::Lock, "", locked)?;
        Ok(Self(Arc::new(shared)))
    }

    /// A view without the lock, for tools that inspect the files. Changes are refused.
    pub fn read_only(disk: D) -> Self {
        Self(Arc::new(Shared { disk, is_writable: false, ended: OnceLock::new() }))
    }

    /// The directory's name in messages.
    pub fn label(&self) -> String {
        self.0.disk.label()
    }

    /// The path of a file in messages.
    pub fn path(&self, name: &str) -> String {
        self.0.path(name)
    }

    /// The failed sync that ended the directory.
    pub fn ended(&self) -> Option<&DiskError> {
        self.0.ended.get()
    }

    /// Creates an empty file; an existing one is an error. Its name is durable after
    /// [`Self::sync`].
    pub async fn create(&self, name: &str) -> Result<File<D>, DiskError> {
        self.0.admit_name(Operation::Create, name, true)?;
        let handle = self.0.disk.create(name).await;
        let handle = self.0.named(Operation::Create, name, handle)?;
        Ok(File { directory: self.clone(), name: name.to_owned(), handle })
    }

    /// Opens an existing file.
    pub async fn open_file(&self, name: &str) -> Result<File<D>, DiskError> {
        self.0.admit_name(Operation::Open, name, false)?;
        let handle = self.0.disk.open(name, self.0.is_writable).await;
        let handle = self.0.named(Operation::Open, name, handle)?;
        Ok(File { directory: self.clone(), name: name.to_owned(), handle })
    }

    /// All files, sorted by name.
    pub async fn list(&self) -> Result<Vec<Entry>, DiskError> {
        self.0.admit(Operation::List, "", false)?;
        let entries = self.0.disk.list().await;
        let mut entries = self.0.named(Operation::List, "", entries)?;
        entries.sort();
        Ok(entries)
    }

    /// Renames a file and replaces one that has the new name. Durable after [`Self::sync`]; sync
    /// the file itself before, or the new name can lead to an empty file.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.0.admit_name(Operation::Rename, from, true)?;
        self.0.admit_name(Operation::Rename, to, true)?;
        let result = self.0.disk.rename(from, to).await;
        self.0.named(Operation::Rename, from, result)
    }

    /// Removes a file. Durable after [`Self::sync`].
    pub async fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.0.admit_name(Operation::Remove, name, true)?;
        let result = self.0.disk.remove(name).await;
        self.0.named(Operation::Remove, name, result)
    }

    /// Makes created, renamed and removed names durable. A failure ends the directory.
    pub async fn sync(&self) -> Result<(), DiskError> {
        self.0.admit(Operation::SyncDirectory, "", true)?;
        let result = self.0.disk.sync_directory().await;
        self.0.synced(Operation::SyncDirectory, "", result)
    }

    /// Bytes that can still be written.
    pub async fn free_bytes(&self) -> Result<u64, DiskError> {
        self.0.admit(Operation::FreeBytes, "", false)?;
        let result = self.0.disk.free_bytes().await;
        self.0.named(Operation::FreeBytes, "", result)
    }

    /// Whether a guard is removed; constant on real disks.
    #[inline]
    pub fn has_planted(&self, bug: PlantedBug) -> bool {
        D::IS_SIMULATED && self.0.disk.has_planted(bug)
    }
}

/// An open file of a [`Directory`].
pub struct File<D: Disk> {
    directory: Directory<D>,
    name: String,
    handle: D::Handle,
}

impl<D: Disk> std::fmt::Debug for File<D> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "File({})", self.path())
    }
}

impl<D: Disk> File<D> {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path in messages.
    pub fn path(&self) -> String {
        self.directory.path(&self.name)
    }

    fn admit(&self, operation: Operation, is_change: bool) -> Result<&Shared<D>, DiskError> {
        let shared = &*self.directory.0;
        shared.admit(operation, &self.name, is_change)?;
        Ok(shared)
    }

    fn at<T>(
        &self,
        operation: Operation,
        offset: u64,
        result: Result<T, Failure>,
    ) -> Result<T, DiskError> {
        let result = self.directory.0.named(operation, &self.name, result);
        result.map_err(|error| DiskError { offset: Some(offset), ..error })
    }

    /// The length in bytes.
    pub async fn length(&self) -> Result<u64, DiskError> {
        let shared = self.admit(Operation::Measure, false)?;
        let result = shared.disk.length(&self.handle).await;
        shared.named(Operation::Measure, &self.name, result)
    }

    /// Fills `buffer`, and returns the number of bytes: fewer only at the end of the file.
    pub async fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let shared = self.admit(Operation::Read, false)?;
        let result = shared.disk.read_at(&self.handle, offset, buffer).await;
        self.at(Operation::Read, offset, result)
    }

    /// Writes all of `bytes`, beyond the end of the file too. After an error any part of them may
    /// have been written. Durable after [`Self::sync`].
    pub async fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let shared = self.admit(Operation::Write, true)?;
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > i64::MAX as u64) {
            let failure = Failure::new(FailureKind::Other, "no file is that long");
            return self.at(Operation::Write, offset, Err(failure));
        }
        let result = shared.disk.write_at(&self.handle, offset, bytes).await;
        self.at(Operation::Write, offset, result)
    }

    /// Lengthens the file to `bytes` with zeros and reserves the room.
    pub async fn allocate(&self, bytes: u64) -> Result<(), DiskError> {
        let shared = self.admit(Operation::Allocate, true)?;
        let result = shared.disk.allocate(&self.handle, bytes).await;
        self.at(Operation::Allocate, bytes, result)
    }

    /// Cuts the file to `bytes`. Durable after [`Self::sync`].
    pub async fn truncate(&self, bytes: u64) -> Result<(), DiskError> {
        let shared = self.admit(Operation::Truncate, true)?;
        let result = shared.disk.truncate(&self.handle, bytes).await;
        self.at(Operation::Truncate, bytes, result)
    }

    /// Makes bytes and length durable. Takes the file, and returns it only if that succeeded: after
    /// a failure there is nothing left to retry with, and the directory refuses everything.
    pub async fn sync(self) -> Result<Self, DiskError> {
        let shared = self.admit(Operation::Sync, true)?;
        let result = shared.disk.sync(&self.handle).await;
        shared.synced(Operation::Sync, &self.name, result)?;
        Ok(self)
    }
}
