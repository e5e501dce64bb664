//! Compares both parsers on the shipped files and on the files of other tests.

use grammar::Reading;
use sql::{CHECKS, Program, Source};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The folders below `folder` with a schema.
fn folders(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("schema.sql").is_file() {
        found.push(folder.to_owned());
    }
    let entries = fs::read_dir(folder).expect("a folder of ours can be read");
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    inside.iter().filter(|path| path.is_dir()).for_each(|path| folders(path, found));
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The objects that PostgreSQL's parser finds in a valid file; nothing if the file is missing.
fn theirs(folder: &Path, file: &str) -> Reading {
    let path = folder.join(file);
    if !path.is_file() {
        return Reading::default();
    }
    grammar::read(&text(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Both parsers accept the file and find the same routines.
fn same_routines(folder: &Path, file: &str, ours: &Program) {
    let theirs = theirs(folder, file);
    let names: Vec<&str> = theirs.routines.iter().map(|routine| &*routine.name).collect();
    let ours: Vec<&str> = ours.procedures.iter().map(|procedure| &*procedure.name).collect();
    assert_eq!(names, ours, "{}", folder.join(file).display());
    assert_eq!(theirs.statements, ours.len(), "{}", folder.join(file).display());
}

/// Both parsers accept the folder; returns its program and its checks.
fn read(folder: &Path) -> [Program; 2] {
    let schema = Source::new("schema.sql", &text(&folder.join("schema.sql")));
    let catalog = sql::read_schema(&schema).unwrap_or_else(|error| panic!("{error}"));
    let ours: Vec<&str> = catalog.tables.iter().map(|table| &*table.name).collect();
    let theirs = theirs(folder, "schema.sql");
    assert_eq!(theirs.tables, ours, "{}", folder.display());
    assert_eq!(theirs.routines, [], "{}", folder.display());
    let program = if folder.join("procedures.sql").is_file() {
        Program::read(folder).unwrap_or_else(|error| panic!("{error}"))
    } else {
        Program { catalog, procedures: Vec::new() }
    };
    let checks = Program::read_checks(folder).unwrap_or_else(|error| panic!("{error}"));
    same_routines(folder, "procedures.sql", &program);
    same_routines(folder, CHECKS, &checks);
    [program, checks]
}

/// Each embedded statement is exactly one statement.
fn statements_are_one_each(program: &Program) -> usize {
    let mut count = 0;
    for embedded in program.embedded_statements() {
        let read = grammar::read(&embedded.text);
        let read = read.unwrap_or_else(|error| panic!("{}\n{error}", embedded.text));
        assert_eq!(read.statements, 1, "{}", embedded.text);
        count += 1;
    }
    count
}

#[test]
fn both_parsers_read_every_shipped_file() {
    let mut shipped = Vec::new();
    for folder in ["workloads", "examples"] {
        folders(&root().join(folder), &mut shipped);
    }
    assert!(shipped.len() >= 5, "only {shipped:?}");
    for folder in shipped {
        let [program, checks] = read(&folder);
        assert!(!program.procedures.is_empty(), "{}", folder.display());
        assert!(!checks.procedures.is_empty(), "{}", folder.display());
        let all = [&program, &checks];
        let statements: usize = all.map(statements_are_one_each).iter().sum();
        assert!(statements > checks.procedures.len(), "{}", folder.display());
        // PostgreSQL's parser parsed every body to its end.
        for file in ["procedures.sql", CHECKS] {
            for routine in theirs(&folder, file).routines {
                assert_eq!(routine.stopped, None, "{}: {}", folder.display(), routine.name);
            }
        }
    }
}

#[test]
fn both_parsers_read_the_files_of_our_tests() {
    let mut found = Vec::new();
    folders(&root().join("crates"), &mut found);
    assert!(found.len() >= 8, "only {found:?}");
    for folder in found {
        read(&folder).iter().for_each(|program| {
            statements_are_one_each(program);
        });
    }
}
