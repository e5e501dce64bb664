//! Result rows that are most of a table's row: these are copied as a whole.

use crate::code::{Code, Kind};
use crate::function::Function;
use crate::names::{constant, identifier};

/// A row is copied as a whole if at least one in this many of its bytes is returned.
const RETURNED_PART: usize = 2;
const WORD_BYTES: usize = 8;

impl Function<'_> {
    /// Returns the record to which all of these columns belong, and the columns, if they are most
    /// of the record's row.
    pub fn whole(&self, codes: &[Code]) -> Option<(String, String)> {
        let row = codes.first()?.rows.first()?;
        let mut columns = Vec::new();
        let (mut returned, mut of) = (0, None);
        for code in codes {
            let (module, column) = column_of(code, &row.record)?;
            let (table, column_bytes) = self.column_bytes(module, column)?;
            if *of.get_or_insert(table) != table {
                return None;
            }
            returned += column_bytes;
            let slot = format!("{module}::{column}");
            columns.push(match code.kind {
                Kind::Int => format!("Column::Int({slot})"),
                Kind::Decimal(scale) => format!("Column::Decimal({slot}, {scale})"),
                Kind::Text => format!("Column::Bytes({slot})"),
                _ => return None,
            });
        }
        let schema = &self.workload.catalog.tables[of?].schema;
        let words = schema.key_words() as usize + schema.row_layout(false).payload_words as usize;
        (returned * RETURNED_PART >= words * WORD_BYTES)
            .then(|| (row.record.clone(), columns.join(", ")))
    }

    /// Returns the table of a module of columns, and the size in bytes of the column with this
    /// constant.
    fn column_bytes(&self, module: &str, name: &str) -> Option<(usize, usize)> {
        let tables = &self.workload.catalog.tables;
        let table = tables.iter().position(|table| identifier(&table.name) == module)?;
        let mut columns = tables[table].schema.columns().iter();
        let column = columns.find(|column| constant(&column.name) == name)?;
        let bytes = match column.column_type.fixed_bytes() {
            Some(bytes) => bytes as usize,
            None => column.column_type.length_max() as usize,
        };
        Some((table, bytes))
    }
}

/// Returns module and constant of a column, if the fragment is a column of this record that is not
/// null.
fn column_of<'c>(code: &'c Code, record: &str) -> Option<(&'c str, &'c str)> {
    let reads = code.text.strip_prefix(record)?.strip_suffix(')')?;
    let slot = reads.strip_prefix(".int_in(").or_else(|| reads.strip_prefix(".bytes_in("))?;
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    if code.is_nullable || !slot.chars().all(is_path) {
        return None;
    }
    slot.split_once("::")
}
