//! What the program says, where nobody may be listening: a closed or full stream is no reason to panic.

use anyhow::{Context, Result, ensure};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes by which a file is known.
const LOOKED_AT: u64 = 256;

/// The files of a workload that somebody has written.
const SOURCES: [&str; 4] = ["schema.sql", "procedures.sql", "workload.toml", sql::CHECKS];

/// Writes the result to the output. A reader that has left ends it quietly; a full disk is an error.
pub fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result to the output")
        }
        _ => Ok(()),
    }
}

/// Says a line on the error stream, or nothing where that cannot be written.
pub fn say(line: &str) {
    // There is no further stream to complain on.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Refuses a file that is there and has something else than `what`, which begins in one of these ways: results replace results, not what
/// somebody has named by mistake.
pub fn spare(path: &Path, what: &str, beginnings: &[&str]) -> Result<()> {
    // Devices have no end, and nothing to lose.
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
        "{} is there, and is no {what}; name another file",
        path.display()
    );
    Ok(())
}

/// Refuses a file that the command reads: one of these, or a source of a workload whose folder is one of these. Links are other names
/// of a file.
pub fn spare_inputs(path: &Path, inputs: &[&Path]) -> Result<()> {
    let sources = |folder: &Path| SOURCES.map(|name| folder.join(name));
    let files = inputs.iter().flat_map(|input| match input.is_dir() {
        true => sources(input).to_vec(),
        false => vec![PathBuf::from(input)],
    });
    for file in files {
        ensure!(
            !is_same(path, &file),
            "{} is what is read ({}); name another file for what is written",
            path.display(),
            file.display()
        );
    }
    Ok(())
}

/// Whether both names are of one file that is there. A terminal may be input and output at once.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let of = path.metadata().ok().filter(Metadata::is_file)?;
        Some((of.dev(), of.ino()))
    };
    place(one).is_some() && place(one) == place(other)
}

/// Writes a file. What was there stays as it is if that fails.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    sql::file::replace(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
