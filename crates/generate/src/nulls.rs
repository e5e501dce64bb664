//! Variables that are null where they are given as part of a row. Procedures with `RETURN NEXT` give rows of which most columns
//! are null: those are put into the result together, and a variable that nobody asks for otherwise is left out.
//!
//! A variable is known to be null from the beginning, or from where null is assigned to it, up to the end of the block or up to
//! another assignment; in loops that assign it, it is not known.

use crate::function::Function;
use crate::variable::{Place, Variable};
use sql::procedure::Block;

impl Function<'_> {
    /// Notes that the variables of the outermost block are null in the beginning, and what is given, too.
    pub fn begin_with_nulls(&mut self, block: &Block) {
        let is_null = |place: &Place, variable: &Variable| {
            let is_declared_with = block
                .declarations
                .iter()
                .any(|(declared, initial)| *declared == place.0 && initial.is_some());
            variable.is_nullable && !variable.is_argument && !is_declared_with
        };
        let places: Vec<Place> = self
            .variables
            .all()
            .filter(|(place, variable)| is_null(place, variable))
            .map(|(place, _)| place)
            .collect();
        places.into_iter().for_each(|place| self.variables.becomes_null(place, self.depth));
    }

    /// Assigns null to a variable.
    pub fn becomes_null(&mut self, place: Place) {
        self.variables.becomes_null(place, self.depth);
        self.print_null(place);
    }

    /// Makes variables null that can be.
    pub fn set_null(&mut self, places: &[Place]) {
        for &place in places {
            self.variables.moves(place);
            let variable = self.variables.at(place);
            if variable.is_read && variable.is_nullable {
                self.print_null(place);
            }
        }
    }

    /// Prints that a variable is null, if the text names it at all.
    pub fn print_null(&mut self, place: Place) {
        if self.guess.own.contains(&place) {
            let line = format!("{} = None;", self.variables.at(place).name);
            self.line(line);
        }
    }
}
