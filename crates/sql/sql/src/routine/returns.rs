//! The result type of a routine.

use crate::error::{Error, ErrorKind, Result};
use crate::plpgsql::Compiler;
use crate::procedure::{Parameter, ParameterMode, Returns, RoutineKind};
use crate::query::field;
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::{Span, Token};

impl Compiler<'_> {
    /// Parses `RETURNS`; also returns whether output parameters hold the result.
    pub(super) fn returns(
        &mut self,
        kind: RoutineKind,
        parameters: &mut Vec<Parameter>,
        start: Span,
    ) -> Result<(Returns, bool)> {
        let span = self.cursor.span();
        let says =
            self.cursor.is_word("RETURNS") && !self.cursor.is_words(&["RETURNS", "NULL", "ON"]);
        if !says {
            let outputs = self.outputs(parameters);
            return match (kind, outputs.is_empty()) {
                (RoutineKind::Procedure, true) => Ok((Returns::Nothing, false)),
                (RoutineKind::Procedure, false) => Ok((Returns::Row(outputs), true)),
                (RoutineKind::Function, true) => {
                    Err(self.cursor.error(start, ErrorKind::Syntax, "a function needs RETURNS"))
                }
                (RoutineKind::Function, false) => Ok((one_or_row(outputs), true)),
            };
        }
        if kind == RoutineKind::Procedure {
            let error =
                self.cursor.error(span, ErrorKind::Syntax, "a procedure may not have RETURNS");
            return Err(error.advise("give it output parameters"));
        }
        self.cursor.next();
        if self.cursor.accept_word("TABLE") {
            return self.returns_table(parameters, span);
        }
        let is_set = self.cursor.accept_word("SETOF");
        let place = self.cursor.span();
        let sql_type = self.declared_type()?;
        self.returned(sql_type, is_set, parameters, place)
    }

    fn returned(
        &self,
        sql_type: SqlType,
        is_set: bool,
        parameters: &[Parameter],
        place: Span,
    ) -> Result<(Returns, bool)> {
        let outputs = self.outputs(parameters);
        if !outputs.is_empty() {
            let agrees = match (&outputs[..], &sql_type) {
                ([single], sql_type) => single.sql_type == sql_type.base(),
                (_, sql_type) => *sql_type == SqlType::Record(Vec::new()),
            };
            if !agrees {
                return Err(self.disagreement(&outputs, place));
            }
            return Ok((if is_set { Returns::Rows(outputs) } else { one_or_row(outputs) }, true));
        }
        let returns = match (sql_type, is_set) {
            (SqlType::Void, false) => Returns::Nothing,
            (SqlType::Void, true) => {
                return Err(self.cursor.outside(place, "SETOF void", "write RETURNS void"));
            }
            (SqlType::Record(fields), true) if fields.is_empty() && self.names.has_own_plans => {
                // The columns are those of the first RETURN NEXT or RETURN QUERY.
                Returns::Rows(Vec::new())
            }
            (SqlType::Record(fields), _) if fields.is_empty() => {
                let advice = "name the columns: RETURNS TABLE (name type, ...)";
                return Err(self.cursor.outside(place, "a record without columns", advice));
            }
            (SqlType::Record(fields), true) => Returns::Rows(fields),
            (SqlType::Record(fields), false) => Returns::Row(fields),
            (sql_type, true) => Returns::Rows(vec![field("", sql_type.base())]),
            (sql_type, false) => Returns::Value(sql_type.base()),
        };
        Ok((returns, false))
    }

    fn disagreement(&self, outputs: &[Field], place: Span) -> Error {
        let wanted = match outputs {
            [single] => single.sql_type.name(),
            _ => "record".to_owned(),
        };
        let sentence = format!("with these output parameters, the result type is {wanted}");
        self.cursor.error(place, ErrorKind::Type, sentence).advise("leave RETURNS out")
    }

    /// `RETURNS TABLE`; its columns are output parameters.
    fn returns_table(
        &mut self,
        parameters: &mut Vec<Parameter>,
        span: Span,
    ) -> Result<(Returns, bool)> {
        if !self.outputs(parameters).is_empty() {
            let sentence = "RETURNS TABLE and output parameters cannot be combined";
            return Err(self.cursor.error(span, ErrorKind::Syntax, sentence));
        }
        self.cursor.expect(&Token::LParen)?;
        loop {
            let (name, place) = self.cursor.routine_identifier("a column of the result")?;
            let sql_type = self.declared_type()?;
            if matches!(sql_type, SqlType::Record(_) | SqlType::Void) {
                return Err(self.cursor.outside(place, "a row as a column", "name its columns"));
            }
            let number = parameters.len() + 1;
            let variable =
                self.declare_parameter(Some((name, place)), number, sql_type.base(), place)?;
            parameters.push(Parameter { variable, mode: ParameterMode::Out, default: None });
            if self.cursor.accept(&Token::RParen) {
                break;
            }
            self.cursor.expect(&Token::Comma)?;
        }
        Ok((Returns::Rows(self.outputs(parameters)), true))
    }

    /// The output parameters as columns.
    fn outputs(&self, parameters: &[Parameter]) -> Vec<Field> {
        let outputs = parameters.iter().filter(|parameter| parameter.mode != ParameterMode::In);
        let named = outputs.enumerate().map(|(at, parameter)| {
            let variable = &self.variables[parameter.variable];
            let name = match variable.name.strip_prefix('$') {
                Some(_) => format!("column{}", at + 1),
                None => variable.name.clone(),
            };
            field(&name, variable.sql_type.clone())
        });
        named.collect()
    }
}

fn one_or_row(mut outputs: Vec<Field>) -> Returns {
    match outputs.len() {
        1 => Returns::Value(outputs.remove(0).sql_type),
        _ => Returns::Row(outputs),
    }
}
