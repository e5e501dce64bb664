//! `COPY`: its syntax, and the text and CSV formats.

mod decode;
mod encode;
mod parse;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode_row;
pub(crate) use parse::parse_copy;

use crate::outcome::CopyDirection;

/// A `COPY` statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CopyStatement {
    pub direction: CopyDirection,
    pub source: CopySource,
    pub options: CopyOptions,
}

/// The rows of a `COPY`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum CopySource {
    /// A table; `None` means all columns.
    Table { name: String, columns: Option<Vec<String>> },
    /// The text of a query.
    Query(String),
}

/// The format of a `COPY`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CopyOptions {
    /// Whether the server writes and reads PostgreSQL's binary format; the others are of no
    /// importance then.
    pub is_binary: bool,
    pub is_csv: bool,
    pub delimiter: u8,
    pub null: String,
    pub has_header: bool,
    pub quote: u8,
    pub escape: u8,
}

impl CopyOptions {
    /// The defaults of a format.
    pub fn new(is_csv: bool) -> Self {
        Self {
            is_binary: false,
            is_csv,
            delimiter: if is_csv { b',' } else { b'\t' },
            null: if is_csv { String::new() } else { "\\N".to_owned() },
            has_header: false,
            quote: b'"',
            escape: b'"',
        }
    }
}
