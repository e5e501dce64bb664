//! JSON lines: each value is written to the file before the next one is measured, so that a process
//! that dies loses no earlier value.

use crate::output;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// A file to which values are appended.
pub struct JsonLines {
    path: PathBuf,
    /// `None` before the first value, so that a run without values leaves no file.
    file: Option<File>,
    /// The error after which nothing more is written.
    failure: Option<anyhow::Error>,
}

impl JsonLines {
    /// Prepares a file that replaces an existing one at the first value.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None, failure: None }
    }

    /// Appends a line. A full disk must not end a run of hours: the error is reported at once and
    /// returned by `finish`.
    pub fn add(&mut self, value: &impl Serialize) {
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = self.write(value) {
            output::say(&format!("  {error:#}; the run goes on without that file"));
            self.failure = Some(error);
        }
    }

    fn write(&mut self, value: &impl Serialize) -> Result<()> {
        let sentence = || format!("cannot write {}", self.path.display());
        let line = serde_json::to_string(value).with_context(sentence)? + "\n";
        if self.file.is_none() {
            self.file = Some(File::create(&self.path).with_context(sentence)?);
        }
        let file = self.file.as_mut().expect("created above at the latest");
        // One write per line, so that a concurrent reader never sees half of one.
        file.write_all(line.as_bytes()).with_context(sentence)
    }

    /// Fails if a value could not be written.
    pub fn finish(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn lines_are_there_at_once_and_replace_an_older_file() {
        let path = std::env::temp_dir().join(format!("namdb-lines-{}", std::process::id()));
        std::fs::write(&path, "of an earlier run\n").expect("the folder can be written");
        let mut lines = JsonLines::new(path.clone());
        for (value, written) in [(1, "1\n"), (2, "1\n2\n")] {
            lines.add(&value);
            assert_eq!(std::fs::read_to_string(&path).expect("it is there"), written);
        }
        lines.finish().expect("the disk has room");
        std::fs::remove_file(&path).expect("it is ours");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_of_in_the_end() {
        let mut lines = JsonLines::new(Path::new("/dev/full").to_owned());
        lines.add(&1);
        lines.add(&2);
        let error = lines.finish().expect_err("nothing can be written there");
        assert!(format!("{error:#}").contains("cannot write /dev/full"), "{error:#}");
    }
}
