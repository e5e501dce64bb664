//! Results as JSON, for programs that compare runs. The name `-` stands for the output.

use crate::output;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use spade_format::design::Design;
use spade_format::measurement::Measurements;
use sql::file::read_text;
use std::path::Path;

/// Larger files are looked at no further.
const LOOKED_AT: u64 = 256 << 20;

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
    output::replace(path, (text + "\n").as_bytes())
}

/// Refuses a file that cannot be written before anything is measured for it, and leaves none behind. So it does with what
/// commands read: the inputs of this one, measurements, and designs.
pub fn probe(path: &Path, inputs: &[&Path]) -> Result<()> {
    if is_output(path) {
        return Ok(());
    }
    spare(path)?;
    output::spare_inputs(path, inputs)?;
    spare_kept(path)?;
    probe_any(path)
}

/// Refuses measurements and designs, which are JSON and no results.
fn spare_kept(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let text = read_text(path, LOOKED_AT).unwrap_or_default();
    let what = match (Measurements::parse(&text), Design::parse(&text)) {
        (Ok(all), _) if !all.points().is_empty() => "measurements",
        (_, Ok(_)) => "a design",
        _ => return Ok(()),
    };
    bail!("{} is there, and is {what} and no result; name another file", path.display())
}

/// As [`probe`], for a command whose results are measurements.
pub fn probe_any(path: &Path) -> Result<()> {
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
