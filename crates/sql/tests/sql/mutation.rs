//! The corpus with pieces of it left out, doubled, exchanged and replaced.

use crate::agreement::verdicts;
use crate::corpus::{Case, Kind, cases, catalog};
use crate::server::Server;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use sql::{ErrorKind, Program, Source};

/// Texts changed by each test; `NAMDB_SQL_MUTATIONS` asks for another number.
fn count(default: u32) -> u32 {
    let asked = std::env::var("NAMDB_SQL_MUTATIONS").ok();
    asked.map_or(default, |number| number.parse().expect("NAMDB_SQL_MUTATIONS is a number"))
}

fn corpus(names: &[&str]) -> Vec<Case> {
    let kinds = [Kind::Schema, Kind::Procedures];
    let files = names.iter().flat_map(|name| kinds.map(|kind| (*name, kind)));
    let known =
        files.filter(|(name, kind)| *kind == Kind::Procedures || *name != "rejected_when_run");
    known.flat_map(|(name, kind)| cases(name, kind)).collect()
}

/// What happens to a text, at places counted in thousandths.
#[derive(Clone, Debug)]
enum Change {
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

fn changes() -> impl Strategy<Value = Vec<Change>> {
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

/// Words, numbers, blanks and single signs.
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

fn changed(text: &str, changes: &[Change]) -> String {
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

fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
}

#[test]
fn no_text_makes_the_readers_panic() {
    let corpus = corpus(&["accepted", "rejected", "outside", "rejected_when_run"]);
    let tables = catalog();
    let inputs = (prop::sample::select(corpus), changes());
    let run = runner(count(3000)).run(&inputs, |(case, changes)| {
        let text = changed(&case.text, &changes);
        let source = Source::new("f", &text);
        let result = match case.kind {
            Kind::Schema => sql::read_schema(&source).map(|_| ()),
            Kind::Procedures => sql::read_procedures(&source, &tables).map(|_| ()),
        };
        if let Err(error) = result {
            prop_assert!(error.line >= 1 && error.column >= 1, "{error}");
            prop_assert!(error.line as usize <= text.lines().count().max(1) + 1, "{error}");
            prop_assert!(!error.sentence.is_empty());
        }
        Ok(())
    });
    run.expect("every text is read or refused");
}

#[test]
fn deep_and_long_texts_are_refused() {
    let tables = catalog();
    let deep = |before: &str, after: &str, times: usize| {
        let body = format!("{}1{}", before.repeat(times), after.repeat(times));
        format!(
            "CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN {body}; END $$"
        )
    };
    let blocks = format!(
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ {}{} $$",
        "BEGIN ".repeat(5000),
        "END; ".repeat(5000)
    );
    let texts = [
        deep("(", ")", 1000),
        deep("1 + ", "", 1500),
        deep("NOT ", "", 1500),
        deep("- ", "", 1500),
        deep("abs(", ")", 800),
        deep("CASE WHEN true THEN ", " END", 800),
        deep("(SELECT ", ")", 800),
        deep("1 + ", "", 20_000),
        blocks,
    ];
    for text in texts {
        let error = sql::read_procedures(&Source::new("f", &text), &tables)
            .expect_err("it is too deep or too long");
        assert!(matches!(error.kind, ErrorKind::Outside | ErrorKind::Type), "{error}");
    }
    let long = "-".repeat(sql::source::FILE_BYTES_MAX + 1);
    let empty = Source::new("procedures.sql", "");
    assert!(Program::parse(&Source::new("schema.sql", &long), &empty).is_err());
}

/// What we take PostgreSQL takes, and what we call wrong in its form PostgreSQL refuses, but for a few.
#[test]
fn postgresql_agrees_on_changed_texts() {
    let Some(server) = Server::start("mutation") else { return };
    let corpus = corpus(&["accepted"]);
    let mut runner = runner(1);
    let inputs = (prop::sample::select(corpus), changes());
    let mut texts: Vec<Case> = Vec::new();
    for _ in 0..count(400) {
        let (case, changes) = inputs.new_tree(&mut runner).expect("a text is drawn").current();
        let text = changed(&case.text, &changes);
        // psql sends no zero bytes, and its own commands begin with a backslash.
        if !text.contains(['\0', '\\']) {
            texts.push(Case { text, ..case });
        }
    }
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for chunk in texts.chunks(200) {
        for (case, verdict) in chunk.iter().zip(verdicts(&server, chunk, "")) {
            match (case.read(), verdict) {
                // Dates and times between quotes are read when they are used, by us.
                (Ok(_), Err(error))
                    if !error.contains("for type date")
                        && !error.contains("for type timestamp") =>
                {
                    taken.push(format!("{}\n{}\n{error}\n", case.name, case.text));
                }
                (Err(error), Ok(())) if error.kind == ErrorKind::Syntax => {
                    refused.push(format!("{}\n{}\n{error}\n", case.name, case.text));
                }
                _ => {}
            }
        }
    }
    assert!(
        taken.is_empty(),
        "PostgreSQL refuses {} of {}:\n{}",
        taken.len(),
        texts.len(),
        taken.join("\n")
    );
    // PostgreSQL notices only when it runs them that `>> a` is no operator and `a b` no alias that makes sense.
    let few = refused.len() * 100 <= texts.len().max(100);
    assert!(few, "PostgreSQL takes {} of {}:\n{}", refused.len(), texts.len(), refused.join("\n"));
}
