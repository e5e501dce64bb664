//! Formats generated code with rustfmt.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Why a text could not be formatted.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// rustfmt is not installed.
    #[error("rustfmt cannot be started ({0}); install it with `rustup component add rustfmt`")]
    NoFormatter(io::Error),
    /// rustfmt refused the text, or failed.
    #[error("rustfmt refuses the generated code: {0}")]
    Refused(String),
}

/// The style of this repository.
const STYLE: [&str; 4] =
    ["--edition", "2024", "--config", "max_width=100,use_small_heuristics=Max"];

/// Formats a text with rustfmt.
///
/// # Errors
///
/// See [`FormatError`].
pub fn formatted(text: &str) -> Result<String, FormatError> {
    let mut formatter = Command::new("rustfmt")
        .args(STYLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(FormatError::NoFormatter)?;
    let mut input = formatter.stdin.take().expect("it is a pipe");
    // rustfmt reads all of its input before it writes, so there is no deadlock.
    let written = input.write_all(text.as_bytes());
    drop(input);
    let output = formatter.wait_with_output().map_err(FormatError::NoFormatter)?;
    let refused = |sentence: &str| FormatError::Refused(sentence.trim().to_owned());
    if !output.status.success() || written.is_err() {
        return Err(refused(&String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|_| refused("its output is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_get_the_shape_of_this_repository() {
        let text = formatted("fn  f( ) {let x=1;}").expect("rustfmt is part of the toolchain");
        assert_eq!(text, "fn f() {\n    let x = 1;\n}\n");
        assert!(matches!(formatted("fn f( {"), Err(FormatError::Refused(_))));
    }
}
