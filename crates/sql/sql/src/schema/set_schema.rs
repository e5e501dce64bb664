//! `ALTER TABLE ... SET SCHEMA`, with the number of the schema: a session writes it so.

use super::SchemaReader;
use super::draft::Draft;
use super::statement::exists;
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::function::Function;
use crate::namespace::{full_name, own_name};
use sqlparser::tokenizer::Token;

impl SchemaReader<'_> {
    /// Moves a table with its keys, indexes, constraints and the sequences of its columns.
    pub(super) fn set_schema(&mut self, table: usize) -> Result<()> {
        let span = self.cursor.span();
        let schema = match self.cursor.next().map(|token| token.token) {
            Some(Token::Number(digits, _)) => digits.parse().ok(),
            _ => None,
        };
        let Some(schema) = schema else {
            let advice = "leave it out, and write names without a schema";
            return Err(self.cursor.outside(span, "a schema", advice));
        };
        let before = self.drafts[table].relations();
        self.relations.retain(|relation| !before.contains(relation));
        self.drafts[table].move_to(schema);
        for name in self.drafts[table].relations() {
            if self.relations.contains(&name) {
                let sentence = format!("the schema has a table or index `{name}` already");
                return Err(exists(self.cursor.error(span, ErrorKind::Name, sentence), &name));
            }
            self.relations.push(name);
        }
        Ok(())
    }
}

impl Draft {
    fn move_to(&mut self, schema: i64) {
        let primary = self.primary.iter_mut().map(|key| &mut key.name);
        let indexes = self.indexes.iter_mut().map(|index| &mut index.name);
        let keys = self.foreign_keys.iter_mut().map(|key| &mut key.name);
        let checks = self.checks.iter_mut().map(|check| &mut check.name);
        let names = [&mut self.name].into_iter().chain(primary).chain(indexes);
        for name in names.chain(keys).chain(checks) {
            *name = full_name(schema, own_name(name));
        }
        for default in self.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
            move_own_sequence(default, schema);
        }
    }
}

/// The default of a column that owns its sequence has the sequence's name and the column's kind.
fn move_own_sequence(default: &mut Expr, schema: i64) {
    if let ExprKind::Function { function: Function::NextValue, arguments } = &mut default.kind
        && let [name, _] = &mut arguments[..]
        && let ExprKind::Text(name) = &mut name.kind
    {
        *name = full_name(schema, own_name(name));
    }
    default.for_each_child_mut(&mut |child| move_own_sequence(child, schema));
}
