//! Parses `workload.toml` to its raw form. Entries with errors are reported and removed, so that
//! the rest is checked, too.

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

/// Required top-level keys.
const TOP_LEVEL: [&str; 5] = ["name", "unit", "units", "tables", "procedures"];
/// Required keys of a section.
const REQUIRED: [&str; 2] = ["rows", "frequency"];
/// Maximum length of the key path of a removed entry, such as `tables.item.columns.price`.
const KEYS_MAX: usize = 4;

/// The raw load.
pub(super) struct Written {
    pub(super) raw: RawLoad,
    /// Names of tables, procedures, columns and arguments whose entries were removed.
    pub(super) left_out: BTreeSet<String>,
}

/// Parses `source`. `None` if nothing useful remains without the removed entries.
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
        left_out.insert(remove_entry(table.get_mut(), &range, meant)?);
    }
    None
}

/// The known key or word that is similar to an unknown one. serde's message has the unknown one
/// first in backticks, then the known ones.
fn meant_by(message: &str) -> Option<&str> {
    if !["unknown field `", "unknown variant `"].iter().any(|begin| message.starts_with(begin)) {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let written = words.next().unwrap_or_default();
    near(written, words)
}

/// Removes the entry with the error at `range` and returns its name. `meant` is the key that it was
/// probably meant to be. `None` if the file is useless without the entry.
fn remove_entry(
    table: &mut DeTable<'_>,
    range: &Range<usize>,
    meant: Option<&str>,
) -> Option<String> {
    let mut path = path_to(table, range)?;
    path.truncate(KEYS_MAX);
    let key = meant.unwrap_or(path.last()?);
    let is_section = matches!(&*path[0], "tables" | "procedures");
    match path.len() {
        1 if TOP_LEVEL.contains(&key) => return None,
        // Without this key the section would only cause a second error, so the whole section goes.
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

/// The key path of the innermost entry at `range`.
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
