//! Compares both parsers on the corpus of `crates/sql/sql`: PostgreSQL's parser accepts every text
//! that ours accepts, and ours refuses every text that PostgreSQL's refuses. The verdicts of
//! PostgreSQL's parser are recorded, which separates syntax errors from unknown names and wrong
//! types; `NAMDB_BLESS=1` records new ones.

use crate::corpus::{Kind, cases, text};
use sql::ErrorKind;
use std::fmt::Write;
use std::path::Path;

const KINDS: [Kind; 2] = [Kind::Schema, Kind::Procedures];

/// Whether our verdict is the expected one for cases of this file.
fn is_as_expected(file: &str, ours: Option<ErrorKind>) -> bool {
    match file {
        "accepted" => ours.is_none(),
        "outside" => ours == Some(ErrorKind::Outside),
        _ => matches!(ours, Some(ErrorKind::Syntax | ErrorKind::Name | ErrorKind::Type)),
    }
}

/// Both verdicts on the cases of a file, and the number of texts that PostgreSQL's parser accepted,
/// stopped at because it knows no tables, and refused.
fn judged(file: &str, kind: Kind) -> (String, [usize; 3]) {
    let mut record = String::new();
    let mut counts = [0; 3];
    for case in cases(file, kind) {
        let ours = case.read().err();
        let name = &case.name;
        let kind = ours.as_ref().map(|error| error.first().kind);
        assert!(is_as_expected(file, kind), "{file}: `{name}`: {ours:?}");
        if let Some(errors) = &ours {
            for error in errors.iter() {
                assert!(error.line > 0 && error.column > 0, "{file}: `{name}`: {error}");
                assert!(error.file.ends_with(".sql"), "{file}: `{name}`: {error}");
            }
        }
        let ours = kind.map_or_else(|| "reads it".to_owned(), |kind| format!("{kind:?}"));
        let (at, theirs) = match grammar::read(&case.text) {
            Ok(read) => match read.routines.into_iter().find_map(|routine| routine.stopped) {
                None => (0, "reads it".to_owned()),
                Some(message) => (1, format!("stops at a name: {message}")),
            },
            Err(message) => (2, message),
        };
        counts[at] += 1;
        // Writing to a string cannot fail.
        let _ = writeln!(record, "{name}\n    ours: {ours}\n    PostgreSQL's: {theirs}");
        let refuses = at == 2;
        assert!(!refuses || kind.is_some(), "{file}: PostgreSQL's refuses `{name}`: {theirs}");
        assert!(!refuses || file != "outside", "{file}: `{name}` is no SQL: {theirs}");
    }
    (record, counts)
}

fn compare(file: &str, kinds: &[Kind], expected: impl Fn([usize; 3]) -> bool) {
    let mut found = String::new();
    let mut sum = [0; 3];
    for &kind in kinds {
        let (record, counts) = judged(file, kind);
        let _ = write!(found, "# {kind:?}\n{record}");
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(expected(sum), "{file}: read, stopped and refused: {sum:?}");
    let path = format!("tests/verdicts/{file}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the record is written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, recorded, "{} differs; NAMDB_BLESS=1 records it anew", path.display());
}

#[test]
fn what_ours_takes_postgresqls_parser_reads() {
    compare("accepted", &KINDS, |[read, stopped, refused]| {
        refused == 0 && read > 20 * stopped.max(1)
    });
}

#[test]
fn what_is_outside_of_ours_postgresqls_parser_reads() {
    compare("outside", &KINDS, |[read, stopped, refused]| {
        refused == 0 && read > 20 * stopped.max(1)
    });
}

#[test]
fn what_postgresqls_parser_refuses_ours_refuses() {
    compare("rejected", &KINDS, |[read, _, refused]| read > 30 && refused > 50);
}

/// These cases are wrong only with respect to their tables.
#[test]
fn what_fails_when_it_is_run_postgresqls_parser_reads() {
    compare("rejected_when_run", &KINDS[1..], |[read, ..]| read > 20);
}

#[test]
fn every_expression_is_read() {
    let text = text("accepted.expressions.sql");
    let lists = text.lines().filter(|line| !line.starts_with("--") && !line.is_empty());
    let mut count = 0;
    for list in lists {
        if let Err(error) = grammar::read(&format!("SELECT {list}")) {
            panic!("{list}\n{error}");
        }
        count += 1;
    }
    assert!(count > 30, "only {count}");
}
