//! Results as JSON, for programs that compare runs. The name `-` means standard output.

use crate::output;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use spade_format::design::Design;
use spade_format::measurement::Measurements;
use sql::file::read_text;
use std::path::Path;

/// Larger existing files are not parsed.
const LOOKED_AT: u64 = 256 << 20;

/// Whether the name means standard output.
pub fn is_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Rejects a file that contains anything other than JSON.
pub fn spare(path: &Path) -> Result<()> {
    output::spare(path, "JSON", &["{", "["])
}

/// Writes the result. A missing directory is an error; an existing result file is replaced.
pub fn write(result: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(result).context("cannot write the result as JSON")?;
    if is_output(path) {
        return output::print(&(text + "\n"));
    }
    spare(path)?;
    output::replace(path, (text + "\n").as_bytes())
}

/// Rejects a path that cannot be written, before anything is measured for it, and leaves no file
/// behind. Also rejects files that commands read: this command's inputs, measurements, and designs.
pub fn probe(path: &Path, inputs: &[&Path]) -> Result<()> {
    if is_output(path) {
        return Ok(());
    }
    spare(path)?;
    output::spare_inputs(path, inputs)?;
    spare_kept(path)?;
    probe_any(path)
}

/// Rejects measurements and designs, which are JSON but no results.
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
    bail!("{} contains {what}, not a result; choose another file", path.display())
}

/// Like [`probe`], for a command whose results are measurements.
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

/// Writes the result as JSON if a path is given, then prints the text: to standard output, or to
/// standard error if the JSON went to standard output. The file comes first, because it must be
/// written even if the reader of the output has gone. If it cannot be written, the text is printed
/// all the same and the error is returned.
pub fn deliver(result: &impl Serialize, json: Option<&Path>, text: &str) -> Result<()> {
    let written = json.map_or(Ok(()), |path| write(result, path));
    if json.is_some_and(is_output) {
        output::say(text.trim_end_matches('\n'));
    } else {
        output::print(text)?;
    }
    written
}
