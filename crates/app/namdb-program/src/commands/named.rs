//! Resolves the word after `namdb bench` and `namdb trace`: a built-in benchmark, or a workload
//! folder.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use sql::near::near;
use std::ffi::OsString;
use std::path::Path;

/// A folder with this file is a workload.
const LOAD_FILE: &str = "workload.toml";
/// Commands that run a benchmark.
const COMMANDS: [&str; 2] = ["bench", "trace"];
/// The subcommand that runs a folder.
pub const FOLDER: &str = "folder";

/// Inserts the word `folder` before the folder of a workload: `bench DIR` becomes `bench folder
/// DIR`.
pub fn with_folder(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_known = arguments.get(1).is_some_and(|command| COMMANDS.iter().any(|it| command == it));
    if is_known && arguments.get(2).is_some_and(|named| Path::new(named).join(LOAD_FILE).is_file())
    {
        arguments.insert(2, FOLDER.into());
    }
    arguments
}

/// The message for a benchmark that is neither built in nor a folder; `None` if the arguments have
/// another error.
pub fn unknown(
    error: &clap::Error,
    arguments: &[OsString],
    command: &clap::Command,
) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let of = arguments.get(1)?.to_str().filter(|of| COMMANDS.contains(of))?;
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let path = Path::new(named);
    if path.join(LOAD_FILE).is_file() {
        return Some(format!("the folder must come before the options: namdb {of} {named} ..."));
    }
    let whole = "a workload folder has schema.sql, procedures.sql, workload.toml and, made by `namdb spade plan`, plans";
    // A folder without permission must not be reported as one without the file.
    if path.is_dir()
        && let Err(error) = path.join(LOAD_FILE).try_exists()
    {
        return Some(format!("{named}/{LOAD_FILE} cannot be read: {error}"));
    }
    if path.is_dir() {
        return Some(format!("the folder {named} has no {LOAD_FILE}; {whole}"));
    }
    if path.exists() {
        return Some(format!("{named} is a file; name the folder of the workload: {whole}"));
    }
    let names = command.find_subcommand(of)?.get_subcommands().map(clap::Command::get_name);
    let built_in: Vec<&str> = names.filter(|name| ![FOLDER, "help"].contains(name)).collect();
    let folders = folders_near(path);
    let names = built_in.iter().copied().chain(folders.iter().map(String::as_str));
    let meant = near(named, names).map_or(String::new(), |name| format!("; is `{name}` meant?"));
    let built_in = built_in.join(", ");
    Some(format!(
        "there is neither a built-in benchmark nor a folder called `{named}`{meant}\n  built-in benchmarks: {built_in}\n  {whole}"
    ))
}

/// Workload folders beside the named one and the shipped ones, written like the named one.
fn folders_near(named: &Path) -> Vec<String> {
    let beside = named.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for place in [beside, Path::new("workloads")] {
        let looked_at = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        let entries = std::fs::read_dir(looked_at).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().join(LOAD_FILE).is_file());
        found.extend(folders.map(|entry| place.join(entry.file_name()).display().to_string()));
    }
    found.sort_unstable();
    found
}
