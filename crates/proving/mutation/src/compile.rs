//! Builds the copy. The compiler decides which mutants are programs: those that it refuses are
//! left out, until the rest compiles.

use crate::copy::{self, Copy};
use crate::edits::Placed;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds of the search for what does not compile. The compiler finds wrong types in the first
/// ones, and wrong borrows after them.
const ROUNDS_MAX: usize = 40;
/// The crates that are instrumented.
const CRATES: [&str; 6] = ["-p", "memory", "-p", "index", "-p", "txn"];

/// Writes a copy that compiles. `known` has the identities of sites that earlier copies left out.
///
/// # Errors
/// If an error of the compiler is in no site, or the copy cannot be written.
pub fn settle(root: &Path, folder: &Path, known: &mut BTreeSet<String>) -> Result<Copy> {
    for round in 1..=ROUNDS_MAX {
        let copy = copy::write(root, folder, known)?;
        let mut arguments = vec!["check", "--release", "--message-format=json", "--keep-going"];
        arguments.extend(CRATES);
        let messages = cargo(folder, &arguments)?;
        let errors: Vec<&Value> = messages.iter().filter_map(error).collect();
        if errors.is_empty() {
            return Ok(copy);
        }
        let mut refused = BTreeSet::new();
        for error in &errors {
            refused
                .extend(guilty(&copy, error).map(|site| copy.sites[site as usize - 1].identity()));
        }
        eprintln!(
            "mutation: round {round}: {} errors, {} of {} sites are left out",
            errors.len(),
            refused.len(),
            copy.sites.len()
        );
        if refused.is_empty() {
            let text = errors[0]["rendered"].as_str().unwrap_or("an error without text");
            bail!("the copy does not compile, and no site is the cause:\n{text}");
        }
        known.extend(refused);
    }
    bail!("the copy does not compile after {ROUNDS_MAX} rounds")
}

/// Builds with these arguments and returns the executables, by the name of their target.
///
/// # Errors
/// If the build fails.
pub fn build(folder: &Path, arguments: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let mut all = arguments.to_vec();
    all.push("--message-format=json");
    let messages = cargo(folder, &all)?;
    if let Some(error) = messages.iter().find_map(error) {
        bail!("the copy does not compile:\n{}", error["rendered"].as_str().unwrap_or_default());
    }
    let executable = |message: &Value| {
        let path = message["executable"].as_str()?;
        Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
    };
    let executables: Vec<(String, PathBuf)> = messages.iter().filter_map(executable).collect();
    ensure!(!executables.is_empty(), "cargo {} built no program", arguments.join(" "));
    Ok(executables)
}

/// Runs cargo in the copy and returns its messages.
fn cargo(folder: &Path, arguments: &[&str]) -> Result<Vec<Value>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let has_error = messages.iter().any(|message| error(message).is_some());
    ensure!(
        output.status.success() || has_error,
        "cargo {} failed in {} without an error of the compiler; run it there to see why",
        arguments.join(" "),
        folder.display()
    );
    Ok(messages)
}

/// The error of the compiler in a message.
fn error(message: &Value) -> Option<&Value> {
    let message = message.get("message")?;
    (message["level"] == "error").then_some(message)
}

/// The site that an error is due to: the smallest one whose own text the error points at, else the
/// smallest one around it, else the first one inside, else the nearest
/// statement.
fn guilty(copy: &Copy, error: &Value) -> Option<u32> {
    let spans = spans(error);
    let find = |is_primary: bool, choose: fn(&[Placed], &Range<usize>) -> Option<u32>| {
        let mut chosen = spans.iter().filter(move |span| span.is_primary == is_primary);
        chosen.find_map(|span| choose(copy.placed.get(&span.file)?, &span.range))
    };
    find(true, added)
        .or_else(|| find(false, added))
        .or_else(|| find(true, around))
        .or_else(|| find(false, around))
        .or_else(|| find(true, inside))
        .or_else(|| near(copy, &spans))
}

/// The first dropped or swapped statement of the function behind the error, else the last one
/// before it: the end of a loop, or of a scope, may need what the statement does with a borrow.
fn near(copy: &Copy, spans: &[Span]) -> Option<u32> {
    let last = spans.iter().max_by_key(|span| span.range.end)?;
    let site = |place: &Placed| &copy.sites[place.site as usize - 1];
    let is_before = |place: &&&Placed| place.range.start <= last.range.start;
    let mut places: Vec<&Placed> = copy.placed.get(&last.file)?.iter().collect();
    places.sort_by_key(|place| place.range.start);
    let function = &site(places.iter().rfind(is_before)?).function;
    let is_statement = |place: &&&Placed| {
        let what = &site(place).what;
        let is_statement = what.ends_with("dropped") || what.ends_with("swapped");
        is_statement && !place.is_added && site(place).function == *function
    };
    let mut statements = places.iter().filter(is_statement);
    let behind = statements.clone().find(|place| !is_before(place));
    behind.or_else(|| statements.rfind(is_before)).map(|place| place.site)
}

struct Span {
    file: String,
    range: Range<usize>,
    is_primary: bool,
}

/// The places that an error points at.
fn spans(error: &Value) -> Vec<Span> {
    let read = |span: &Value| {
        let at = |name: &str| span[name].as_u64().map(|at| at as usize);
        Some(Span {
            file: span["file_name"].as_str()?.to_owned(),
            range: at("byte_start")?..at("byte_end")?,
            is_primary: span["is_primary"].as_bool()?,
        })
    };
    error["spans"].as_array().into_iter().flatten().filter_map(read).collect()
}

fn added(placed: &[Placed], span: &Range<usize>) -> Option<u32> {
    let touches = |place: &&Placed| {
        place.is_added && place.range.start < span.end && span.start < place.range.end
    };
    // A span around a whole site is no sign that the site's own text is wrong.
    let is_near =
        |place: &&Placed| span.len() <= 2 * place.range.len() || holds(&place.range, span);
    smallest(placed.iter().filter(touches).filter(is_near))
}

fn around(placed: &[Placed], span: &Range<usize>) -> Option<u32> {
    smallest(placed.iter().filter(|place| !place.is_added && holds(&place.range, span)))
}

fn inside(placed: &[Placed], span: &Range<usize>) -> Option<u32> {
    placed.iter().find(|place| holds(span, &place.range)).map(|place| place.site)
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn smallest<'a>(places: impl Iterator<Item = &'a Placed>) -> Option<u32> {
    places.min_by_key(|place| place.range.len()).map(|place| place.site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(site: u32, range: Range<usize>, is_added: bool) -> Placed {
        Placed { site, range, is_added }
    }

    #[test]
    fn an_error_is_due_to_the_smallest_site_that_it_points_at() {
        let places = [placed(1, 0..100, false), placed(2, 20..60, false), placed(2, 25..35, true)];
        assert_eq!(added(&places, &(26..30)), Some(2));
        assert_eq!(added(&places, &(40..44)), None, "that is the source");
        assert_eq!(around(&places, &(40..44)), Some(2));
        assert_eq!(around(&places, &(70..74)), Some(1));
        assert_eq!(inside(&places, &(10..90)), Some(2));
    }

    #[test]
    fn only_errors_of_the_compiler_count() {
        let message = |level: &str| serde_json::json!({ "message": { "level": level } });
        assert!(error(&message("error")).is_some());
        assert!(error(&message("warning")).is_none());
        assert!(error(&serde_json::json!({ "reason": "build-finished" })).is_none());
    }
}
