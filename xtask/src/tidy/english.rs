//! Comments and messages avoid habits of speech that a reader has to decode.

use super::Violation;
use super::leftovers::test_modules;
use super::lengths;
use super::prose::{self, Paragraph, Source, Word};
use super::ratchet::{self, Ratcheted};
use super::tree::{Tree, line_of};

/// Consecutive words, each with its variants, and the remedy.
struct Phrase {
    words: &'static [&'static [&'static str]],
    /// The phrase is accepted in front of one of these.
    unless_before: &'static [&'static str],
    /// Messages may say it, since there it is the user who acts.
    only_comments: bool,
    remedy: &'static str,
}

impl Phrase {
    const fn new(words: &'static [&'static [&'static str]], remedy: &'static str) -> Phrase {
        Phrase { words, unless_before: &[], only_comments: false, remedy }
    }

    const fn unless_before(mut self, words: &'static [&'static str]) -> Phrase {
        self.unless_before = words;
        self
    }

    const fn only_in_comments(mut self) -> Phrase {
        self.only_comments = true;
        self
    }
}

/// Any single word.
const ANY: &[&str] = &[];

const PHRASES: [Phrase; 11] = [
    Phrase::new(
        &[&["is", "are", "was", "were", "be", "been", "being"], &["told"]],
        "say which component reports, returns or records it",
    ),
    Phrase::new(&[&["tell", "tells", "telling"], &["of"]], "write reports, returns or records"),
    Phrase::new(&[&["whoever", "whomever"]], "name the component that acts"),
    Phrase::new(&[&["anew"]], "write again, or say what is repeated"),
    Phrase::new(
        &[&["none"], &["if", "when", "unless", "otherwise", "where", "while", "for"]],
        "write the value in backticks: `None` if",
    ),
    Phrase::new(
        &[&["ask", "asks", "asked", "asking"], &["for"]],
        "write prefetches, requests, reads or needs",
    )
    .only_in_comments(),
    Phrase::new(&[&["of"], &["which"]], "begin a second sentence with the thing itself"),
    Phrase::new(&[&["so"], &["many", "long"]], "name the number or the limit")
        .unless_before(&["as", "that"]),
    Phrase::new(
        &[&["there"], &["is", "are"], &["no"], ANY, &["that"]],
        "make the thing the subject: no server has",
    ),
    Phrase::new(&[&["has", "have", "had"], &["to"], &["be"]], "write must"),
    Phrase::new(&[&["stand", "stands"]], "write is, or is stored").unless_before(&["for", "still"]),
];

/// Words that begin a question and nothing else.
const QUESTIONS: [&str; 2] = ["What", "Who"];

/// The section of the ratchet.
const RATCHETED: Ratcheted = Ratcheted { section: "english", what: "hard phrases" };

/// Compares the number of each package with the recorded one.
pub fn check(tree: &Tree) -> Vec<Violation> {
    ratchet::judge(tree, &RATCHETED, find(tree))
}

/// Replaces the recorded numbers in the ratchet's text that are higher than today's.
pub fn lower(tree: &Tree, ratchet: &str) -> String {
    ratchet::lower(tree, &RATCHETED, &find(tree), ratchet)
}

/// All banned phrases of the workspace; code that a program has printed is left out.
pub fn find(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust().filter(|(file, _)| !lengths::is_generated(&file.path)) {
        let mut paragraphs = prose::comments(views);
        if !is_test(&file.path) {
            let spans = test_modules(&views.code);
            let lines: Vec<(usize, usize)> = spans
                .into_iter()
                .map(|(start, end)| (line_of(&file.text, start), line_of(&file.text, end)))
                .collect();
            let in_test = |line| lines.iter().any(|(first, last)| (*first..=*last).contains(&line));
            let literals = prose::literals(file, views);
            paragraphs.extend(literals.into_iter().filter(|found| !in_test(found.words[0].line)));
        }
        for paragraph in &paragraphs {
            for (line, what) in judge(paragraph) {
                violations.push(Violation::new(&file.path, line, what));
            }
        }
    }
    violations
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/benches/")
}

fn judge(paragraph: &Paragraph) -> Vec<(usize, String)> {
    let words = &paragraph.words;
    let mut found = Vec::new();
    for at in 0..words.len() {
        let line = words[at].line;
        for phrase in PHRASES
            .iter()
            .filter(|phrase| !(phrase.only_comments && paragraph.source == Source::Literal))
        {
            if begins(&words[at..], phrase) {
                let said: Vec<&str> =
                    words[at..at + phrase.words.len()].iter().map(|word| &*word.text).collect();
                found.push((line, format!("\"{}\": {}", said.join(" "), phrase.remedy)));
            }
        }
        if let Some(question) = question(words, at) {
            let what =
                format!("\"{question}\" begins a sentence that is no question, name the subject");
            found.push((line, what));
        }
    }
    found
}

/// Whether the words begin with the phrase, without punctuation in between.
fn begins(words: &[Word], phrase: &Phrase) -> bool {
    let count = phrase.words.len();
    if words.len() < count {
        return false;
    }
    let ends_early = words[..count - 1].iter().any(|word| ends_with_punctuation(&word.text));
    let is_said = words.iter().zip(phrase.words).all(|(word, variants)| {
        let word = plain(&word.text);
        variants.is_empty() || variants.contains(&&*word)
    });
    let next = words.get(count).map(|word| plain(&word.text)).unwrap_or_default();
    let is_accepted =
        !ends_with_punctuation(&words[count - 1].text) && phrase.unless_before.contains(&&*next);
    is_said && !ends_early && !is_accepted
}

/// The word that wrongly begins a sentence here.
fn question(words: &[Word], at: usize) -> Option<&'static str> {
    let begins = at == 0 || ends_sentence(&words[at - 1].text).is_some();
    // Markers of lists are no words of the sentence.
    let begins = begins || (at == 1 && matches!(&*words[0].text, "-" | "*"));
    let question = QUESTIONS.into_iter().find(|question| words[at].text == *question)?;
    let end = words[at..].iter().find_map(|word| ends_sentence(&word.text));
    (begins && end != Some('?')).then_some(question)
}

fn plain(word: &str) -> String {
    word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_ascii_lowercase()
}

fn ends_with_punctuation(word: &str) -> bool {
    word.ends_with(['.', ',', ';', ':', '?', '!', ')'])
}

fn ends_sentence(word: &str) -> Option<char> {
    word.trim_end_matches([')', '"', '\'']).chars().last().filter(|last| ".?!".contains(*last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        find(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    const LIBRARY: &str = "crates/engine/txn/src/commit.rs";
    const NONE: [usize; 0] = [];

    #[test]
    fn each_phrase_is_found_in_comments_also_over_lines() {
        for text in [
            "// The lane is told.\n",
            "/// The slot, none if it is free.\n",
            "//! Tells of locks.\n",
            "// For whoever reads.\n",
            "// It reads anew.\n",
            "// It asks for the leaf.\n",
            "// Rows of which none is locked.\n",
            "// Waits for so many nanoseconds.\n",
            "// There is no row that fits.\n",
            "// This has to be so.\n",
            "// The word stands in the header.\n",
            "// What is read.\n",
            "// Good. Who reads is late.\n",
            "/// - What is read.\n",
        ] {
            assert_eq!(found(LIBRARY, text), [1], "{text}");
        }
        assert_eq!(found(LIBRARY, "// The reader is\n// told.\n"), [1]);
    }

    #[test]
    fn plain_sentences_pass() {
        for text in [
            "// What if the leaf has split? Retry.\n",
            "// `None` if there is none. If so, retry.\n",
            "// So long as the lock is held, wait.\n",
            "// E stands for the maximal transaction time.\n",
            "// None of them. For all.\n",
            "// `is told`, `whoever`\n",
            "/// ```\n/// // What is read, anew.\n/// ```\n",
        ] {
            assert_eq!(found(LIBRARY, text), NONE, "{text}");
        }
    }

    #[test]
    fn messages_are_searched_outside_of_tests() {
        let text = "fn f() {\n    bail!(\"the user is told nothing\");\n}\n";
        assert_eq!(found(LIBRARY, text), [2]);
        assert_eq!(found("crates/engine/txn/tests/commit.rs", text), NONE);
        assert_eq!(found(LIBRARY, &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n")), NONE);
        assert_eq!(found(LIBRARY, "f(\"more than was asked for\");\n"), NONE);
        assert_eq!(found(LIBRARY, "f(\"whoever\");\n"), NONE);
    }
}
