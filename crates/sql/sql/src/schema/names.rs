//! PostgreSQL's default names for keys and indexes, which its plans use.

use super::SchemaReader;
use crate::expression::{Expr, ExprKind};
use crate::namespace::{full_name, split};
use std::collections::BTreeSet;

/// Maximum length of a name in PostgreSQL, in bytes.
const NAME_BYTES: usize = 63;

impl SchemaReader<'_> {
    /// Chooses and reserves the name `TABLE_COLUMNS_SUFFIX`, shortened to fit, with a number
    /// appended if the name is in use [PostgreSQL 15, `ChooseRelationName`].
    pub(super) fn choose_name(&mut self, table: &str, columns: &[String], suffix: &str) -> String {
        let columns = columns.join("_");
        let mut number = 0;
        loop {
            let suffix = if number == 0 { suffix.to_owned() } else { format!("{suffix}{number}") };
            let name = object_name(table, &columns, &suffix);
            if !self.relations.contains(&name) {
                self.relations.push(name.clone());
                return name;
            }
            number += 1;
        }
    }

    /// The default name of a CHECK constraint; it contains the column's name if the condition uses
    /// exactly one column, however often [PostgreSQL 15, `AddRelationNewConstraints`,
    /// `ChooseConstraintName`].
    pub(super) fn choose_check_name(&self, table: usize, condition: &Expr) -> String {
        let mut named = BTreeSet::new();
        condition.visit(&mut |part| {
            if let ExprKind::Column(column) = &part.kind {
                named.insert(column.column);
            }
        });
        let draft = &self.drafts[table];
        let column = match (named.first(), named.len()) {
            (Some(&column), 1) => draft.columns[column].name.as_str(),
            _ => "",
        };
        let is_taken = |name: &String| {
            let mut checks = self.drafts.iter().flat_map(|draft| &draft.checks);
            let mut references = self.drafts.iter().flat_map(|draft| &draft.foreign_keys);
            checks.any(|check| check.name == *name)
                || references.any(|reference| reference.name == *name)
                || self.relations.contains(name)
        };
        let mut number = 0;
        loop {
            let suffix = if number == 0 { "check".to_owned() } else { format!("check{number}") };
            let name = object_name(&draft.name, column, &suffix);
            if !is_taken(&name) {
                return name;
            }
            number += 1;
        }
    }
}

/// Shortens the longer of table and column names until the result fits [PostgreSQL 15,
/// `makeObjectName`].
fn object_name(table: &str, columns: &str, suffix: &str) -> String {
    let (schema, table) = split(table);
    let overhead = suffix.len() + 1 + if columns.is_empty() { 0 } else { 1 };
    let (mut first, mut second) = (table.len(), columns.len());
    while first + second + overhead > NAME_BYTES {
        if first > second { first -= 1 } else { second -= 1 }
    }
    let parts = [cut(table, first), cut(columns, second), suffix];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    full_name(schema, &parts.join("_"))
}

fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::object_name;

    #[test]
    fn long_names_are_cut_where_they_are_longest() {
        assert_eq!(object_name("t", "a_b", "key"), "t_a_b_key");
        assert_eq!(object_name("t", "", "pkey"), "t_pkey");
        let name = object_name(&"t".repeat(60), "column", "key");
        assert_eq!((name.len(), name.ends_with("_column_key")), (63, true));
    }
}
