//! The outcomes of a transaction, and the errors of a statement.
//!
//! Decisions:
//! - docs/decisions/0170-a-duplicate-key-behind-a-kept-leaf-is-reported-at-the-next.md
//! - docs/decisions/0258-results-travel-in-registers-and-values-are-built-where-they.md

use crate::catalog::CatalogError;
use crate::read::access::RowId;
use crate::recovery::JournalError;
use fabric::{CallError, FabricError};
use index::{Damage, IndexError};
use layout::SchemaError;
use memory::AllocateError;

/// The end of a commit. After `Unknown` the transaction may or may not have taken effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every write is installed and visible.
    Committed,
    /// No write took effect.
    Aborted(Abort),
    /// A failure after the point of no return: recovery decides.
    Unknown,
}

/// Why a transaction had no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Abort {
    /// Another transaction has locked a row of the write set, or changed it after the snapshot:
    /// first committer wins.
    WriteConflict,
    /// Another transaction has locked or changed the bucket or leaf of an insert.
    InsertConflict,
    /// Serializable only: a row of the read set has changed.
    ReadValidation,
    /// The snapshot needs a version that was collected: the transaction ran longer than E.
    SnapshotTooOld,
    /// No two reads of the timestamp vector agreed within the bound.
    SnapshotUnavailable,
    /// Snapshots still need all old versions of a row, and there is no room for another.
    VersionBufferFull,
    /// A bounded retry loop inside the engine reached its bound.
    Contended,
    /// A table or index was dropped, or the catalog changed under the transaction.
    CatalogChanged,
    /// Memory servers are full.
    OutOfMemory,
    /// A memory server could not be reached before the point of no return.
    Unreachable,
    /// A unique index has an entry for another row with the same key.
    UniqueViolation,
    /// The transaction exceeds the maximal number of rows or bytes that it may write.
    TooLarge,
    /// Remote memory is damaged: a memory server has lost data.
    Damaged,
    /// The caller rolled back.
    User,
}

impl Abort {
    /// All reasons, in the order of reports.
    pub const ALL: &'static [Self] = &[
        Self::WriteConflict,
        Self::InsertConflict,
        Self::ReadValidation,
        Self::SnapshotTooOld,
        Self::SnapshotUnavailable,
        Self::VersionBufferFull,
        Self::Contended,
        Self::CatalogChanged,
        Self::OutOfMemory,
        Self::Unreachable,
        Self::UniqueViolation,
        Self::TooLarge,
        Self::Damaged,
        Self::User,
    ];

    /// The reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteConflict => "write_conflict",
            Self::InsertConflict => "insert_conflict",
            Self::ReadValidation => "read_validation",
            Self::SnapshotTooOld => "snapshot_too_old",
            Self::SnapshotUnavailable => "snapshot_unavailable",
            Self::VersionBufferFull => "version_buffer_full",
            Self::Contended => "contended",
            Self::CatalogChanged => "catalog_changed",
            Self::OutOfMemory => "out_of_memory",
            Self::Unreachable => "unreachable",
            Self::UniqueViolation => "unique_violation",
            Self::TooLarge => "too_large",
            Self::Damaged => "damaged",
            Self::User => "user",
        }
    }

    /// Whether a retry of the same transaction may succeed.
    pub const fn is_retryable(self) -> bool {
        !matches!(
            self,
            Self::User
                | Self::OutOfMemory
                | Self::Unreachable
                | Self::UniqueViolation
                | Self::TooLarge
                | Self::Damaged
        )
    }

    /// The reason's position in [`Abort::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Abort {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::WriteConflict => "another transaction wrote the same row first",
            Self::InsertConflict => "another transaction inserts into the same bucket or leaf",
            Self::ReadValidation => "a row that was read has changed since",
            Self::SnapshotTooOld => {
                "the snapshot is too old, its versions were collected; run shorter transactions"
            }
            Self::SnapshotUnavailable => "no consistent snapshot could be read",
            Self::VersionBufferFull => "a row has too many versions that are still needed",
            Self::Contended => "too many retries inside the engine",
            Self::CatalogChanged => "a table or index changed under the transaction",
            Self::OutOfMemory => "the memory servers are full",
            Self::Unreachable => "a memory server cannot be reached",
            Self::UniqueViolation => "another row has the same key in a unique index",
            Self::TooLarge => {
                "it writes more than 512 MiB out of line, or needs more than 1.5 GiB to commit; \
                 use several transactions"
            }
            Self::Damaged => "remote memory is damaged: a memory server has lost data",
            Self::User => "rolled back by the caller",
        })
    }
}

/// The error of a call inside a transaction. It is small, because results carry it through every
/// step of a transaction. Its discriminant has four bytes: with one byte, each move of a result
/// would also copy the three padding bytes behind it, and wait for them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[repr(u32)]
pub enum TxnError {
    /// The transaction has ended without effect.
    #[error("transaction aborted: {0}")]
    Abort(Abort),
    /// A row with this key exists. Only the statement failed.
    #[error("table {table} already holds a row with this key")]
    DuplicateKey { table: String },
    /// No table or index has this name, or it is of another kind.
    #[error(transparent)]
    Catalog(Box<CatalogError>),
    /// A value does not fit its column.
    #[error(transparent)]
    Schema(Box<SchemaError>),
    /// Memory servers are full; the transaction has ended.
    #[error("{0}")]
    OutOfMemory(String),
    /// The transaction reads or writes more than the maximum.
    #[error("the transaction is too large: {0}")]
    TooLarge(&'static str),
    /// A read returned an impossible value; the transaction has ended.
    #[error("remote memory is damaged: {0}")]
    Damaged(Damage),
}

const _: () = assert!(size_of::<TxnError>() <= 32);
// The discriminant of a statement's result fits in the padding of the error.
const _: () = assert!(size_of::<Result<Option<RowId>, TxnError>>() <= 32);

impl From<CatalogError> for TxnError {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(Box::new(error))
    }
}

impl From<SchemaError> for TxnError {
    fn from(error: SchemaError) -> Self {
        Self::Schema(Box::new(error))
    }
}

impl From<Abort> for TxnError {
    fn from(abort: Abort) -> Self {
        Self::Abort(abort)
    }
}

impl From<FabricError> for TxnError {
    fn from(_: FabricError) -> Self {
        Self::Abort(Abort::Unreachable)
    }
}

impl From<CallError> for TxnError {
    fn from(_: CallError) -> Self {
        Self::Abort(Abort::Unreachable)
    }
}

/// A server that cannot be called may have room.
impl From<AllocateError> for Abort {
    fn from(error: AllocateError) -> Self {
        match error {
            AllocateError::Call(_) => Self::Unreachable,
            _ => Self::OutOfMemory,
        }
    }
}

impl From<JournalError> for Abort {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Fabric(_) => Self::Unreachable,
            JournalError::Allocate(error) => error.into(),
        }
    }
}

impl From<AllocateError> for TxnError {
    fn from(error: AllocateError) -> Self {
        match error {
            AllocateError::Call(error) => error.into(),
            other => Self::OutOfMemory(other.to_string()),
        }
    }
}

impl From<IndexError> for TxnError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Conflict => Self::Abort(Abort::InsertConflict),
            IndexError::OutOfMemory(sentence) => Self::OutOfMemory(sentence),
            IndexError::Fabric(error) => error.into(),
            IndexError::Call(error) => error.into(),
            IndexError::Damaged(damage) => Self::Damaged(damage),
            _ => Self::Abort(Abort::Contended),
        }
    }
}

impl TxnError {
    /// The abort reason, if the error ended the transaction.
    pub fn abort(&self) -> Option<Abort> {
        match self {
            Self::Abort(abort) => Some(*abort),
            Self::OutOfMemory(_) => Some(Abort::OutOfMemory),
            Self::Damaged(_) => Some(Abort::Damaged),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_their_index_and_a_unique_name() {
        for (index, abort) in Abort::ALL.iter().enumerate() {
            assert_eq!(abort.index(), index);
            let same_name = Abort::ALL.iter().filter(|other| other.name() == abort.name());
            assert_eq!(same_name.count(), 1);
        }
    }
}
