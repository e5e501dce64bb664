//! The prose of a Rust file: paragraphs of its comments, and string literals that users may read.
//!
//! Code is left out: fenced blocks of comments, and whatever is between backticks.

use super::lexer::Views;
use super::tree::{File, line_of};

/// A literal with fewer words is a name or a format, not a sentence.
const LITERAL_WORDS_MIN: usize = 3;

/// Where a paragraph was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Comment,
    Literal,
}

/// One word with its punctuation.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// The line of the file.
    pub line: usize,
}

/// Consecutive words that are read together.
#[derive(Debug)]
pub struct Paragraph {
    pub source: Source,
    pub words: Vec<Word>,
}

/// All paragraphs of the file's comments.
pub fn comments(views: &Views) -> Vec<Paragraph> {
    let mut paragraphs = Vec::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut is_fenced = false;
    for (index, line) in views.comments.lines().enumerate() {
        let content = content(line);
        let text = content.unwrap_or_default();
        let is_fence = text.starts_with("```");
        let is_item = text.starts_with("- ") || text.starts_with("* ") || text.starts_with('#');
        if text.is_empty() || is_fence || is_item {
            close(&mut open, Source::Comment, &mut paragraphs);
        }
        is_fenced = content.is_some() && is_fenced != is_fence;
        if !is_fenced && !is_fence && !text.is_empty() {
            open.push((index + 1, text));
        }
    }
    close(&mut open, Source::Comment, &mut paragraphs);
    paragraphs
}

/// The text of a line of a comment without its slashes; `None` if the line has no comment.
fn content(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line.strip_prefix("//").or_else(|| line.strip_prefix("/*"))?;
    Some(text.trim_start_matches(['/', '!', '*']).trim_end_matches("*/").trim())
}

/// The literals of the file that have several words; tests are for the caller to leave out.
pub fn literals(file: &File, views: &Views) -> Vec<Paragraph> {
    let mut paragraphs = Vec::new();
    let code = views.code.as_bytes();
    let text = views.uncommented.as_bytes();
    let is_literal = |at: usize| code[at] != text[at] || text[at] == b' ';
    let mut start = 0;
    while let Some(quote) = views.uncommented[start..].find('"').map(|at| start + at) {
        // The code view blanks literals, their line ends excepted.
        let end = (quote..text.len())
            .find(|&at| text[at] != b'\n' && !is_literal(at))
            .unwrap_or(text.len());
        let first_line = line_of(&file.text, quote);
        let inside = views.uncommented[quote..end].replace('"', " ").replace("\\n", " ");
        let lines = inside.lines().enumerate();
        let mut open: Vec<(usize, &str)> = lines
            .map(|(index, line)| (first_line + index, line.trim().trim_end_matches('\\')))
            .collect();
        let before = paragraphs.len();
        close(&mut open, Source::Literal, &mut paragraphs);
        if paragraphs.last().is_some_and(|last| last.words.len() < LITERAL_WORDS_MIN) {
            paragraphs.truncate(before);
        }
        start = end.max(quote + 1);
    }
    paragraphs
}

/// Makes a paragraph of the open lines, with one empty word for each piece of code.
fn close(open: &mut Vec<(usize, &str)>, source: Source, paragraphs: &mut Vec<Paragraph>) {
    let mut words: Vec<Word> = Vec::new();
    let mut is_code = false;
    for (line, text) in open.drain(..) {
        for (index, piece) in text.split('`').enumerate() {
            if index > 0 {
                is_code = !is_code;
                if is_code {
                    words.push(Word { text: "`".to_string(), line });
                }
            }
            if is_code {
                continue;
            }
            // Punctuation right behind code belongs to the word that represents it.
            let (glued, rest) =
                piece.split_at(piece.find(char::is_whitespace).unwrap_or(piece.len()));
            match words.last_mut() {
                Some(word) if index > 0 => word.text.push_str(glued),
                _ if glued.is_empty() => {}
                _ => words.push(Word { text: glued.to_string(), line }),
            }
            words.extend(rest.split_whitespace().map(|text| Word { text: text.to_string(), line }));
        }
    }
    if !words.is_empty() {
        paragraphs.push(Paragraph { source, words });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn read(text: &str, of: impl Fn(&File, &Views) -> Vec<Paragraph>) -> Vec<String> {
        let tree = Tree::of(&[("crates/engine/txn/src/lib.rs", text)]);
        let (file, views) = tree.rust().next().expect("one file");
        let line = |paragraph: &Paragraph| {
            let words: Vec<&str> = paragraph.words.iter().map(|word| &*word.text).collect();
            format!("{}: {}", paragraph.words[0].line, words.join(" "))
        };
        of(file, views).iter().map(line).collect()
    }

    #[test]
    fn comments_are_paragraphs_without_code() {
        let text = "//! One\n//! two `x y`.\n//!\n//! ```\n//! code\n//! ```\n//! - an item\nf();\n\
            /// Three\nfn f() {} // four\n";
        let found = read(text, |_, views| comments(views));
        assert_eq!(found, ["1: One two `.", "7: - an item", "9: Three four"]);
    }

    #[test]
    fn literals_are_paragraphs_if_they_have_several_words() {
        let text = "f(\"a lane is \\\n   lost\", \"id\"); // \"no literal at all\"\n";
        assert_eq!(read(text, literals), ["1: a lane is lost"]);
    }
}
