//! Errors of the log: of the disk, and damage of its files.

use crate::position::DatabaseId;
use std::fmt;
use storage::DiskError;

/// A part of the log that is not as it was written, although it was synced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The file.
    pub path: String,
    /// Its first byte that cannot be trusted.
    pub offset: u64,
    /// The first byte behind it that is intact; the end of the file if none is.
    pub until: u64,
    /// The last group of commits before it.
    pub last_group: u64,
    /// The last group of commits that the log is known to have had.
    pub newest_group: u64,
    /// The first group whose loss can be accepted is the one behind this.
    pub needed_group: u64,
    /// Segments behind this one.
    pub later_segments: u64,
    /// The sentence that says what is wrong there.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, until, last_group, newest_group, .. } = self;
        write!(formatter, "`{path}` is damaged at byte {offset}")?;
        if until > offset {
            write!(formatter, " (up to byte {until})")?;
        }
        write!(formatter, ": {}; the log is intact up to group {last_group}", self.what)?;
        if newest_group > last_group {
            write!(formatter, ", and had group {newest_group}")?;
        }
        if self.later_segments > 0 {
            write!(formatter, " and {} later files", self.later_segments)?;
        }
        formatter.write_str("; restore the file from a copy, or the database from a backup")?;
        if self.is_acceptable() {
            return formatter.write_str(
                ", or open it with `accept_loss` to continue without the commits behind that group",
            );
        }
        let needed = self.needed_group;
        write!(
            formatter,
            "; `accept_loss` cannot help, since the newest checkpoint has rows up to group {needed}"
        )
    }
}

impl Damage {
    /// Whether the log before the damage is a consistent database.
    pub fn is_acceptable(&self) -> bool {
        self.last_group >= self.needed_group
    }
}

/// A part of the log that is gone because the caller accepted it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    pub damage: Damage,
    /// The files that were renamed, each with its new name.
    pub renamed: Vec<(String, String)>,
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { path, offset, last_group, newest_group, .. } = &self.damage;
        write!(formatter, "commits behind group {last_group} are gone")?;
        if newest_group > last_group {
            write!(formatter, " (the log had group {newest_group})")?;
        }
        write!(formatter, ": `{path}` ends at byte {offset} or before")?;
        for (from, to) in &self.renamed {
            write!(formatter, ", `{from}` is now `{to}`")?;
        }
        Ok(())
    }
}

/// An error of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogError {
    Disk(DiskError),
    Damaged(Damage),
    /// The directory has a log already.
    Exists {
        path: String,
    },
    /// The file belongs to another database.
    OtherDatabase {
        path: String,
        expected: DatabaseId,
        found: DatabaseId,
    },
    /// The file was written by another version of the program.
    Format {
        path: String,
        found: u32,
    },
    /// A group commit was not awaited to its end, so that its result is unknown.
    Interrupted,
}

impl From<DiskError> for LogError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl LogError {
    /// Whether the disk is full: the same operation may succeed when there is room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Disk(error) if error.is_full())
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => error.fmt(formatter),
            Self::Damaged(damage) => damage.fmt(formatter),
            Self::Exists { path } => write!(
                formatter,
                "`{path}` has commits already; open the database instead of creating it, or choose \
                 another directory"
            ),
            Self::OtherDatabase { path, expected, found } => write!(
                formatter,
                "`{path}` belongs to database {found}, not to {expected}; restore this database's \
                 own file"
            ),
            Self::Format { path, found } => write!(
                formatter,
                "`{path}` has format {found}, this program reads {}; use the version that wrote it",
                crate::segment::FORMAT_VERSION
            ),
            Self::Interrupted => formatter.write_str(
                "a group commit was interrupted, so its result is unknown; open the database again",
            ),
        }
    }
}

impl std::error::Error for LogError {}
