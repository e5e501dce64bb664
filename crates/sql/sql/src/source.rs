//! A named text, and positions in it.

use crate::enumeration::Types;
use crate::namespace::SearchPath;
use sqlparser::tokenizer::{Location, Span};

/// Maximum number of bytes of a file.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of characters of the offending piece in an error.
const PIECE_SHOWN: usize = 40;

/// The text of a file, with the start of each line, so that errors can name line and column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    name: String,
    text: String,
    lines: Vec<usize>,
    path: SearchPath,
    types: Types,
}

impl Source {
    /// `name` is the file's name in errors.
    pub fn new(name: &str, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            lines,
            path: SearchPath::default(),
            types: Types::default(),
        }
    }

    /// The same text; its names without a schema are looked up in these ones.
    pub fn with_path(mut self, path: SearchPath) -> Self {
        self.path = path;
        self
    }

    /// The same text, with names of these types.
    #[must_use]
    pub fn with_types(mut self, types: &Types) -> Self {
        self.types = types.clone();
        self
    }

    /// The types that the text may name.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The schemas in which names without one are looked up.
    pub fn path(&self) -> &SearchPath {
        &self.path
    }

    /// The file's name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of byte `at`, both from 1; the column counts characters.
    pub(crate) fn location(&self, at: usize) -> Location {
        let at = at.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines[line - 1];
        let column = self.text.get(start..at).map_or(0, |before| before.chars().count());
        Location::new(line as u64, column as u64 + 1)
    }

    /// The byte offset of `location`; the end of the text if `location` is behind it.
    pub(crate) fn offset(&self, location: Location) -> usize {
        let line = (location.line.max(1) - 1) as usize;
        let Some(&start) = self.lines.get(line) else {
            return self.text.len();
        };
        let column = (location.column.max(1) - 1) as usize;
        let within = self.text[start..].char_indices().nth(column);
        within.map_or(self.text.len(), |(at, _)| start + at)
    }

    /// The text of a span.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(self.offset(span.start)..self.offset(span.end)).unwrap_or("")
    }

    /// The beginning of the text at `span`, on one line, for an error.
    pub(crate) fn piece(&self, span: Span) -> String {
        let mut words = self.slice(span).split_whitespace().collect::<Vec<_>>().join(" ");
        if words.chars().count() > PIECE_SHOWN {
            words = words.chars().take(PIECE_SHOWN - 3).chain("...".chars()).collect();
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        let source = Source::new("f.sql", "ab\n\u{e4}cd\n");
        assert_eq!(source.location(5), Location::new(2, 2));
        assert_eq!(source.offset(Location::new(2, 2)), 5);
        assert_eq!(source.offset(Location::new(9, 1)), source.text().len());
        let span = Span::new(Location::new(1, 2), Location::new(2, 3));
        assert_eq!(source.slice(span), "b\n\u{e4}c");
        assert_eq!(source.piece(span), "b \u{e4}c");
    }
}
