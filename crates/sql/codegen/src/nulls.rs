//! Variables that are null when they are returned as part of a row. Procedures with `RETURN NEXT`
//! return rows of mostly null columns: these are appended to the result together, and a variable
//! that is not read elsewhere is dropped.
//!
//! A variable is known to be null from its declaration, or from an assignment of null, until the
//! end of the block or another assignment; not in loops that assign it.

use crate::function::Function;
use crate::variable::{Place, Variable};
use sql::procedure::Block;

impl Function<'_> {
    /// Notes which variables of the outermost block are initially null, including output
    /// parameters.
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

    /// Assigns null to the variables that can be null.
    pub fn set_null(&mut self, places: &[Place]) {
        for &place in places {
            self.variables.read_from_variable(place);
            let variable = self.variables.at(place);
            if variable.is_read && variable.is_nullable {
                self.print_null(place);
            }
        }
    }

    /// Prints an assignment of null, if the code uses the variable at all.
    pub fn print_null(&mut self, place: Place) {
        if self.guess.own.contains(&place) {
            let line = format!("{} = None;", self.variables.at(place).name);
            self.line(line);
        }
    }
}
