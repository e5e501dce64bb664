//! The trait that real and simulated disks implement: one database directory.

use crate::planted::PlantedBug;
use std::fmt;
use std::future::Future;

/// A file of the directory, as [`Disk::list`] reports it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    pub name: String,
    pub bytes: u64,
}

/// The reason why an operation of a [`Disk`] failed. [`crate::Directory`] adds operation, file and
/// offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    /// The system's words, without the file's name.
    pub reason: String,
}

impl Failure {
    pub fn new(kind: FailureKind, reason: impl fmt::Display) -> Self {
        Self { kind, reason: reason.to_string() }
    }
}

/// The failures that callers treat differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The disk or the user's quota is full.
    Full,
    Missing,
    Exists,
    /// Another process holds the directory's lock.
    Locked,
    Other,
}

/// One database directory. Futures of a real disk are ready at their first poll, because the thread
/// that drives them may block; futures of a simulated disk take virtual time.
///
/// Names are plain file names; [`crate::Directory`] checks them.
pub trait Disk: 'static {
    /// An open file. Dropping it closes the file without a sync.
    type Handle: 'static;

    /// Whether faults and [`PlantedBug`]s do anything.
    const IS_SIMULATED: bool = false;

    /// The name of the directory in messages.
    fn label(&self) -> String;

    /// Takes the directory's lock until this value is dropped.
    fn lock(&self) -> impl Future<Output = Result<(), Failure>>;

    /// Creates an empty file, and fails if the name exists.
    fn create(&self, name: &str) -> impl Future<Output = Result<Self::Handle, Failure>>;

    /// Opens an existing file, for writing too if `is_writable`.
    fn open(
        &self,
        name: &str,
        is_writable: bool,
    ) -> impl Future<Output = Result<Self::Handle, Failure>>;

    /// The regular files of the directory in no particular order, without the lock.
    fn list(&self) -> impl Future<Output = Result<Vec<Entry>, Failure>>;

    /// The current length of a file in bytes.
    fn length(&self, file: &Self::Handle) -> impl Future<Output = Result<u64, Failure>>;

    /// Fills `buffer` from `offset` and returns the number of bytes read, which is smaller than the
    /// buffer only at the end of the file.
    fn read_at(
        &self,
        file: &Self::Handle,
        offset: u64,
        buffer: &mut [u8],
    ) -> impl Future<Output = Result<usize, Failure>>;

    /// Writes all of `bytes`, and lengthens the file if they reach beyond its end. After a failure
    /// any part of them may have been written.
    fn write_at(
        &self,
        file: &Self::Handle,
        offset: u64,
        bytes: &[u8],
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Lengthens the file to `bytes` with zeros and reserves room for them, so that writes there
    /// do not find the disk full. Does not shorten it.
    fn allocate(
        &self,
        file: &Self::Handle,
        bytes: u64,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Cuts the file to `bytes`.
    fn truncate(
        &self,
        file: &Self::Handle,
        bytes: u64,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Makes the file's bytes and length durable, not its name.
    fn sync(&self, file: &Self::Handle) -> impl Future<Output = Result<(), Failure>>;

    /// Replaces `to` if it exists; no crash leaves neither of both files under that name.
    fn rename(&self, from: &str, to: &str) -> impl Future<Output = Result<(), Failure>>;

    /// Removes a name. Open handles stay valid.
    fn remove(&self, name: &str) -> impl Future<Output = Result<(), Failure>>;

    /// Makes created, renamed and removed names durable.
    fn sync_directory(&self) -> impl Future<Output = Result<(), Failure>>;

    /// Bytes that can still be written.
    fn free_bytes(&self) -> impl Future<Output = Result<u64, Failure>>;

    /// Whether a guard is removed, to show that a test notices. Constant on real disks.
    #[inline]
    fn has_planted(&self, _bug: PlantedBug) -> bool {
        false
    }
}
