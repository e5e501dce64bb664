//! The file that measurements are kept in, so that a run that was ended goes on where it was.

use rustix::fs::{FlockOperation, flock};
use spade_format::measurement::{MeasurementError, Measurements, Parameters, Point, Version};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Measurements and their file.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    all: Measurements,
    /// Points of this run. Others are the file's, which another run may have changed.
    own: Measurements,
    /// The file as this run has left it.
    left: Option<FileState>,
}

/// What tells a file from the one that takes its place.
type FileState = (u64, u64, u64, i64);

/// Why measurements cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The file holds something else.
    #[error("{} cannot be continued: {error}; name another file", .path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: MeasurementError,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}

impl Record {
    /// What the file holds; nothing if there is none. It is tried whether it can be written.
    ///
    /// # Errors
    /// It cannot be read or written, or holds no measurements of this format.
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

    /// All that was measured.
    pub fn measurements(&self) -> &Measurements {
        &self.all
    }

    /// Whether a point need not be measured again.
    pub fn has(&self, parameters: &Parameters, version: &Version) -> bool {
        self.all.has(parameters, version)
    }

    /// Keeps points. Whoever reads the file meanwhile, or after a crash, finds it with all of them or none. Points that
    /// another run has put into the file stay there.
    ///
    /// # Errors
    /// The file cannot be written; it is as it was then.
    pub fn keep(&mut self, points: impl IntoIterator<Item = Point>) -> Result<(), RecordError> {
        for point in points {
            self.own.put(point.clone());
            self.all.put(point);
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), RecordError> {
        // Two runs take turns, or one would write over what the other one has just added. Where a folder has no locks they
        // have to be made one after the other.
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
            // Else the name might be there after a crash before the content is.
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        })();
        if written.is_err() {
            // A part of a file is of use to nobody, and takes room where there may be none.
            let _ = std::fs::remove_file(&beside);
        }
        self.left = self.state();
        drop(turn);
        written.map_err(|error| RecordError::Write { path: self.path.clone(), error })
    }

    /// Reads the file again if it is another one than this run has left.
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

    /// The new file until it has the name.
    fn beside(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        self.path.with_file_name(name)
    }
}
