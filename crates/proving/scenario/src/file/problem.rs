//! Errors in scenario files, with their positions.

use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error message about a line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1; `None` if it concerns the whole file.
    pub line: Option<usize>,
    /// The error, and its remedy.
    pub sentence: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.file, self.sentence),
            None => write!(formatter, "{}: {}", self.file, self.sentence),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// The message of the TOML parser, in one line.
    pub(super) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_of(text, span.start));
        let sentence = error.message().lines().collect::<Vec<_>>().join("; ");
        Self { file: file.to_owned(), line, sentence: without_types(sentence) }
    }

    /// The message about a value of the right type that is impossible.
    pub(super) fn of_value(file: &str, text: &str, problem: &Problem) -> Self {
        let file = file.to_owned();
        Self { file, line: find(text, &problem.path), sentence: problem.sentence.clone() }
    }
}

/// An error about the value at a path of keys and positions, such as `plan.0.node`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) sentence: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, sentence: impl Into<String>) -> Self {
        Self { path: path.into(), sentence: sentence.into() }
    }
}

/// Replaces names of number types by the permitted range, because authors of files need not know
/// the types.
fn without_types(sentence: String) -> String {
    let ranges = [
        (" expected u16", i64::from(u16::MAX)),
        (" expected u32", i64::from(u32::MAX)),
        (" expected u64", i64::MAX),
    ];
    let range = ranges.iter().find(|(type_name, _)| sentence.ends_with(type_name));
    match range {
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

/// The line of the value at a path, or of the part of the path that exists.
fn find(text: &str, path: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut line = None;
    let mut steps = path.split('.');
    let mut at = step_into(table.get_ref(), steps.next()?)?;
    loop {
        line = Some(line_of(text, at.span().start)).or(line);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_lines() {
        let text = "a = 1\n\n[b]\nc = [\n  7,\n  8,\n]\n[[d]]\ne = 1\n[[d]]\ne = 2\n";
        assert_eq!(find(text, "a"), Some(1));
        assert_eq!(find(text, "b.c.1"), Some(6));
        assert_eq!(find(text, "d.1.e"), Some(11));
        // For a missing key, the line of the section that lacks it.
        assert_eq!(find(text, "d.1.f"), Some(10));
        assert_eq!(find(text, "x.y"), None);
    }

    #[test]
    fn an_error_names_file_and_line() {
        let sentence = "12 servers are too many".to_owned();
        let error = ScenarioError { file: "a.toml".to_owned(), line: Some(3), sentence };
        assert_eq!(error.to_string(), "a.toml:3: 12 servers are too many");
    }
}
