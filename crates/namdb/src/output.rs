//! What the program says, where nobody may be listening: a closed or full stream is no reason to panic.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};

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
