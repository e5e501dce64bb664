//! Random changes to the texts of the corpus: pieces are removed, doubled, exchanged and replaced.
//! The tests of `crates/sql/grammar` include this file, too.

use crate::corpus::{Case, Kind, cases};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The number of texts that each test changes; `NAMDB_SQL_MUTATIONS` overrides it.
pub fn count(default: u32) -> u32 {
    let asked = std::env::var("NAMDB_SQL_MUTATIONS").ok();
    asked.map_or(default, |number| number.parse().expect("NAMDB_SQL_MUTATIONS is a number"))
}

/// The cases of these files, of both kinds.
pub fn corpus(names: &[&str]) -> Vec<Case> {
    let kinds = [Kind::Schema, Kind::Procedures];
    let files = names.iter().flat_map(|name| kinds.map(|kind| (*name, kind)));
    let known =
        files.filter(|(name, kind)| *kind == Kind::Procedures || *name != "rejected_when_run");
    known.flat_map(|(name, kind)| cases(name, kind)).collect()
}

/// A change of a text, at positions in thousandths of its length.
#[derive(Clone, Debug)]
pub enum Change {
    Remove(u32, u32),
    Double(u32, u32),
    Exchange(u32, u32),
    Insert(u32, &'static str),
}

const PIECES: [&str; 30] = [
    " ", "(", ")", ";", ",", "$$", "'", "\"", "::", ":=", "..", "[", "]", "$1", "NULL", "END",
    "SELECT", "INTO", "a", "1.", "%", "<<", ">>", "--", "/*", "\u{e4}", "\0", "CASE", "LOOP",
    "NOT",
];

/// One to three changes.
pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = || 0..1000_u32;
    let change = prop_oneof![
        (place(), 1..4_u32).prop_map(|(at, length)| Change::Remove(at, length)),
        (place(), 1..6_u32).prop_map(|(at, length)| Change::Double(at, length)),
        (place(), place()).prop_map(|(a, b)| Change::Exchange(a, b)),
        (place(), prop::sample::select(&PIECES[..]))
            .prop_map(|(at, piece)| Change::Insert(at, piece)),
    ];
    prop::collection::vec(change, 1..4)
}

/// Splits a text into words, numbers, blanks and single characters.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    for letter in text.chars() {
        match pieces.last_mut() {
            Some(piece)
                if class(letter) > 0 && piece.chars().all(|c| class(c) == class(letter)) =>
            {
                piece.push(letter)
            }
            _ => pieces.push(letter.to_string()),
        }
    }
    pieces
}

/// The text after the changes, which are applied in order.
pub fn changed(text: &str, changes: &[Change]) -> String {
    let mut pieces = pieces(text);
    for change in changes {
        let at = |thousandths: &u32| *thousandths as usize * pieces.len() / 1000;
        match change {
            Change::Remove(from, length) => {
                let from = at(from);
                pieces.drain(from..(from + *length as usize).min(pieces.len()));
            }
            Change::Double(from, length) => {
                let from = at(from);
                let copy = pieces[from..(from + *length as usize).min(pieces.len())].to_vec();
                pieces.splice(from..from, copy);
            }
            Change::Exchange(a, b) => {
                let (a, b) = (at(a), at(b));
                if !pieces.is_empty() {
                    pieces.swap(a, b);
                }
            }
            Change::Insert(from, piece) => pieces.insert(at(from), (*piece).to_owned()),
        }
    }
    pieces.concat()
}

/// A test runner with the same random numbers in every run.
pub fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
}
