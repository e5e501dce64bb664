//! The report as a file of JSON, for programs that compare runs.

use super::report::Report;
use anyhow::{Context, Result};
use std::path::Path;

/// Writes the report; a directory that does not exist is an error, an existing file is replaced.
pub fn write(report: &Report, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(report).context("cannot write the report as JSON")?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses a file that cannot be written before anything is measured for it.
pub fn probe(path: &Path) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let file = options.create(true).append(true).open(path);
    file.map(drop).with_context(|| format!("cannot write {}", path.display()))
}
