//! Child processes without standard input; error messages contain the full command.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A cargo command in the workspace root, by the cargo that started this program.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    // Cargo describes this program's package in variables. Build scripts of libraries depend on
    // them: with them, each `cargo test` by hand would compile these libraries again.
    for (name, _) in std::env::vars_os() {
        let is_package = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        };
        if name.to_str().is_some_and(is_package) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs the command with its output passed through.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("start `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(command));
    }
    Ok(())
}

/// Runs the command, passes its standard output through byte for byte, and returns it too. Bytes
/// are forwarded as they come, not by lines, so that a hanging test shows its name.
pub fn tee(command: &mut Command, sink: &mut impl Write) -> Result<String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("start `{}`", describe(command)))?;
    let mut stdout = child.stdout.take().expect("stdout was piped just above");
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = stdout.read(&mut chunk).context("read the child's output")?;
        if length == 0 {
            break;
        }
        seen.extend_from_slice(&chunk[..length]);
        sink.write_all(&chunk[..length]).context("pass the child's output on")?;
        sink.flush().context("pass the child's output on")?;
    }
    let status = child.wait().with_context(|| format!("wait for `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", describe(command));
    }
    Ok(String::from_utf8_lossy(&seen).into_owned())
}

/// Runs the command and returns its standard output; its standard error goes into the failure.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("start `{}`", describe(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}: {}", describe(command), output.status, errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the command and returns its standard output; its standard error is passed through.
pub fn read_output(command: &mut Command) -> Result<String> {
    tee(command, &mut std::io::sink())
}

/// The command as one would type it, by the program's file name alone.
pub fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tee_passes_output_through_and_returns_it() {
        let mut sink = Vec::new();
        let seen = tee(Command::new("sh").args(["-c", "printf 'a\\nb'"]), &mut sink);
        assert_eq!(seen.expect("sh succeeds"), "a\nb");
        assert_eq!(sink, b"a\nb");
    }

    #[test]
    fn a_failure_names_the_command_and_its_words() {
        let error = capture(Command::new("sh").args(["-c", "echo why >&2; exit 3"]));
        let text = error.expect_err("sh exits with 3").to_string();
        assert!(text.contains("sh -c"), "{text}");
        assert!(text.contains("why"), "{text}");
        assert!(run(Command::new("sh").args(["-c", "exit 1"])).is_err());
    }
}
