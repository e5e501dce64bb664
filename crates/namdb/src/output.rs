//! What the program says, where nobody may be listening: a closed or full stream is no reason to panic.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// Bytes by which a file is known.
const LOOKED_AT: u64 = 256;

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
