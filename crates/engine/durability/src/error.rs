//! Errors of a database's directory: what is wrong, where, and what to do.

use crate::acknowledgement::Refusal;
use redo_log::LogError;
use storage::DiskError;
use txn::CatalogError;

/// The result of an operation on a directory.
pub type Result<T> = std::result::Result<T, DurabilityError>;

/// Reasons why a directory cannot be opened or written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DurabilityError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A file is not what was written.
    #[error(
        "`{path}` is damaged at byte {offset}: {what}; restore the file from a copy, or the \
         database from a backup"
    )]
    Damaged { path: String, offset: u64, what: &'static str },
    /// The file was written by another version of the program.
    #[error(
        "`{path}` has format {found}, this program reads {expected}; use the version that wrote it"
    )]
    Format { path: String, found: u32, expected: u32 },
    /// The database keeps its data in memory only.
    #[error("the database has no directory; open it with `Config::directory`")]
    NoDirectory,
    /// The database was opened at a level that logs nothing.
    #[error(
        "a database at the level `None` has no redo log and no checkpoints; open it with another \
         `Config::durability`"
    )]
    NotLogged,
    /// The directory has no control file.
    #[error("`{directory}` has no database: the file `control` is missing")]
    NoDatabase { directory: String },
    /// Checkpoints followed each other faster than they could be copied.
    #[error("`{directory}` changes faster than it can be copied; try again at a quieter time")]
    Busy { directory: String },
    /// The directory has files that are not of a database.
    #[error(
        "`{directory}` has no database, but other files, such as `{file}`; choose an empty \
         directory"
    )]
    NotEmpty { directory: String, file: String },
    /// The directory of a copy has a database.
    #[error("`{directory}` has a database already; choose an empty directory")]
    HasDatabase { directory: String },
    /// The definition of a table cannot be used.
    #[error("the control file has a definition of table {table} that cannot be used: {reason}")]
    Table { table: String, reason: String },
    /// The entries of a row contradict each other.
    #[error(
        "the redo log contradicts itself about a row of table {table}: {what}; restore the \
         database from a backup"
    )]
    Contradiction { table: String, what: &'static str },
    /// The flusher cannot acknowledge anything.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The rows do not fit into memory, or transactions of the restart fail again and again.
    #[error("table {table} cannot be loaded: {reason}")]
    Load { table: String, reason: String },
}
