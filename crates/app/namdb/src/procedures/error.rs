//! What goes wrong, in sentences.

use crate::config;
use crate::error::counted;
use folder_benchmark::FolderError;
use txn::{Abort, TxnError};
use workload::WorkloadError;

/// Why a call did not commit.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// It was not made: an argument is missing.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// Nothing of it took effect, since it met others too often, or memory or a memory server is missing.
    #[error("the transaction was aborted after {}: {reason}", counted(*retries + 1, "attempt"))]
    Aborted {
        /// Of its last attempt; [`Abort::is_retryable`] tells whether it was contention.
        reason: Abort,
        /// Attempts beyond the first.
        retries: u32,
    },
    /// Nothing of it took effect: the procedure ended with an error, as it would in PostgreSQL.
    #[error("{message} (SQLSTATE {sqlstate})")]
    Refused {
        /// The error's code, five characters.
        sqlstate: String,
        /// Its sentence.
        message: String,
    },
    /// It may have taken effect or not: a memory server was lost at the wrong moment.
    #[error(
        "it is not known whether the transaction took effect: a memory server was lost while it committed"
    )]
    Unknown,
    /// Nothing of it took effect: the engine refused a statement, which no other attempt changes.
    #[error(transparent)]
    Statement(TxnError),
    /// Nothing of it took effect: the session has no lane to run it.
    #[error("{0}")]
    NoLane(String),
}

/// Something that a program has asked for and cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// There is no such procedure.
    #[error("there is no procedure {name}; the workload has {known}")]
    NoProcedure {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There is no such parameter.
    #[error("procedure {procedure} has no parameter {name}; it has {known}")]
    NoParameter {
        /// The procedure.
        procedure: String,
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There are fewer parameters.
    #[error(
        "procedure {procedure} has no parameter at position {position}: it has {count}, counted from 0"
    )]
    NoPosition {
        /// The procedure.
        procedure: String,
        /// What was asked for.
        position: usize,
        /// How many there are.
        count: usize,
    },
    /// A parameter takes no such value.
    #[error("parameter {parameter} of {procedure} is {wanted}, and takes no {given}")]
    WrongArgument {
        /// The procedure.
        procedure: String,
        /// The parameter.
        parameter: String,
        /// Its type.
        wanted: String,
        /// The value's.
        given: &'static str,
    },
    /// A parameter has no value.
    #[error("parameter {parameter} of {procedure} has no value; bind one before the call is made")]
    Unbound {
        /// The procedure.
        procedure: String,
        /// The parameter.
        parameter: String,
    },
    /// There is no such column.
    #[error("the rows of {procedure} have no column {name}; they have {known}")]
    NoColumn {
        /// The procedure.
        procedure: String,
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There is no such value.
    #[error(
        "there is no value in row {row}, column {column}: the call has given {rows} rows of {columns} columns, counted from 0"
    )]
    NoValue {
        /// The row that was asked for.
        row: usize,
        /// The column.
        column: usize,
        /// Rows that there are.
        rows: usize,
        /// Columns that there are.
        columns: usize,
    },
    /// A value is of another type.
    #[error("column {column} is {sql_type}, which cannot be read as {wanted}; as text it can")]
    WrongColumn {
        /// The column.
        column: String,
        /// Its type.
        sql_type: String,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A text is none.
    #[error(
        "column {column} has bytes that are no UTF-8, which no procedure stores: the row was damaged, or written by other means"
    )]
    NoText {
        /// The column.
        column: String,
    },
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenFailure {
    /// The folder is not in order.
    #[error("the workload folder {folder} cannot be used: {error}")]
    Folder {
        /// Which.
        folder: String,
        /// What is wrong with it.
        error: Box<FolderError>,
    },
    /// Memory servers of this process cannot be had.
    #[error(transparent)]
    Open(#[from] config::OpenError),
    /// There is less memory than the tables take.
    #[error(
        "the tables take about {needed_mib} MiB, and there are {there_mib} MiB; take fewer units of scale, or say how much memory \
         they may have"
    )]
    TooLarge {
        /// What they take.
        needed_mib: u64,
        /// What there is.
        there_mib: u64,
    },
    /// Tables were said to be there, where nothing has been made.
    #[error(
        "the tables were said to be there already, and only a cluster has tables that others have made; name the cluster's file, or \
         let the tables be made"
    )]
    NoCluster,
    /// Tables cannot be made.
    #[error("the tables of the workload cannot be made: {0}")]
    Tables(WorkloadError),
    /// Tables cannot be filled.
    #[error("the tables of the workload cannot be loaded: {0}")]
    Load(WorkloadError),
    /// Tables are missing, or are not those of the workload.
    #[error("{0}")]
    Procedures(#[from] procedure_runtime::OpenError),
    /// The cluster cannot be joined, or refuses what was asked of it.
    #[error("the cluster of {file} cannot be used: {fault}")]
    Cluster {
        /// Its file.
        file: String,
        /// Why.
        fault: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The memory servers cannot be reached from this thread.
    #[error("no session can be had: {0}")]
    Session(Box<dyn std::error::Error + Send + Sync>),
}
