//! Constraints on a table's rows. A violation deviates: the executor reports which one, in
//! PostgreSQL's words.
//!
//! Decision: docs/decisions/0272-generated-code-checks-constraints-and-the-executor-reports.md

use crate::code::{Code, Kind};
use crate::function::Function;
use crate::truth::TruthTest;
use crate::unsupported::Unsupported;
use sql::expression::{Expr, ExprKind};
use sql::function::Function as Called;
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

impl Function<'_> {
    /// Binds the values of a row that its checks use, and the texts that its foreign keys use, to
    /// names: they are used twice, in the check and in the row.
    pub fn bind_checked_values(
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

    /// Prints the checks of a table's row. `row` has its new values; only checks that use changed
    /// columns are printed, or all for a new row.
    pub fn check_row(
        &mut self,
        table: usize,
        row: &[Code],
        changed: Option<&[usize]>,
    ) -> Result<()> {
        for check in self.table(table).checks.iter().filter(|of| concerns(&of.condition, changed)) {
            let holds = self.scope(&[row], &[]).truth(&check.condition, TruthTest::NotFalse)?;
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

    /// Binds a value of a column to a name, unless it is a name or a literal: the row from which it
    /// is read is about to change.
    pub fn settled(&mut self, table: usize, column: usize, code: &Code) -> Result<Code> {
        let described = &self.table(table).schema.columns()[column];
        if code.text == "None" {
            return match described.nullable {
                true => Ok(code.clone()),
                false => Err(Unsupported::new("a null in a NOT NULL column")),
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

/// Whether a fragment is a slice of a text that outlives the row.
fn is_slice(code: &Code) -> bool {
    let is_plain = code.rows.is_empty() && !code.is_nullable;
    is_plain && code.text.starts_with("text::") && !code.text.contains('&')
}

/// Returns the columns of source 0 that a condition uses.
fn columns_of(condition: &Expr) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    condition.visit(&mut |part| {
        if let ExprKind::Column(column) = &part.kind {
            columns.insert(column.column);
        }
    });
    columns
}

/// Whether a condition may have another result because of changed columns, or because it depends on
/// the time.
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
                    | Called::LocalTime
                    | Called::Random,
                ..
            }
        );
    });
    is_of_time || columns_of(condition).iter().any(|column| changed.contains(column))
}
