//! Errors of procedure calls and of opening a database.

use crate::config;
use crate::error::counted;
use folder_benchmark::FolderError;
use txn::{Abort, TxnError};
use workload::WorkloadError;

/// Why a call did not commit.
///
/// ```no_run
/// # use namdb::procedures::{Database, Options};
/// # let database = Database::open("workloads/tatp", &Options::default())?;
/// # let session = database.session()?;
/// # let mut call = session.call("get_subscriber_data")?;
/// use namdb::procedures::CallFailure;
///
/// match call.bind(0, 7)?.execute() {
///     Ok(rows) => println!("{} rows", rows.len()),
///     Err(CallFailure::Refused { message, .. }) => println!("refused: {message}"),
///     Err(failure) => return Err(failure.into()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// The call was not executed: it was used wrongly, such as with an argument missing.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// The call had no effect: too many conflicts, or memory or a memory server is missing.
    #[error("the transaction was aborted after {}: {reason}", counted(*retries + 1, "attempt"))]
    Aborted {
        /// Why the last attempt aborted; [`Abort::is_retryable`] says whether it was a conflict.
        reason: Abort,
        /// Number of retries.
        retries: u32,
    },
    /// The call had no effect: the procedure raised an error, as it would in PostgreSQL.
    #[error("{message} (SQLSTATE {sqlstate})")]
    Refused {
        /// Five-character error code.
        sqlstate: String,
        /// The error's message.
        message: String,
    },
    /// The outcome is unknown: a memory server was lost while the transaction committed.
    #[error(
        "it is not known whether the transaction took effect: a memory server was lost while it committed"
    )]
    Unknown,
    /// The call had no effect: the engine rejected a statement, and a retry would not help.
    #[error(transparent)]
    Statement(TxnError),
    /// The call had no effect: the session could not get a lane.
    #[error("{0}")]
    NoLane(String),
}

/// A wrong use of the interface.
///
/// ```no_run
/// # use namdb::procedures::{Database, Options};
/// # let database = Database::open("workloads/tatp", &Options::default())?;
/// # let session = database.session()?;
/// use namdb::procedures::Misuse;
///
/// assert!(matches!(session.call("get_nothing"), Err(Misuse::NoProcedure { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The workload has no such procedure.
    #[error("there is no procedure {name}; the workload has {known}")]
    NoProcedure {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// The procedure has no such parameter.
    #[error("procedure {procedure} has no parameter {name}; it has {known}")]
    NoParameter {
        /// Name of the procedure.
        procedure: String,
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// The procedure has fewer parameters.
    #[error(
        "procedure {procedure} has no parameter at position {position}: it has {count}, counted from 0"
    )]
    NoPosition {
        /// Name of the procedure.
        procedure: String,
        /// The requested position.
        position: usize,
        /// Number of parameters.
        count: usize,
    },
    /// The parameter does not accept the value.
    #[error("parameter {parameter} of {procedure} is {wanted}, and takes no {given}")]
    WrongArgument {
        /// Name of the procedure.
        procedure: String,
        /// Name of the parameter.
        parameter: String,
        /// The parameter's type.
        wanted: String,
        /// The value's type.
        given: &'static str,
    },
    /// A parameter without a default has no value.
    #[error("parameter {parameter} of {procedure} has no value; bind one before the call is made")]
    Unbound {
        /// Name of the procedure.
        procedure: String,
        /// Name of the parameter.
        parameter: String,
    },
    /// The procedure's rows have no such column.
    #[error("the rows of {procedure} have no column {name}; they have {known}")]
    NoColumn {
        /// Name of the procedure.
        procedure: String,
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// The row or column is out of range.
    #[error(
        "there is no value in row {row}, column {column}: the call has given {rows} rows of {columns} columns, counted from 0"
    )]
    NoValue {
        /// The requested row.
        row: usize,
        /// The requested column.
        column: usize,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// The column has another type.
    #[error("column {column} is {sql_type}, which cannot be read as {wanted}; as text it can")]
    WrongColumn {
        /// Name of the column.
        column: String,
        /// The column's type.
        sql_type: String,
        /// The requested type.
        wanted: &'static str,
    },
    /// The column's bytes are not valid UTF-8.
    #[error(
        "column {column} has bytes that are no UTF-8, which no procedure stores: the row was damaged, or written by other means"
    )]
    NoText {
        /// Name of the column.
        column: String,
    },
}

/// Why a database cannot be opened.
///
/// ```
/// use namdb::procedures::{Database, Options};
///
/// if let Err(failure) = Database::open("no/such/folder", &Options::default()) {
///     println!("{failure}");
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenFailure {
    /// The workload folder is invalid.
    #[error("the workload folder {folder} cannot be used: {error}")]
    Folder {
        /// Path of the folder.
        folder: String,
        /// The error found in it.
        error: Box<FolderError>,
    },
    /// The memory servers of this process cannot be started.
    #[error(transparent)]
    Open(#[from] config::OpenError),
    /// The tables need more memory than is available.
    #[error(
        "the tables take about {needed_mib} MiB, but {there_mib} MiB are available; reduce the units of scale, or \
         set the memory for the tables"
    )]
    TooLarge {
        /// Memory that the tables need.
        needed_mib: u64,
        /// Memory that is available.
        there_mib: u64,
    },
    /// [`Tables::Present`](super::Tables::Present) was given without a cluster.
    #[error(
        "tables that exist already need a cluster, since this process creates its tables in this call; set the \
         cluster's file, or have the tables created"
    )]
    NoCluster,
    /// The tables cannot be created.
    #[error("the tables of the workload cannot be created: {0}")]
    Tables(WorkloadError),
    /// The tables cannot be loaded.
    #[error("the tables of the workload cannot be loaded: {0}")]
    Load(WorkloadError),
    /// The tables are missing or do not match the workload.
    #[error("{0}")]
    Procedures(#[from] procedure_runtime::OpenError),
    /// The cluster cannot be joined, or rejects a request.
    #[error("the cluster of {file} cannot be used: {fault}")]
    Cluster {
        /// Path of the cluster's file.
        file: String,
        /// The reason.
        fault: Box<dyn std::error::Error + Send + Sync>,
    },
    /// This thread cannot connect to the memory servers.
    #[error("cannot open a session: {0}")]
    Session(Box<dyn std::error::Error + Send + Sync>),
}
