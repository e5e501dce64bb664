//! Prints assignments, and values that are computed only because they may fail.

use crate::cast::in_scale;
use crate::code::{Code, Kind};
use crate::expression::{atom, is_null};
use crate::function::Function;
use crate::needs::has_word;
use crate::unsupported::Unsupported;
use crate::variable::Place;
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Into, Target};
use std::collections::BTreeSet;

/// Maximum size in bytes of a text variable that is initialised although it may never be read.
const SHORT_BYTES_MAX: usize = 32;

type Result<T> = std::result::Result<T, Unsupported>;

impl<'a> Function<'a> {
    /// Assigns a row to the targets of a statement.
    pub fn assign_into(&mut self, into: &Into, columns: &[Code]) -> Result<()> {
        // A record takes the whole row.
        if let [(Target::Variable(variable), _)] = into.targets.as_slice()
            && matches!(self.procedure.routine.variables[*variable].sql_type, SqlType::Record(_))
        {
            let places = self.variables.places(*variable);
            for (at, (place, code)) in places.into_iter().zip(columns).enumerate() {
                self.ensure_independent(place, columns.iter().skip(at + 1))?;
                self.assign(place, code)?;
            }
            return Ok(());
        }
        let mut others: BTreeSet<usize> = (0..columns.len()).collect();
        for (target, expr) in &into.targets {
            let places = self.places(target)?;
            let [place] = places.as_slice() else {
                return Err(Unsupported::new("a record among several targets"));
            };
            if let ExprKind::Column(of) = expr.kind
                && !self.variables.at(*place).is_read
            {
                self.compute(&columns[of.column])?;
            } else {
                let code = self.scope(&[columns], &[]).code(expr)?;
                self.assign(*place, &code)?;
            }
            expr.visit(&mut |part| {
                if let ExprKind::Column(of) = part.kind {
                    others.remove(&of.column);
                }
            });
            self.ensure_independent(*place, others.iter().map(|&column| &columns[column]))?;
        }
        others.iter().try_for_each(|&column| self.compute(&columns[column]))
    }

    /// Refuses values that depend on a variable that gets its new value before they are computed:
    /// SQL computes all values of a row before it assigns any.
    fn ensure_independent<'c>(
        &self,
        place: Place,
        mut later: impl Iterator<Item = &'c Code>,
    ) -> Result<()> {
        let variable = self.variables.at(place);
        match variable.is_read && later.any(|code| has_word(&code.text, &variable.name)) {
            true => Err(Unsupported::new("a row with values that depend on its targets")),
            false => Ok(()),
        }
    }

    /// Assigns a row to the targets of a statement, if it has targets.
    pub fn assign_row(&mut self, into: Option<&Into>, columns: &[Code]) -> Result<()> {
        match into {
            Some(into) => self.assign_into(into, columns),
            None => self.compute_all(columns),
        }
    }

    /// Assigns a value to a variable, or to a field of one.
    pub fn assign_target(&mut self, target: &Target, code: &Code, expr: &Expr) -> Result<()> {
        match target {
            Target::Variable(variable) => self.assign_all(*variable, code, expr),
            other => {
                for place in self.places(other)? {
                    self.assign(place, code)?;
                }
                Ok(())
            }
        }
    }

    /// Assigns to a variable; a whole record can only be set to null.
    pub fn assign_all(&mut self, variable: usize, code: &Code, expr: &Expr) -> Result<()> {
        let places = self.variables.places(variable);
        let is_record =
            matches!(self.procedure.routine.variables[variable].sql_type, SqlType::Record(_));
        if is_record && !is_null(expr) {
            return Err(Unsupported::new("an assignment of whole records"));
        }
        for place in places {
            self.assign(place, code)?;
        }
        Ok(())
    }

    fn assign(&mut self, place: Place, code: &Code) -> Result<()> {
        let variable = self.variables.at(place).clone();
        if !variable.is_read {
            return self.compute(code);
        }
        if variable.is_argument {
            return Err(Unsupported::new("an assignment to an input parameter"));
        }
        self.guess.note(place, &variable, code);
        if self.try_keep_in_row(place, &variable, code) {
            return Ok(());
        }
        if code.text == "None" {
            self.becomes_null(place);
            return Ok(());
        }
        let kind = variable.kind?;
        let code = in_scale(code, &kind)?;
        let bytes = variable.bytes_max;
        let name = &variable.name;
        let text = match (variable.is_nullable, code.is_nullable, &kind) {
            (true, true, Kind::Text) => format!("{}.map(Text::new).transpose()?", atom(&code.text)),
            (true, true, _) => code.text.clone(),
            (true, false, Kind::Text) => format!("Some(Text::new({})?)", code.text),
            (true, false, _) => format!("Some({})", code.text),
            (false, _, Kind::Text) => format!("Text::new({})?", code.known()),
            (false, _, _) => code.known(),
        };
        if kind == Kind::Text && bytes.is_none() {
            return Err(Unsupported::new(format!("a text of unknown length in variable {name}")));
        }
        if matches!(kind, Kind::List(_)) {
            return Err(Unsupported::new("a variable that is an array"));
        }
        self.records([&code]);
        // Overwrite the text in place, unless the new text depends on the old one, or initialising
        // the variable for that takes too long.
        let is_short = variable.is_nullable || bytes.is_some_and(|bytes| bytes <= SHORT_BYTES_MAX);
        let is_text = kind == Kind::Text && !code.is_nullable;
        let is_set = is_text && is_short && !has_word(&code.text, name);
        self.line(match variable.is_nullable {
            false if is_set => format!("{name}.set({})?;", code.text),
            true if is_set => format!("text::set(&mut {name}, {})?;", code.text),
            _ => format!("{name} = {text};"),
        });
        Ok(())
    }

    /// Returns the places that a target consists of.
    pub fn places(&self, target: &Target) -> Result<Vec<Place>> {
        match target {
            Target::Variable(variable) => Ok(self.variables.places(*variable)),
            Target::Field { variable, field } => Ok(vec![(*variable, Some(*field))]),
            Target::Element { .. } => {
                Err(Unsupported::new("an assignment to an element of an array"))
            }
        }
    }

    /// Computes an unused value if that may be an error.
    pub fn compute(&mut self, code: &Code) -> Result<()> {
        if code.kind == Kind::Unknown {
            return Err(Unsupported::new("an unused value that may raise an error"));
        }
        if code.can_stop() {
            self.records([code]);
            self.line(format!("let _ = {};", code.text));
        }
        Ok(())
    }

    /// Computes unused values, see [`Function::compute`].
    pub fn compute_all(&mut self, codes: &[Code]) -> Result<()> {
        codes.iter().try_for_each(|code| self.compute(code))
    }
}
