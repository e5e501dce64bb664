//! Writes generated files to a folder.

use crate::format::{FormatError, formatted};
use crate::workload::Generated;
use sql::file::replace;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// First lines of generated files.
const MARKS: [&str; 3] =
    ["//! Procedure `", "//! Workload `", "//! Tables and indexes by their numbers"];

/// Why files could not be written or compared.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// rustfmt failed.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A file or folder is not accessible.
    #[error("{path} cannot be {what}: {error}")]
    File {
        path: String,
        /// The failed operation.
        what: &'static str,
        error: io::Error,
    },
}

/// The differences between a folder and the generated files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Files that are missing or differ.
    pub changed: Vec<String>,
    /// Rust files that are no longer generated.
    pub removed: Vec<String>,
    /// Number of unchanged files.
    pub same: usize,
}

impl Changes {
    /// Whether the folder is up to date.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Writes the generated files to `folder`, or with `checks_only` only lists what would change. Rust
/// files that are no longer generated are removed if their first line says that they were
/// generated; other files are left alone.
///
/// # Errors
///
/// See [`FolderError`].
pub fn write(
    folder: &Path,
    generated: &Generated,
    checks_only: bool,
) -> Result<Changes, FolderError> {
    let mut changes = Changes::default();
    let mut wanted = BTreeSet::new();
    if !checks_only {
        std::fs::create_dir_all(folder).map_err(|error| failure(folder, "made", error))?;
    }
    for file in &generated.files {
        let path = folder.join(&file.name);
        let text = formatted(&file.text)?;
        wanted.insert(path.clone());
        if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
            changes.same += 1;
            continue;
        }
        changes.changed.push(file.name.clone());
        if !checks_only {
            replace(&path, text.as_bytes()).map_err(|error| failure(&path, "written", error))?;
        }
    }
    for path in rust_files(folder)? {
        if !wanted.contains(&path) && is_ours(&path) {
            changes
                .removed
                .extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            if !checks_only {
                std::fs::remove_file(&path).map_err(|error| failure(&path, "removed", error))?;
            }
        }
    }
    Ok(changes)
}

/// Whether a file begins like a generated one.
fn is_ours(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    MARKS.iter().any(|mark| first.starts_with(mark))
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failure(folder, "read", error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failure(folder, "read", error))?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

pub(crate) fn failure(path: &Path, what: &'static str, error: io::Error) -> FolderError {
    FolderError::File { path: path.display().to_string(), what, error }
}
