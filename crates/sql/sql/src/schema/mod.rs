//! `schema.sql`: tables, keys and indexes.
//!
//! The statements are `CREATE TABLE`, `CREATE INDEX` and `ALTER TABLE ... ADD` of a constraint.
//! [`statement`] has one function for each, [`column`] and [`constraint`] parse the parts of a
//! table, and [`draft`] builds the table. Sessions change tables in other ways, too: [`alter`].
//!
//! [`statement`]: self::statement
//! [`alter`]: self::alter
//!
//! Decision: docs/decisions/0159-a-table-without-a-primary-key-has-a-hidden-column-ctid.md

mod alter;
mod column;
mod computed;
mod constraint;
mod draft;
mod key_room;
mod names;
mod recover;
mod refused;
mod set_schema;
mod statement;

pub use column::IDENTITY;

use crate::catalog::Catalog;
use crate::errors::{Errors, Findings};
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use draft::Draft;

/// Parses the statements of `schema.sql`.
///
/// # Errors
///
/// All errors that PostgreSQL would report, and all SQL that it accepts and this crate does not
/// support, with positions.
pub fn read_schema(source: &Source) -> Result<Catalog, Errors> {
    let mut findings = Findings::default();
    let catalog = read(source, &mut findings);
    findings.into_result(catalog)
}

/// As [`read_schema`], for statements of SQL sessions: columns may be `text`, and storage
/// parameters and similar clauses have no effect.
///
/// # Errors
///
/// As [`read_schema`].
pub fn read_definitions(source: &Source) -> Result<Catalog, Errors> {
    let mut findings = Findings::default();
    let catalog = read_for(source, &mut findings, true);
    findings.into_result(catalog)
}

/// As [`read_schema`]; returns the tables that are valid.
pub(crate) fn read(source: &Source, findings: &mut Findings) -> Catalog {
    read_for(source, findings, false)
}

fn read_for(source: &Source, findings: &mut Findings, is_session: bool) -> Catalog {
    let tokens = match tokenize(source, 0, source.text()) {
        Ok(tokens) => tokens,
        Err(error) => {
            findings.add_unreadable_file(error);
            return Catalog::default();
        }
    };
    let errors_before = findings.count();
    let mut reader = SchemaReader {
        source,
        cursor: Cursor::new(source, tokens, source.text().len()),
        drafts: Vec::new(),
        relations: Vec::new(),
        added_column: None,
        is_session,
        findings,
    };
    while !reader.cursor.is_at_end() {
        let (from, tables) = (reader.cursor.position(), reader.drafts.len());
        if let Err(error) = reader.statement() {
            reader.drafts.truncate(tables);
            reader.skip_statement(from, error);
        }
    }
    let SchemaReader { drafts, findings, .. } = reader;
    let mut catalog = Catalog::default();
    for draft in drafts {
        if findings.is_damaged(&draft.name) {
            continue;
        }
        let name = draft.name.clone();
        match draft.finish(source, findings.count() > errors_before, is_session) {
            Ok(table) => catalog.tables.push(table),
            Err(error) => {
                findings.add(error);
                findings.mark_damaged(&name);
            }
        }
    }
    findings.sort_from(errors_before);
    catalog
}

/// The position of the parser, and the tables found so far.
struct SchemaReader<'s> {
    source: &'s Source,
    cursor: Cursor<'s>,
    drafts: Vec<Draft>,
    /// Names of tables and indexes, which share a namespace.
    relations: Vec<String>,
    /// The column that `ALTER TABLE` adds, while its constraints are read.
    added_column: Option<usize>,
    /// Whether the statements are those of SQL sessions.
    is_session: bool,
    findings: &'s mut Findings,
}
