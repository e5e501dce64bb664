//! Errors of transactions: every end other than a commit.

use txn::{Abort, LaneError, TxnError, UniqueViolation};

/// Why a transaction did not commit, or may not have committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The transaction had no effect. [`Abort::is_retryable`] says whether a retry can help.
    #[error("the transaction was aborted after {}: {reason}", counted(*attempts, "attempt"))]
    Aborted {
        /// Why the last attempt aborted.
        reason: Abort,
        /// Number of attempts made.
        attempts: u32,
    },
    /// The transaction had no effect: another row has the same key in a unique index.
    #[error("the transaction was aborted: {0}")]
    UniqueViolation(UniqueViolation),
    /// The transaction may have committed, so a retry may apply it twice. Read the rows first to
    /// find out.
    #[error("the outcome of the transaction is unknown: it may have committed or not")]
    Unknown,
    /// A statement failed and the closure returned its error; the transaction was rolled back.
    #[error(transparent)]
    Statement(TxnError),
    /// Other transactions used all lanes for the whole wait.
    #[error(
        "no lane became free within {waited_ms} ms; raise `lanes`, or keep transactions shorter"
    )]
    Busy {
        /// Duration of the wait in milliseconds.
        waited_ms: u64,
    },
    /// No further lane could be opened.
    #[error("no lane could be opened: {0}")]
    Lane(#[from] LaneError),
    /// This thread could not connect to the memory servers of its cluster.
    #[error("cannot connect to the memory servers: {0}")]
    Connection(String),
    /// The cluster has lost a memory server, or this process has lost its lease. This transaction
    /// had no effect, and no further one of this [`Db`](crate::Db) can run.
    #[error("{0}")]
    ClusterLost(String),
    /// This program already runs as many transactions as it may over shared memory.
    #[error(
        "this program already runs {transactions} transactions, the most over shared memory, and none ended within \
         {waited_ms} ms; keep transactions shorter"
    )]
    ProgramBusy {
        /// Largest number of transactions at a time.
        transactions: u32,
        /// Duration of the wait in milliseconds.
        waited_ms: u64,
    },
    /// Other programs have all slots of the cluster. Each lane needs one.
    #[error(
        "all {slots} slots of the cluster are taken, and none became free within {waited_ms} ms; end programs or \
         threads that do not need theirs"
    )]
    SlotsTaken {
        /// Slots of the cluster.
        slots: u32,
        /// Duration of the wait in milliseconds.
        waited_ms: u64,
    },
    /// The closure panicked on its engine thread, which therefore sent no answer.
    #[error("the closure panicked on its engine thread; the transaction was rolled back")]
    Panicked,
}

/// A number with its noun in the singular or the plural.
pub(crate) fn counted(count: u32, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

impl TransactionError {
    /// Reports exhausted lanes as exhausted slots of the cluster.
    pub(crate) fn in_cluster(self, waited_ms: u64) -> Self {
        match self {
            Self::Lane(LaneError::Exhausted(slots)) => Self::SlotsTaken { slots, waited_ms },
            other => other,
        }
    }

    /// The reason, if the transaction aborted.
    pub fn abort(&self) -> Option<Abort> {
        match self {
            Self::Aborted { reason, .. } => Some(*reason),
            Self::UniqueViolation(_) => Some(Abort::UniqueViolation),
            _ => None,
        }
    }
}
