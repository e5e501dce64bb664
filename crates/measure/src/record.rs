//! The file that measurements are kept in, so that a run that was ended goes on where it was.

use spade::measurement::{MeasurementError, Measurements, Parameters, Point, Version};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Measurements and their file.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    all: Measurements,
}

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
        let record = Self { path: path.to_owned(), all };
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

    /// Keeps points. Whoever reads the file meanwhile, or after a crash, finds it with all of them or none.
    ///
    /// # Errors
    /// The file cannot be written; it is as it was then.
    pub fn keep(&mut self, points: impl IntoIterator<Item = Point>) -> Result<(), RecordError> {
        points.into_iter().for_each(|point| self.all.put(point));
        self.write()
    }

    fn write(&self) -> Result<(), RecordError> {
        let written = || {
            let beside = self.beside();
            let mut file = File::create(&beside)?;
            file.write_all(self.all.json().as_bytes())?;
            // Else the name might be there after a crash before the content is.
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        written().map_err(|error| RecordError::Write { path: self.path.clone(), error })
    }

    /// The new file until it has the name.
    fn beside(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        self.path.with_file_name(name)
    }
}
