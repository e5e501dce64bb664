//! Assignments and their targets.

use super::Compiler;
use crate::error::{ErrorKind, Result};
use crate::procedure::{StatementKind, Target};
use crate::reserved::is_reserved;
use crate::resolve::Reference;
use crate::token::name_of;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token};

impl Compiler<'_> {
    /// Whether the next tokens begin an assignment. A keyword of a statement is a variable here
    /// only if an assignment follows.
    pub(super) fn begins_assignment(&self) -> bool {
        let Some(Token::Word(word)) = self.cursor.peek() else {
            return matches!(self.cursor.peek(), Some(Token::Placeholder(_)));
        };
        match self.cursor.peek_at(1) {
            Some(Token::Assignment | Token::Eq) => true,
            Some(Token::LBracket) => true,
            Some(Token::Period) => {
                let name = name_of(word);
                self.names.find(&name).is_some()
                    || matches!(
                        self.cursor.peek_at(3),
                        Some(Token::Assignment | Token::Eq | Token::LBracket)
                    )
            }
            _ => false,
        }
    }

    pub(super) fn assignment(&mut self) -> Result<StatementKind> {
        if self.cursor.is_bare(is_reserved) {
            let error = self.cursor.expected("a variable");
            return Err(error.advise("write its name between double quotes"));
        }
        let (target, sql_type) = self.target()?;
        if !self.cursor.accept(&Token::Assignment) && !self.cursor.accept(&Token::Eq) {
            return Err(self.cursor.expected("`:=`"));
        }
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        if let Target::Variable(variable) = target
            && self.open_records.contains(&variable)
        {
            return self.record_assignment(variable, &tokens, span);
        }
        let value = self.formula(&tokens, span, Some(&sql_type))?;
        Ok(StatementKind::Assign { target, value })
    }

    /// A record takes the columns of the assigned row.
    fn record_assignment(
        &mut self,
        variable: usize,
        tokens: &[sqlparser::tokenizer::TokenWithSpan],
        span: Span,
    ) -> Result<StatementKind> {
        let value = self.formula(tokens, span, None)?;
        let SqlType::Record(fields) = value.expr.sql_type.clone() else {
            let sentence = format!("a record cannot be assigned {}", value.expr.sql_type);
            return Err(self.type_error(span, sentence));
        };
        self.check_row(tokens)?;
        self.shape_record(variable, &fields, span)?;
        Ok(StatementKind::Assign { target: Target::Variable(variable), value })
    }

    /// Parses a variable, field or element and returns its type.
    pub(super) fn target(&mut self) -> Result<(Target, SqlType)> {
        let from = self.cursor.position();
        let (variable, field) = self.datum()?;
        let span = self.cursor.span_from(from);
        self.check_assignable(variable, span)?;
        let sql_type = self.datum_type(variable, field);
        if self.cursor.peek() != Some(&Token::LBracket) {
            let target = match field {
                Some(field) => Target::Field { variable, field },
                None => Target::Variable(variable),
            };
            return Ok((target, sql_type));
        }
        self.cursor.next();
        let SqlType::Array(element) = sql_type else {
            return Err(self.type_error(span, format!("{sql_type} has no elements")));
        };
        if field.is_some() {
            let advice = "copy the array to a variable, assign the element, and copy it back";
            return Err(self.outside(span, "an element of an array in a record", advice));
        }
        let place = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::RBracket)?;
        self.cursor.expect(&Token::RBracket)?;
        let is_slice = tokens.iter().any(|token| token.token == Token::Colon);
        if is_slice || self.cursor.peek() == Some(&Token::LBracket) {
            return Err(self.outside(
                span,
                "this form of array access",
                "write array[index], with one index",
            ));
        }
        let index = self.formula(&tokens, place, Some(&SqlType::Int4))?;
        Ok((Target::Element { variable, index }, *element))
    }

    /// Parses a variable or a field of a record variable.
    pub(super) fn datum(&mut self) -> Result<super::Datum> {
        let span = self.cursor.span();
        if let Some(Token::Placeholder(text)) = self.cursor.peek() {
            let number = text.get(1..).and_then(|digits| digits.parse::<usize>().ok());
            let place = number.and_then(|number| number.checked_sub(1));
            let variable = place.and_then(|place| self.names.positional.get(place)).copied();
            self.cursor.next();
            let missing =
                || self.cursor.error(span, ErrorKind::Name, "this parameter does not exist");
            return variable.map(|variable| (variable, None)).ok_or_else(missing);
        }
        let (name, _) = self.cursor.name("a variable")?;
        let dotted = self.cursor.peek() == Some(&Token::Period);
        let found = match self.names.find(&name) {
            Some(record)
                if dotted && matches!(self.variables[record].sql_type, SqlType::Record(_)) =>
            {
                self.cursor.next();
                let (field, place) = self.cursor.name("a field")?;
                let (found, _) =
                    self.resolve(place, |resolver| resolver.field(record, &field, place))?;
                let (variable, field) = found;
                self.check_fields(&[Reference { span: place, variable, field }])?;
                return Ok(found);
            }
            Some(variable) if !dotted => Some(variable),
            _ if dotted => {
                self.cursor.next();
                let (second, _) = self.cursor.name("a variable")?;
                self.names.find_in(&name, &second)
            }
            _ => None,
        };
        found.map(|variable| (variable, None)).ok_or_else(|| {
            let sentence = format!("there is no variable `{name}` here");
            self.cursor.error(span, ErrorKind::Name, sentence).advise("declare it after DECLARE")
        })
    }

    pub(super) fn datum_type(&self, variable: usize, field: Option<usize>) -> SqlType {
        match (&self.variables[variable].sql_type, field) {
            (SqlType::Record(fields), Some(field)) => fields[field].sql_type.clone(),
            (sql_type, _) => sql_type.clone(),
        }
    }

    pub(super) fn check_assignable(&self, variable: usize, span: Span) -> Result<()> {
        if self.variables[variable].is_constant {
            let name = &self.variables[variable].name;
            let error =
                self.cursor.error(span, ErrorKind::Type, format!("`{name}` is declared CONSTANT"));
            let message = format!("variable \"{name}\" is declared CONSTANT");
            return Err(error.in_postgres("22005", message));
        }
        Ok(())
    }

    /// Gives a record variable its columns; all rows assigned to it must have the same ones.
    pub(super) fn shape_record(
        &mut self,
        variable: usize,
        fields: &[crate::types::Field],
        span: Span,
    ) -> Result<()> {
        self.assigned.put(variable);
        let record = &mut self.variables[variable];
        if record.sql_type == SqlType::Record(Vec::new()) {
            record.sql_type = SqlType::Record(fields.to_vec());
            return Ok(());
        }
        if record.sql_type == SqlType::Record(fields.to_vec()) {
            return Ok(());
        }
        let what = format!("a record with other columns than `{}` had before", record.name);
        Err(self.outside(span, &what, "declare a second record for them"))
    }
}
