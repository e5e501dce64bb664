//! Texts that stay in their rows: if a variable is assigned a text from a row that is available
//! until the end of the block, reads of the variable use the row instead, until another assignment.
//! This avoids copying the text, and a variable that is not read elsewhere is dropped.
//!
//! This applies only to columns that the procedure does not change, of tables from which it deletes
//! nothing.
//!
//! Decision: docs/decisions/0241-texts-stay-in-their-rows-and-large-result-rows-are-copied.md

use crate::code::{Code, FoundRow, Kind};
use crate::function::Function;
use crate::needs::has_word;
use crate::variable::{Place, Variable};
use procedure::node::Operator;
use sql::procedure::Statement;
use std::collections::BTreeSet;

impl<'a> Function<'a> {
    /// Notes that a row is available until the end of the block.
    pub fn note_available_row(&mut self, table: usize, row: &FoundRow) {
        self.available_rows.push((table, row.clone()));
    }

    /// Notes that a variable was assigned a text from an available row, if that is so; returns
    /// whether the assignment can be omitted.
    pub fn try_keep_in_row(&mut self, place: Place, variable: &Variable, code: &Code) -> bool {
        self.variables.read_from_variable(place);
        let is_text = code.kind == Kind::Text && variable.kind == Ok(Kind::Text);
        if !is_text || code.is_nullable || !self.is_unchanged_column(code) {
            return false;
        }
        self.variables.read_from_row(place, self.depth, code.clone());
        let fits = code.bytes_max.zip(variable.bytes_max).is_some_and(|(code, of)| code <= of);
        fits && !self.guess.own.contains(&place)
    }

    /// Whether a text is a column of an available row, and the procedure does not change the
    /// column.
    fn is_unchanged_column(&self, code: &Code) -> bool {
        let mut rows = code.rows.iter();
        let (Some(row), None) = (rows.next(), rows.next()) else { return false };
        let Some((table, _)) =
            self.available_rows.iter().find(|(_, available_rows)| available_rows == row)
        else {
            return false;
        };
        let of = self.table(*table);
        (0..of.columns.len()).any(|column| {
            let slot = self.slot_name(*table, column);
            code.text == format!("{}.bytes_in({slot})", row.record)
                && !self.is_changed(*table, column)
        })
    }

    fn is_changed(&self, table: usize, column: usize) -> bool {
        self.procedure.statements.iter().any(|statement| match &statement.root.operator {
            Operator::Update(update) => {
                update.table == table && update.assignments.iter().any(|(of, _)| *of == column)
            }
            Operator::Delete(delete) => delete.table == table,
            _ => false,
        })
    }

    /// Forgets which texts stay in rows for the variables that a loop assigns.
    pub fn forget_texts_of_assigned(&mut self, body: &[Statement]) {
        let mut assigned = BTreeSet::new();
        crate::ahead::assignments(body, &mut assigned);
        self.variables.read_from_variables(&|(variable, _), _| assigned.contains(&variable));
    }

    /// Returns the variables that the code uses.
    pub fn own(&self) -> BTreeSet<Place> {
        let named =
            self.variables.all().filter(|(_, variable)| has_word(&self.out, &variable.name));
        named.map(|(place, _)| place).collect()
    }
}
