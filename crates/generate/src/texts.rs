//! Texts that stay in their rows: where a variable takes a text from a row that is at hand up to the end of the block, whoever
//! asks for the variable looks into the row, as long as nothing else is assigned to it. Nothing is copied then, and a variable
//! that nobody asks for beyond that is left out.
//!
//! Only columns that the procedure does not change are looked at later, of tables that it deletes nothing from.

use crate::code::{Code, Kind, Row};
use crate::function::Function;
use crate::needs::has_word;
use crate::variable::{Place, Variable};
use procedure::node::Operator;
use sql::procedure::Statement;
use std::collections::BTreeSet;

impl<'a> Function<'a> {
    /// Notes that a row is at hand up to the end of the block.
    pub fn row_lasts(&mut self, table: usize, row: &Row) {
        self.lasting.push((table, row.clone()));
    }

    /// Notes that a variable has taken a text from a row that lasts, if it has; answers whether it needs no assignment.
    pub fn text_stays(&mut self, place: Place, variable: &Variable, code: &Code) -> bool {
        self.variables.moves(place);
        let is_text = code.kind == Kind::Text && variable.kind == Ok(Kind::Text);
        if !is_text || code.is_nullable || !self.is_unchanged_column(code) {
            return false;
        }
        self.variables.stays(place, self.depth, code.clone());
        let fits = code.bytes_max.zip(variable.bytes_max).is_some_and(|(code, of)| code <= of);
        fits && !self.guess.own.contains(&place)
    }

    /// Whether a text is a column of a row that lasts, which the procedure does not change.
    fn is_unchanged_column(&self, code: &Code) -> bool {
        let mut rows = code.rows.iter();
        let (Some(row), None) = (rows.next(), rows.next()) else { return false };
        let Some((table, _)) = self.lasting.iter().find(|(_, lasting)| lasting == row) else {
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

    /// Forgets which texts stay in rows, of variables that statements assign which are carried out again and again.
    pub fn texts_move(&mut self, body: &[Statement]) {
        let mut assigned = BTreeSet::new();
        crate::ahead::assignments(body, &mut assigned);
        self.variables.move_all(&|(variable, _), _| assigned.contains(&variable));
    }

    /// The variables that the text names.
    pub fn own(&self) -> BTreeSet<Place> {
        let named =
            self.variables.all().filter(|(_, variable)| has_word(&self.out, &variable.name));
        named.map(|(place, _)| place).collect()
    }
}
