//! Edits of a source text, nested in each other, and the text that results.
//!
//! An edit replaces a range by pieces: new text, a range as it was written, or a range with the
//! edits inside it. Two edits of one range nest in the order in which they were added.

use std::ops::Range;

/// A part of the text that replaces a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// New text.
    New(String),
    /// A range of the source as it was written: the alternative of a mutant. Only one mutant is
    /// active at a time, so none is needed inside it, and the result grows linearly.
    Written(Range<usize>),
    /// A range of the source with all edits inside it.
    Edited(Range<usize>),
}

/// The replacement of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Edit {
    site: u32,
    range: Range<usize>,
    pieces: Vec<Piece>,
}

/// The range of a site's text in the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    pub site: u32,
    pub range: Range<usize>,
    /// Whether the range has nothing but the text that the site adds.
    pub is_added: bool,
}

/// All edits of one source text.
#[derive(Default)]
pub struct Edits(Vec<Edit>);

impl Edits {
    /// Replaces `range` by the pieces. Ranges are nested or apart, never overlapping.
    pub fn replace(&mut self, site: u32, range: Range<usize>, pieces: Vec<Piece>) {
        self.0.push(Edit { site, range, pieces });
    }

    /// Inserts text at a position.
    pub fn insert(&mut self, site: u32, at: usize, text: String) {
        self.replace(site, at..at, vec![Piece::New(text)]);
    }

    /// The text after all edits, and the place of each site in it.
    pub fn apply(mut self, source: &str) -> (String, Vec<Placed>) {
        // The sort is stable, so edits of one range keep the order in which they were added.
        self.0.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
        let mut result = Applied { source, text: String::new(), placed: Vec::new() };
        result.range(&self.0, 0..source.len());
        (result.text, result.placed)
    }
}

struct Applied<'a> {
    source: &'a str,
    text: String,
    placed: Vec<Placed>,
}

impl Applied<'_> {
    /// Appends a range with those of the edits that are inside it.
    fn range(&mut self, edits: &[Edit], range: Range<usize>) {
        let (mut at, mut next) = (range.start, 0);
        while let Some(edit) = edits.get(next) {
            let is_inside = edit.range.start >= at && edit.range.end <= range.end;
            if !is_inside {
                if edit.range.start > range.end {
                    break;
                }
                next += 1;
                continue;
            }
            self.text.push_str(&self.source[at..edit.range.start]);
            self.edit(edit, &edits[next + 1..]);
            at = edit.range.end;
            next += 1;
            // The edits of the same range were applied inside this one.
            let is_done = |later: &Edit| later.range == edit.range && !edit.range.is_empty();
            next += edits[next..].iter().take_while(|later| is_done(later)).count();
        }
        self.text.push_str(&self.source[at..range.end]);
    }

    fn edit(&mut self, edit: &Edit, inner: &[Edit]) {
        let start = self.text.len();
        for piece in &edit.pieces {
            let before = self.text.len();
            match piece {
                Piece::New(text) => self.text.push_str(text),
                Piece::Written(range) => self.text.push_str(&self.source[range.clone()]),
                Piece::Edited(range) => {
                    self.range(inner, range.clone());
                    continue;
                }
            }
            let range = before..self.text.len();
            self.placed.push(Placed { site: edit.site, range, is_added: true });
        }
        let range = start..self.text.len();
        self.placed.push(Placed { site: edit.site, range, is_added: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(source: &str, range: Range<usize>, text: &str) -> Vec<Piece> {
        assert!(range.end <= source.len());
        vec![
            Piece::New(format!("[{text} ")),
            Piece::Written(range.clone()),
            Piece::New("|".into()),
            Piece::Edited(range),
            Piece::New("]".into()),
        ]
    }

    #[test]
    fn nested_edits_apply_inside_the_edited_piece_only() {
        let source = "a + b * c";
        let mut edits = Edits::default();
        edits.replace(1, 0..9, both(source, 0..9, "1"));
        edits.replace(2, 0..9, both(source, 0..9, "2"));
        edits.replace(3, 4..9, both(source, 4..9, "3"));
        let (text, placed) = edits.apply(source);
        assert_eq!(text, "[1 a + b * c|[2 a + b * c|a + [3 b * c|b * c]]]");
        let of = |site| placed.iter().find(|placed| placed.site == site && !placed.is_added);
        assert_eq!(&text[of(3).expect("it is placed").range.clone()], "[3 b * c|b * c]");
    }

    #[test]
    fn insertions_and_neighbours_keep_their_order() {
        let mut edits = Edits::default();
        edits.insert(1, 1, " x;".into());
        edits.insert(2, 1, " y;".into());
        edits.replace(
            3,
            2..3,
            vec![Piece::New("(".into()), Piece::Edited(2..3), Piece::New(")".into())],
        );
        edits.replace(4, 4..5, vec![Piece::New("d".into())]);
        assert_eq!(edits.apply("{ a b }").0, "{ x; y; (a) d }");
    }
}
