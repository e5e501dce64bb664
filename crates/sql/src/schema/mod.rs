//! `schema.sql`: tables, keys and indexes.
//!
//! The statements are `CREATE TABLE`, `CREATE INDEX` and `ALTER TABLE ... ADD` of a key. [`statement`] has one function
//! for each, [`column`] and [`constraint`] what stands inside a table, and [`draft`] makes a table of it.
//!
//! [`statement`]: self::statement

mod column;
mod constraint;
mod draft;
mod names;
mod statement;

use crate::catalog::Catalog;
use crate::error::Result;
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use draft::Draft;

/// Reads the statements of `schema.sql`.
///
/// # Errors
///
/// What PostgreSQL would refuse, and what it takes and we do not, with its place.
pub fn read_schema(source: &Source) -> Result<Catalog> {
    let tokens = tokenize(source, 0, source.text())?;
    let mut reader = SchemaReader {
        source,
        cursor: Cursor::new(source, tokens, source.text().len()),
        drafts: Vec::new(),
        relations: Vec::new(),
    };
    while !reader.cursor.is_at_end() {
        reader.statement()?;
    }
    let tables = reader.drafts.into_iter().map(|draft| draft.finish(source));
    Ok(Catalog { tables: tables.collect::<Result<_>>()? })
}

/// Where the reader stands, and what it has found.
struct SchemaReader<'s> {
    source: &'s Source,
    cursor: Cursor<'s>,
    drafts: Vec<Draft>,
    /// Names of tables and indexes, which share one space.
    relations: Vec<String>,
}
