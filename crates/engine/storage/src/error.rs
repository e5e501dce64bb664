//! Errors of the disk: what failed, where, and what to do.

use crate::disk::{Failure, FailureKind};
use std::fmt;

/// An operation on a directory or one of its files, in the words of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operation {
    Lock,
    Create,
    Open,
    List,
    Measure,
    Read,
    Write,
    Allocate,
    Truncate,
    Sync,
    Rename,
    Remove,
    SyncDirectory,
    FreeBytes,
}

impl Operation {
    const fn words(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Create => "create",
            Self::Open => "open",
            Self::List => "list",
            Self::Measure => "read the length of",
            Self::Read => "read",
            Self::Write => "write",
            Self::Allocate => "reserve room for",
            Self::Truncate => "truncate",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::SyncDirectory => "sync the names of",
            Self::FreeBytes => "read the free room of",
        }
    }
}

/// The kinds of errors that callers treat differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The disk or the user's quota is full. Nothing that was synced is harmed, and the operation
    /// may be repeated.
    Full,
    Missing,
    Exists,
    /// Another process has the directory open.
    Locked,
    /// The directory was opened for reading only.
    ReadOnly,
    /// The name is not a plain file name.
    Name,
    /// A sync failed: unknown parts of what was written since the last one are lost.
    SyncFailed,
    /// An earlier sync of this directory failed.
    Ended,
    Other,
}

/// An error of a [`crate::Directory`] or a [`crate::File`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiskError {
    pub kind: ErrorKind,
    pub operation: Operation,
    /// The directory, with the file's name if there is one.
    pub path: String,
    /// The first byte of a read, write or truncation; the new length of an allocation.
    pub offset: Option<u64>,
    /// The system's words.
    pub reason: String,
}

impl DiskError {
    pub(crate) fn new(operation: Operation, path: String, failure: Failure) -> Self {
        let is_sync = matches!(operation, Operation::Sync | Operation::SyncDirectory);
        let kind = match failure.kind {
            _ if is_sync => ErrorKind::SyncFailed,
            FailureKind::Full => ErrorKind::Full,
            FailureKind::Missing => ErrorKind::Missing,
            FailureKind::Exists => ErrorKind::Exists,
            FailureKind::Locked => ErrorKind::Locked,
            FailureKind::Other => ErrorKind::Other,
        };
        Self { kind, operation, path, offset: None, reason: failure.reason }
    }

    /// Whether the same operation may succeed later.
    pub fn is_full(&self) -> bool {
        self.kind == ErrorKind::Full
    }

    /// Whether a sync has failed, so that nothing more can become durable in this process.
    pub fn is_final(&self) -> bool {
        matches!(self.kind, ErrorKind::SyncFailed | ErrorKind::Ended)
    }

    const fn advice(&self) -> &'static str {
        match self.kind {
            ErrorKind::Full => "make room on the disk and repeat the operation",
            ErrorKind::Missing => "check the path, or restore the file from a backup",
            ErrorKind::Exists => "choose another directory, or remove the file",
            ErrorKind::Locked => "end the other process, or choose another directory",
            ErrorKind::ReadOnly => "open the database instead of inspecting it",
            ErrorKind::Name => "use letters, digits, `-`, `_` and `.`, and begin with a letter",
            ErrorKind::SyncFailed | ErrorKind::Ended => {
                "check the disk, then open the database again: it has all that was acknowledged"
            }
            ErrorKind::Other => "check the disk and the permissions of the directory",
        }
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot {} `{}`", self.operation.words(), self.path)?;
        if let Some(offset) = self.offset {
            write!(formatter, " at byte {offset}")?;
        }
        write!(formatter, ": {}; {}", self.reason, self.advice())
    }
}

impl std::error::Error for DiskError {}
