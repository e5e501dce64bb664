//! Standard output and standard error, which may be closed or full: that must not cause a panic.

use anyhow::{Context, Result, ensure};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Leading bytes by which a file's format is recognised.
const LOOKED_AT: u64 = 256;

/// Source files of a workload.
const SOURCES: [&str; 4] = ["schema.sql", "procedures.sql", "workload.toml", sql::CHECKS];

/// Prints the result. If the reader has left, it succeeds silently; a full disk is an error.
pub fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard error; errors are ignored.
pub fn say(line: &str) {
    // No other stream could report the error.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Rejects an existing file that is not a `what`, which begins with one of `beginnings`: a result
/// may replace an older result, but not a file that was named by mistake.
pub fn spare(path: &Path, what: &str, beginnings: &[&str]) -> Result<()> {
    // Devices have no end and nothing to lose.
    if !path.is_file() {
        return Ok(());
    }
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut first));
    let text = String::from_utf8_lossy(&first);
    let text = text.trim_start();
    let is_blank = text.is_empty() && (first.len() as u64) < LOOKED_AT;
    let is_ours = is_blank || beginnings.iter().any(|one| text.starts_with(one));
    ensure!(
        read.is_err() || is_ours,
        "{} exists and is not a {what}; choose another file",
        path.display()
    );
    Ok(())
}

/// Rejects a file that the command reads: an input, or a source file in a workload folder among the
/// inputs. Recognises other names (links) of the same file.
pub fn spare_inputs(path: &Path, inputs: &[&Path]) -> Result<()> {
    let sources = |folder: &Path| SOURCES.map(|name| folder.join(name));
    let files = inputs.iter().flat_map(|input| match input.is_dir() {
        true => sources(input).to_vec(),
        false => vec![PathBuf::from(input)],
    });
    for file in files {
        ensure!(
            !is_same(path, &file),
            "{} is an input of this command ({}); choose another file for the output",
            path.display(),
            file.display()
        );
    }
    Ok(())
}

/// Whether both paths name the same existing file. A terminal may be both input and output.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let of = path.metadata().ok().filter(Metadata::is_file)?;
        Some((of.dev(), of.ino()))
    };
    place(one).is_some() && place(one) == place(other)
}

/// Writes a file atomically: on failure the old content remains.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    sql::file::replace(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
