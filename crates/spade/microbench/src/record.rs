//! Saves measurements to a file, so that an interrupted run can continue.
//!
//! Decision: docs/decisions/0192-measured-points-contain-demands-not-only-rates.md

use rustix::fs::{FlockOperation, flock};
use spade_format::measurement::{MeasurementError, Measurements, Parameters, Point, Version};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    all: Measurements,
    /// Points of this run. Another run may have changed the others in the file.
    own: Measurements,
    /// The state in which this run has left the file.
    left: Option<FileState>,
}

/// Identifies a version of the file: it differs when another file has replaced it.
type FileState = (u64, u64, u64, i64);

/// Why measurements cannot be loaded or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    #[error("cannot read {}: {error}", .path.display())]
    Read { path: PathBuf, error: std::io::Error },
    /// The file contains something else.
    #[error("{} cannot be continued: {error}; name another file", .path.display())]
    Content { path: PathBuf, error: MeasurementError },
    #[error("cannot write {}: {error}", .path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

impl Record {
    /// Loads the file, which need not exist, and checks that it can be written.
    ///
    /// # Errors
    /// The file cannot be read or written, or does not contain measurements of this format.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let all = match std::fs::read_to_string(path) {
            Ok(text) => Measurements::parse(&text)
                .map_err(|error| RecordError::Content { path: path.to_owned(), error })?,
            Err(error) if error.kind() == ErrorKind::NotFound => Measurements::default(),
            Err(error) => return Err(RecordError::Read { path: path.to_owned(), error }),
        };
        let own = Measurements::default();
        let mut record = Self { path: path.to_owned(), all, own, left: None };
        record.write()?;
        Ok(record)
    }

    pub fn measurements(&self) -> &Measurements {
        &self.all
    }

    /// Whether a point is measured already.
    pub fn has(&self, parameters: &Parameters, version: &Version) -> bool {
        self.all.has(parameters, version)
    }

    /// Saves points, atomically with respect to readers and crashes. Points that another run has
    /// added to the file are kept.
    ///
    /// # Errors
    /// The file cannot be written; it is then unchanged.
    pub fn keep(&mut self, points: impl IntoIterator<Item = Point>) -> Result<(), RecordError> {
        for point in points {
            self.own.put(point.clone());
            self.all.put(point);
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), RecordError> {
        // Lock the folder, or two concurrent runs would overwrite each other's points. On file
        // systems without locks, runs must not overlap.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let turn = File::open(folder.unwrap_or(Path::new("."))).ok();
        if let Some(folder) = &turn {
            let _ = flock(folder, FlockOperation::LockExclusive);
        }
        self.take_others();
        let beside = self.beside();
        let written = (|| {
            let mut file = File::create(&beside)?;
            file.write_all(self.all.json().as_bytes())?;
            // Otherwise a crash could leave the new name without the content.
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        })();
        if written.is_err() {
            // A partial file is useless, and takes space where there may be none.
            let _ = std::fs::remove_file(&beside);
        }
        self.left = self.state();
        drop(turn);
        written.map_err(|error| RecordError::Write { path: self.path.clone(), error })
    }

    /// Reloads the file if another run has changed it.
    fn take_others(&mut self) {
        if self.left.is_none() || self.left == self.state() {
            return;
        }
        let text = std::fs::read_to_string(&self.path).ok();
        let Some(mut all) = text.and_then(|text| Measurements::parse(&text).ok()) else { return };
        self.own.points().iter().for_each(|point| all.put(point.clone()));
        self.all = all;
    }

    fn state(&self) -> Option<FileState> {
        let found = std::fs::metadata(&self.path).ok()?;
        Some((found.dev(), found.ino(), found.len(), found.mtime_nsec()))
    }

    /// Returns the path of the new file before it is renamed.
    fn beside(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        self.path.with_file_name(name)
    }
}
