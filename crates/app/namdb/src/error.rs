//! Errors of transactions: every end other than a commit.

use layout::SchemaError;
use txn::{Abort, CatalogError, LaneError, TxnError, UniqueViolation};

/// The result of a statement, or of a transaction without errors of its own.
///
/// ```
/// fn first(session: &mut namdb::Session) -> namdb::Result<()> {
///     session.begin(namdb::Isolation::Snapshot)?.commit()
/// }
/// ```
pub type Result<T, E = TransactionError> = std::result::Result<T, E>;

/// `Ok` of a [`Result`], for closures whose error type the compiler cannot infer:
///
/// ```
/// use namdb::{Config, Isolation, Retry};
///
/// let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let sum = db.session().transaction(Isolation::Snapshot, Retry::default(), |_txn| {
///     namdb::Ok(1 + 2)
/// })?;
/// assert_eq!(sum, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[expect(non_snake_case, reason = "it is used like the variant")]
pub fn Ok<T>(value: T) -> Result<T> {
    Result::Ok(value)
}

/// Why a statement failed, or why a transaction did not commit or may not have committed.
///
/// An application's own error type is built from it:
///
/// ```
/// #[derive(Debug)]
/// enum TransferError {
///     NoFunds { balance: i64 },
///     Database(namdb::TransactionError),
/// }
///
/// impl From<namdb::TransactionError> for TransferError {
///     fn from(error: namdb::TransactionError) -> Self {
///         Self::Database(error)
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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
    UniqueViolation(Box<UniqueViolation>),
    /// A row with this key exists already. Only the statement failed: the transaction may go on.
    #[error(transparent)]
    DuplicateKey(Box<DuplicateKey>),
    /// The transaction may have committed, so a retry may apply it twice. Read the rows first to
    /// find out.
    #[error("the outcome of the transaction is unknown: it may have committed or not")]
    Unknown,
    /// The transaction had no effect, because the directory could not take its commit, such as on a
    /// full disk. Reads go on.
    #[error("the transaction was rolled back: {0}")]
    Refused(Box<str>),
    /// The transaction has committed in memory, or has read such commits, but whether they are on
    /// the disk is unknown.
    #[error("the transaction may be lost: {0}")]
    NotDurable(Box<str>),
    /// A statement failed: a value does not fit its column, or a table does not exist. The
    /// transaction may go on, unless [`TransactionError::abort`] returns a reason.
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

/// An insert whose key another row has.
///
/// ```
/// # use namdb::{Isolation, Record, RecordTable, Storage, record};
/// # record! {
/// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
/// #     index by_size(inhabitants);
/// # }
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
/// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
/// # let mut session = db.session();
/// # let mut txn = session.begin(Isolation::Serializable)?;
/// txn.insert(cities, &ghent)?;
/// match txn.insert(cities, &ghent) {
///     Err(namdb::TransactionError::DuplicateKey(twice)) => {
///         assert_eq!(twice.key, "name = \"Ghent\"");
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("table {table} already has a row with {key}; update it, or use upsert")]
#[non_exhaustive]
pub struct DuplicateKey {
    /// Name of the table.
    pub table: String,
    /// The key's fields and their values, as their types' `Debug` shows them: `name = "Ghent"`. The
    /// columns with values as in SQL, `name = 'Ghent'`, if no
    /// [`RecordTable`](crate::RecordTable) was opened for the table.
    pub key: String,
}

// Results carry it through every statement.
const _: () = assert!(size_of::<TransactionError>() <= 40);

impl From<Abort> for TransactionError {
    fn from(reason: Abort) -> Self {
        Self::Aborted { reason, attempts: 1 }
    }
}

impl From<TxnError> for TransactionError {
    fn from(error: TxnError) -> Self {
        match error {
            TxnError::Abort(reason) => reason.into(),
            error => Self::Statement(error),
        }
    }
}

impl From<SchemaError> for TransactionError {
    fn from(error: SchemaError) -> Self {
        Self::Statement(error.into())
    }
}

impl From<CatalogError> for TransactionError {
    fn from(error: CatalogError) -> Self {
        Self::Statement(error.into())
    }
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

    /// The reason, if the transaction has ended without effect.
    ///
    /// ```
    /// use namdb::{Abort, TransactionError};
    ///
    /// let error = TransactionError::Aborted { reason: Abort::WriteConflict, attempts: 1 };
    /// assert!(error.abort().is_some_and(Abort::is_retryable));
    /// assert_eq!(TransactionError::Unknown.abort(), None);
    /// ```
    pub fn abort(&self) -> Option<Abort> {
        match self {
            Self::Statement(error) => error.abort(),
            Self::Aborted { reason, .. } => Some(*reason),
            Self::UniqueViolation(_) => Some(Abort::UniqueViolation),
            _ => None,
        }
    }
}
