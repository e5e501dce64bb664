//! Prints keys and ranges of tables.
//!
//! Decision: docs/decisions/0243-generated-code-reports-duplicate-primary-keys-itself.md

use crate::code::{Code, Kind};
use crate::expression::Scope;
use crate::unsupported::Unsupported;
use layout::ColumnType;
use procedure::node::{Bound, Range};
use sql::Table;
use sql::expression::Expr;

type Result<T> = std::result::Result<T, Unsupported>;

/// Returns Rust code for the key that these values form.
pub fn key(scope: Scope<'_>, table: &Table, columns: &[usize], values: &[Expr]) -> Result<Code> {
    key_of(table, columns, &codes(scope, columns, values)?)
}

/// As [`key`], for values that are Rust code already.
pub fn key_of(table: &Table, columns: &[usize], values: &[Code]) -> Result<Code> {
    let text = builder(table, columns, values)?;
    Ok(Code::from_parts(format!("{text}.key()"), Kind::Int, &values.iter().collect::<Vec<_>>()))
}

/// Returns the code of as many values as there are columns.
fn codes(scope: Scope<'_>, columns: &[usize], values: &[Expr]) -> Result<Vec<Code>> {
    columns.iter().zip(values).map(|(_, value)| scope.code(value)).collect()
}

/// The bounds of a range.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Smallest key.
    pub low: String,
    /// Largest key.
    pub high: String,
    /// The values from which both are built.
    pub parts: Vec<Code>,
}

/// Returns the bounds of a range over these columns of an index, or of the primary key.
pub fn ends(scope: Scope<'_>, table: &Table, columns: &[usize], range: &Range) -> Result<Ends> {
    let words = match range.index {
        Some(_) => table.schema.index_key_words(columns),
        None => table.schema.key_words(),
    };
    let mut parts = codes(scope, columns, &range.equal)?;
    let prefix = builder(table, columns, &parts)?;
    let next = columns.get(range.equal.len()).copied();
    let mut end = |bound: &Option<Bound>, is_low: bool| -> Result<String> {
        let name = if is_low { "prefix_low" } else { "prefix_high" };
        let Some(bound) = bound else { return Ok(format!("{prefix}.{name}({words})")) };
        let column =
            next.ok_or_else(|| Unsupported::new("a range beyond the columns of its index"))?;
        let value = scope.code(&bound.value)?;
        if value.kind.scale().is_none() && !bound.is_included {
            return Err(Unsupported::new("a text range without a bound"));
        }
        // Columns with an exclusive bound are integers of some unit, so the bound is the adjacent
        // value.
        let text = match (bound.is_included, is_low) {
            (true, _) => value.known(),
            (false, true) => format!("number::add({}, 1)?", value.known()),
            (false, false) => format!("number::subtract({}, 1)?", value.known()),
        };
        let inclusive = Code { text, is_nullable: false, ..value };
        let part = key_part(table, column, &inclusive, !bound.is_included)?;
        parts.push(inclusive);
        Ok(format!("{prefix}{part}.{name}({words})"))
    };
    let low = end(&range.low, true)?;
    let high = end(&range.high, false)?;
    Ok(Ends { low, high, parts })
}

fn builder(table: &Table, columns: &[usize], values: &[Code]) -> Result<String> {
    let mut text = "KeyBuilder::new()".to_owned();
    for (&column, value) in columns.iter().zip(values) {
        text.push_str(&key_part(table, column, value, false)?);
    }
    Ok(text)
}

/// Returns the call that appends a column to a key. A value that `may_leave` the column's range is
/// checked.
fn key_part(table: &Table, column: usize, value: &Code, may_leave: bool) -> Result<String> {
    let described = &table.schema.columns()[column];
    let known = value.known();
    let flag = match described.nullable && !table.schema.key().contains(&column) {
        true => ".unsigned(0, 1)",
        false => "",
    };
    let checked =
        |name: &str| if may_leave { format!("number::{name}({known})?") } else { known.clone() };
    let call = match described.column_type {
        ColumnType::Int2 => format!(".int2({} as i16)", checked("int2")),
        ColumnType::Int4 | ColumnType::Date => format!(".int4({} as i32)", checked("int4")),
        ColumnType::Int8 | ColumnType::Timestamp | ColumnType::Decimal { .. } => {
            format!(".int8({known})")
        }
        ColumnType::Char(length) | ColumnType::Varchar(length) => {
            let fits = value.bytes_max.is_some_and(|bytes| bytes <= length as usize);
            let text =
                if fits { known.clone() } else { format!("text::fitting({known}, {length})?") };
            format!(".padded({text}, {length})")
        }
        ColumnType::Bool => format!(".unsigned(u64::from({known}), 1)"),
        _ => {
            let name = &described.name;
            return Err(Unsupported::new(format!("a column of this type in a key: {name}")));
        }
    };
    Ok(format!("{flag}{call}"))
}
