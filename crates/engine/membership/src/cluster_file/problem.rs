//! Errors in a cluster's configuration, with their location.

use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a setting, with what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterFileError {
    /// Where the setting is: the file, an environment variable, or a flag with its value.
    pub place: String,
    /// Line of the file, from 1; `None` if the error is about the whole file, or not in a file.
    pub line: Option<usize>,
    pub sentence: String,
}

impl fmt::Display for ClusterFileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.place, self.sentence),
            None => write!(formatter, "{}: {}", self.place, self.sentence),
        }
    }
}

impl std::error::Error for ClusterFileError {}

impl ClusterFileError {
    pub(super) fn new(place: &str, sentence: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: None, sentence: sentence.into() }
    }

    /// Turns an error of the TOML parser into one line.
    pub(super) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_of(text, span.start));
        Self { place: file.to_owned(), line, sentence: sentence_of(error) }
    }

    /// An error in the value at a path of keys and positions, such as `memory.0.bytes`.
    pub(super) fn of_value(file: &str, text: &str, path: &str, sentence: String) -> Self {
        Self { place: file.to_owned(), line: find(text, path), sentence }
    }
}

/// Turns the parser's message into one line, with ranges instead of names of integer types.
pub(super) fn sentence_of(error: &toml::de::Error) -> String {
    let sentence = error.message().lines().collect::<Vec<_>>().join("; ");
    let ranges = [
        (" expected u8", i64::from(u8::MAX)),
        (" expected u16", i64::from(u16::MAX)),
        (" expected u32", i64::from(u32::MAX)),
        (" expected u64", i64::MAX),
    ];
    match ranges.iter().find(|(type_name, _)| sentence.ends_with(type_name)) {
        Some((type_name, most)) => {
            let said = sentence.trim_end_matches(type_name);
            format!("{said} write a whole number from 0 to {most}")
        }
        None => sentence,
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the line of the value at a path, or of the longest existing prefix of the path.
fn find(text: &str, path: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut steps = path.split('.');
    let mut at = step_into(table.get_ref(), steps.next()?)?;
    loop {
        let line = Some(line_of(text, at.span().start));
        let Some(step) = steps.next() else { return line };
        let next = match at.get_ref() {
            DeValue::Table(table) => step_into(table, step),
            DeValue::Array(array) => step.parse::<usize>().ok().and_then(|place| array.get(place)),
            _ => None,
        };
        let Some(next) = next else { return line };
        at = next;
    }
}

fn step_into<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value)
}
