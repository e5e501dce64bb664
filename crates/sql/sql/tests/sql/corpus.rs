//! The files of `tests/corpus`: each case follows a line `-- case: DESCRIPTION`. The tests of
//! `crates/sql/grammar` include this file, too.

use sql::{Catalog, Errors, Procedure, Program, Source};
use std::path::PathBuf;

/// The file that a case is read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `schema.sql`
    Schema,
    /// `procedures.sql`, with the tables of `corpus/schema.sql`.
    Procedures,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub text: String,
    pub kind: Kind,
}

/// The path of a file of the corpus, for every crate that includes this file.
pub fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sql/sql/tests/corpus").join(file)
}

pub fn text(file: &str) -> String {
    let path = path(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases of `NAME.schema.sql` or `NAME.procedures.sql`.
pub fn cases(name: &str, kind: Kind) -> Vec<Case> {
    let file = match kind {
        Kind::Schema => format!("{name}.schema.sql"),
        Kind::Procedures => format!("{name}.procedures.sql"),
    };
    let text = text(&file);
    let parts: Vec<&str> = text.split("-- case: ").collect();
    assert!(parts.len() > 1, "{file} has no cases");
    let case = |part: &&str| {
        let (name, text) = part.split_once('\n').expect("a case has lines");
        Case { name: name.trim().to_owned(), text: text.to_owned(), kind }
    };
    parts[1..].iter().map(case).collect()
}

/// The tables of `corpus/schema.sql`.
pub fn catalog() -> Catalog {
    sql::read_schema(&Source::new("schema.sql", &text("schema.sql")))
        .expect("the corpus has a schema")
}

impl Case {
    /// Reads the case; a schema has no procedures.
    pub fn read(&self) -> Result<Vec<Procedure>, Errors> {
        match self.kind {
            Kind::Schema => {
                let empty = Source::new("procedures.sql", "");
                Program::parse(&Source::new("schema.sql", &self.text), &empty)
                    .map(|program| program.procedures)
            }
            Kind::Procedures => {
                sql::read_procedures(&Source::new("procedures.sql", &self.text), &catalog())
            }
        }
    }
}
