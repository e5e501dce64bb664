//! What every row of a table satisfies. A row that does not deviates: the executor tells which condition it is, in PostgreSQL's
//! words.

use crate::code::{Code, Kind};
use crate::function::Function;
use crate::truth::Asked;
use crate::unsupported::Unsupported;
use sql::expression::{Expr, ExprKind};
use sql::function::Function as Called;
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

impl Function<'_> {
    /// Binds the values of a row that its conditions, and texts that its references look at to names: they are looked at, and
    /// stored.
    pub fn settle_checked(
        &mut self,
        table: usize,
        row: &mut [Code],
        changed: Option<&[usize]>,
    ) -> Result<()> {
        let mut looked_at = BTreeSet::new();
        for check in self.table(table).checks.iter().filter(|of| concerns(&of.condition, changed)) {
            looked_at.extend(columns_of(&check.condition));
        }
        let refers = self.table(table).foreign_keys.iter().flat_map(|key| &key.columns);
        looked_at.extend(refers.filter(|&&column| row[column].kind == Kind::Text));
        for column in looked_at {
            if changed.is_none_or(|changed| changed.contains(&column)) {
                row[column] = match is_slice(&row[column]) {
                    true => {
                        let name = &self.table(table).schema.columns()[column].name;
                        let text = self.bound(name, &row[column], row[column].text.clone());
                        Code { text, ..row[column].clone() }
                    }
                    false => self.settled(table, column, &row[column])?,
                };
            }
        }
        Ok(())
    }

    /// Prints that a row of a table, which has these values now, satisfies the conditions that name columns which have
    /// changed; of a new row all have.
    pub fn check_row(
        &mut self,
        table: usize,
        row: &[Code],
        changed: Option<&[usize]>,
    ) -> Result<()> {
        for check in self.table(table).checks.iter().filter(|of| concerns(&of.condition, changed)) {
            let holds = self.scope(&[row], &[]).truth(&check.condition, Asked::NotFalse)?;
            if holds.text == "true" {
                continue;
            }
            self.records([&holds]);
            self.line(match holds.text.as_str() {
                "false" => "return Err(Stop::Deviates);".to_owned(),
                text => format!("check({text})?;"),
            });
        }
        Ok(())
    }

    /// Binds a value of a column to a name, unless it has one, or is as short: the row that it may be read from is about to
    /// change.
    pub fn settled(&mut self, table: usize, column: usize, code: &Code) -> Result<Code> {
        let described = &self.table(table).schema.columns()[column];
        if code.text == "None" {
            return match described.nullable {
                true => Ok(code.clone()),
                false => Err(Unsupported::new("a null in a column that has none")),
            };
        }
        let is_nullable = code.is_nullable && described.nullable;
        let value = if is_nullable { code.text.clone() } else { code.known() };
        let name = value.strip_suffix(".as_deref()").unwrap_or(&value);
        let text = if code.rows.is_empty() && !name.contains(['(', ' ']) {
            value
        } else if code.kind == Kind::Text {
            let bytes = code.bytes_max.unwrap_or(described.column_type.length_max() as usize);
            let text = match is_nullable {
                true => format!("{value}.map(Text::<{bytes}>::new).transpose()?"),
                false => format!("Text::<{bytes}>::new({value})?"),
            };
            let name = self.bound(&described.name, code, text);
            if is_nullable { format!("{name}.as_deref()") } else { format!("&{name}") }
        } else {
            self.bound(&described.name, code, value)
        };
        Ok(Code { text, is_nullable, rows: BTreeSet::new(), ..code.clone() })
    }

    /// Binds a value to a name.
    fn bound(&mut self, wanted: &str, code: &Code, value: String) -> String {
        let name = self.names.fresh(wanted);
        self.records([code]);
        self.line(format!("let {name} = {value};"));
        name
    }
}

/// Whether a piece gives part of a text that lasts longer than a row.
fn is_slice(code: &Code) -> bool {
    let is_plain = code.rows.is_empty() && !code.is_nullable;
    is_plain && code.text.starts_with("text::") && !code.text.contains('&')
}

/// The columns of source 0 that a condition names.
fn columns_of(condition: &Expr) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    condition.visit(&mut |part| {
        if let ExprKind::Column(column) = &part.kind {
            columns.insert(column.column);
        }
    });
    columns
}

/// Whether a condition may have another answer since these columns changed, or since the time did.
fn concerns(condition: &Expr, changed: Option<&[usize]>) -> bool {
    let Some(changed) = changed else { return true };
    let mut is_of_time = false;
    condition.visit(&mut |part| {
        is_of_time |= matches!(
            part.kind,
            ExprKind::Function {
                function: Called::Now
                    | Called::LocalTimestamp
                    | Called::ClockTimestamp
                    | Called::CurrentDate
                    | Called::Random,
                ..
            }
        );
    });
    is_of_time || columns_of(condition).iter().any(|column| changed.contains(column))
}
