//! `workload.toml` from text to its raw form. Wrong entries are reported and left out, so that the rest is read too.

use super::raw::RawLoad;
use super::read::place_error;
use crate::errors::{ERRORS_SHOWN_MAX, Findings};
use crate::near::near;
use crate::source::Source;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::{Deserializer, Spanned};

/// Keys that every file has.
const TOP_LEVEL: [&str; 5] = ["name", "unit", "units", "tables", "procedures"];
/// Keys that every section has.
const REQUIRED: [&str; 2] = ["rows", "frequency"];
/// Most keys on the way to what is left out, such as `tables.item.columns.price`.
const KEYS_MAX: usize = 4;

/// A load as written.
pub(super) struct Written {
    pub(super) raw: RawLoad,
    /// Names of tables, procedures, columns and arguments whose entries were left out.
    pub(super) left_out: BTreeSet<String>,
}

/// Reads a text. `None` if the rest makes no load.
pub(super) fn written(source: &Source, findings: &mut Findings) -> Option<Written> {
    let (mut table, errors) = DeTable::parse_recoverable(source.text());
    if !errors.is_empty() {
        for error in errors {
            let range = error.span().unwrap_or(0..0);
            findings.add(place_error(source, range, error.message().to_owned()));
        }
        return None;
    }
    let mut left_out = BTreeSet::new();
    for _ in 0..=ERRORS_SHOWN_MAX {
        let error = match RawLoad::deserialize(Deserializer::from(table.clone())) {
            Ok(raw) => return Some(Written { raw, left_out }),
            Err(error) => error,
        };
        let range = error.span().unwrap_or(0..0);
        let meant = meant_by(error.message());
        let advice = meant.map_or(String::new(), |word| format!("is `{word}` meant?"));
        let told = place_error(source, range.clone(), error.message().to_owned());
        findings.add(told.advise(advice));
        left_out.insert(leave_out(table.get_mut(), &range, meant)?);
    }
    None
}

/// The key or word that was meant by an unknown one, which stands first of all that the message puts in backticks; the known
/// ones follow it.
fn meant_by(message: &str) -> Option<&str> {
    if !["unknown field `", "unknown variant `"].iter().any(|begin| message.starts_with(begin)) {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let written = words.next().unwrap_or_default();
    near(written, words)
}

/// Removes the entry that is wrong at `range`, where a key may be `meant`, and gives its name; `None` if the file makes no sense
/// without it.
fn leave_out(table: &mut DeTable<'_>, range: &Range<usize>, meant: Option<&str>) -> Option<String> {
    let mut path = path_to(table, range)?;
    path.truncate(KEYS_MAX);
    let key = meant.unwrap_or(path.last()?);
    let is_section = matches!(&*path[0], "tables" | "procedures");
    match path.len() {
        1 if TOP_LEVEL.contains(&key) => return None,
        // Without this key, the section has an error that says nothing new.
        3 if is_section && REQUIRED.contains(&key) => path.truncate(2),
        _ => {}
    }
    let name = path.pop()?;
    let mut parent = table;
    for key in &path {
        parent = match parent.get_mut(&**key)?.get_mut() {
            DeValue::Table(inner) => inner,
            _ => return None,
        };
    }
    parent.remove(&*name).map(|_| name)
}

/// The keys on the way to the innermost entry at `range`.
fn path_to(table: &DeTable<'_>, range: &Range<usize>) -> Option<Vec<String>> {
    let is_at = |span: Range<usize>| span.contains(&range.start) || span == *range;
    for (key, value) in table {
        if let DeValue::Table(inner) = value.get_ref()
            && let Some(mut path) = path_to(inner, range)
        {
            path.insert(0, key.get_ref().to_string());
            return Some(path);
        }
    }
    let here = table.iter().find(|(key, value)| is_at(key.span()) || is_at(Spanned::span(value)));
    here.map(|(key, _)| vec![key.get_ref().to_string()])
}
