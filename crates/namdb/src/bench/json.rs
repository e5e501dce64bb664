//! Results as JSON, for programs that compare runs. The name `-` stands for the output.

use crate::output;
use anyhow::{Context, Result};
use serde::Serialize;
use std::path::Path;

/// Whether the name stands for the output.
pub fn is_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses a file that has something else than JSON.
pub fn spare(path: &Path) -> Result<()> {
    output::spare(path, "JSON", &["{", "["])
}

/// Writes the result; a directory that does not exist is an error, an existing file of results is replaced.
pub fn write(result: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(result).context("cannot write the result as JSON")?;
    if is_output(path) {
        return output::print(&(text + "\n"));
    }
    spare(path)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses a file that cannot be written before anything is measured for it, and leaves none behind.
pub fn probe(path: &Path) -> Result<()> {
    if is_output(path) {
        return Ok(());
    }
    spare(path)?;
    let is_new = !path.exists();
    let mut options = std::fs::OpenOptions::new();
    let file = options.create(true).append(true).open(path);
    file.map(drop).with_context(|| format!("cannot write {}", path.display()))?;
    if is_new {
        std::fs::remove_file(path).with_context(|| format!("cannot replace {}", path.display()))?;
    }
    Ok(())
}

/// Writes the result as JSON where that is asked for, and then the text: to the output, or to the error
/// stream if the JSON has taken the output. The file comes first: it survives a reader who has left. Where it
/// cannot be written the text comes all the same, and then the error.
pub fn deliver(result: &impl Serialize, json: Option<&Path>, text: &str) -> Result<()> {
    let written = json.map_or(Ok(()), |path| write(result, path));
    if json.is_some_and(is_output) {
        output::say(text.trim_end_matches('\n'));
    } else {
        output::print(text)?;
    }
    written
}
