//! The error messages of each case equal the recorded ones; `NAMDB_BLESS=1` records new ones.

use crate::corpus::{Kind, cases, path};
use sql::ErrorKind;
use std::fmt::Write;

/// Checks the kind of each error of a file's cases, and compares the messages with the record.
fn check(name: &str, kind: Kind, expected: impl Fn(ErrorKind) -> bool) {
    let mut found = String::new();
    for case in cases(name, kind) {
        let error = match case.read() {
            Ok(_) => panic!("{name}: `{}` was taken", case.name),
            Err(error) => error,
        };
        let kind = error.first().kind;
        assert!(expected(kind), "{name}: `{}` is of another kind, {kind:?}: {error}", case.name);
        writeln!(found, "{}", case.name).expect("text grows");
        error.iter().for_each(|error| writeln!(found, "    {error}").expect("text grows"));
    }
    let suffix = if kind == Kind::Schema { "schema" } else { "procedures" };
    let record = path(&format!("{name}.{suffix}.errors"));
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(&record, &found).expect("the record is written");
    }
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    assert_eq!(found, recorded, "{} differs; NAMDB_BLESS=1 records it anew", record.display());
}

#[test]
fn accepted_cases_are_accepted() {
    for kind in [Kind::Schema, Kind::Procedures] {
        for case in cases("accepted", kind) {
            if let Err(error) = case.read() {
                panic!("`{}`: {error}", case.name);
            }
        }
    }
}

#[test]
fn what_postgresql_refuses_is_refused_with_its_place() {
    let wrong = |kind| matches!(kind, ErrorKind::Syntax | ErrorKind::Name | ErrorKind::Type);
    check("rejected", Kind::Schema, wrong);
    check("rejected", Kind::Procedures, wrong);
}

#[test]
fn what_fails_when_it_is_run_is_refused_when_it_is_read() {
    let wrong = |kind| matches!(kind, ErrorKind::Syntax | ErrorKind::Name | ErrorKind::Type);
    check("rejected_when_run", Kind::Procedures, wrong);
}

#[test]
fn what_is_outside_is_refused_with_advice() {
    check("outside", Kind::Schema, |kind| kind == ErrorKind::Outside);
    check("outside", Kind::Procedures, |kind| kind == ErrorKind::Outside);
}
