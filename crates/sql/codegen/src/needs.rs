//! The columns that a procedure needs of rows that it reads together: if they end at least a cache
//! line before the end of the row, the rest of the row is not fetched.
//!
//! The columns are found in the printed code. Rows that a procedure changes are fetched whole,
//! since their old versions are kept.
//!
//! Decision: docs/decisions/0247-generated-code-evaluates-everything-that-may-raise-an-error.md

use crate::function::Function;
use crate::names::{constant, identifier};
use procedure::node::{Node, Operator};
use sql::Table;
use std::collections::BTreeSet;

/// Maximum number of columns in the name of a projection.
const NAMED_MAX: usize = 4;
/// Minimum number of bytes worth skipping at the end of a row: a cache line.
const BYTES_MIN: u32 = 64;

/// The columns of a table that a procedure needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Need {
    pub table: usize,
    pub columns: Vec<usize>,
    /// Its name in the module of the tables.
    pub name: String,
}

impl Function<'_> {
    /// Prints reading all rows in the list of reads, which are from these tables, into another
    /// list.
    pub fn read_many(&mut self, tables: &BTreeSet<usize>, into: &str) {
        self.read_together.extend(tables);
        let needs = self.guess.needs.iter().filter(|need| tables.contains(&need.table));
        let needs: Vec<String> = needs.map(|need| format!("tables.{}", need.name)).collect();
        let call = match needs.is_empty() {
            true => "read_many(&call.scratch.reads".to_owned(),
            false => format!("read_columns(&call.scratch.reads, &[{}]", needs.join(", ")),
        };
        self.line(format!("call.txn.{call}, &mut {into}).await?;"));
    }

    /// Returns the needs of the code printed so far, for tables whose rows it reads together,
    /// unless it needs whole rows.
    pub fn needs(&self) -> Vec<Need> {
        let tables = self.read_together.iter().filter(|&&table| !self.is_for_change(table));
        let need = |&table: &usize| {
            let of = self.table(table);
            let columns = self.columns_of(of);
            let name = self.need_name(of, &columns);
            is_short(of, &columns).then_some(Need { table, columns, name })
        };
        tables.filter_map(need).collect()
    }

    /// Returns a name; procedures with the same needs share it.
    fn need_name(&self, table: &Table, columns: &[usize]) -> String {
        let of = identifier(&table.name);
        let name = |&column: &usize| identifier(&table.schema.columns()[column].name);
        match columns {
            [] => format!("columns_of_{of}"),
            few if few.len() <= NAMED_MAX => {
                format!("columns_of_{of}_{}", few.iter().map(name).collect::<Vec<_>>().join("_"))
            }
            _ => format!("columns_of_{of}_in_{}", identifier(&self.procedure.routine.name)),
        }
    }

    /// Whether a statement changes or locks rows of a table.
    fn is_for_change(&self, table: usize) -> bool {
        let mut found = false;
        let mut note = |node: &Node| {
            found |= match &node.operator {
                Operator::Scan(scan) => scan.table == table && scan.is_for_change,
                Operator::Lock { table: locked, .. } => *locked == table,
                Operator::Insert(insert) => insert.table == table,
                Operator::Update(update) => update.table == table,
                Operator::Delete(delete) => delete.table == table,
                _ => false,
            };
        };
        for statement in &self.procedure.statements {
            statement.root.walk(&mut note);
            statement.sub_plans.iter().for_each(|plan| plan.root.walk(&mut note));
        }
        found
    }

    /// Returns the columns of a table that the code uses; key columns are part of every row.
    fn columns_of(&self, table: &Table) -> Vec<usize> {
        let module = identifier(&table.name);
        let is_named = |&column: &usize| {
            let name = constant(&table.schema.columns()[column].name);
            has_word(&self.out, &format!("{module}::{name}"))
        };
        let columns = (0..table.columns.len()).filter(|at| !table.schema.key().contains(at));
        columns.filter(is_named).collect()
    }
}

/// Whether these columns end early enough in the row that skipping the rest pays off.
fn is_short(table: &Table, columns: &[usize]) -> bool {
    let ranges = table.schema.payload_ranges(columns);
    let end = ranges.into_iter().map(|(_, end)| end).max().unwrap_or(0);
    let whole = 8 * table.schema.row_layout(false).payload_words;
    end + BYTES_MIN <= whole
}

/// Whether a text contains a word.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        let text = "new_order::O_ID + orders::O_ID_2 + (stock::S_DATA)";
        assert!(has_word(text, "stock::S_DATA") && has_word(text, "new_order::O_ID"));
        assert!(!has_word(text, "order::O_ID") && !has_word(text, "orders::O_ID"));
    }
}
