//! Builds the text of an embedded statement, with `$1` to `$n` for its variables.

use super::Compiler;
use crate::embedded::{EmbeddedStatement, VariableName};
use crate::error::Result;
use crate::resolve::Reference;
use crate::types::SqlType;
use sqlparser::tokenizer::TokenWithSpan;

impl Compiler<'_> {
    /// Adds the statement that consists of `parts` and returns its number. `references` are the
    /// positions of its variables.
    pub(crate) fn embed(
        &mut self,
        prefix: &str,
        parts: &[&[TokenWithSpan]],
        references: &[Reference],
    ) -> Result<u32> {
        let mut text = prefix.to_owned();
        let mut parameters: Vec<&Reference> = Vec::new();
        for part in parts {
            if !text.is_empty() && !text.ends_with(' ') {
                text.push(' ');
            }
            self.append(&mut text, part, references, &mut parameters)?;
        }
        let first = parts.iter().flat_map(|part| part.iter()).next();
        let line = first.map_or(0, |token| self.line(token.span));
        let number = self.statements.len() as u32 + 1;
        let (parameter_types, variables) =
            parameters.into_iter().map(|parameter| self.bound(parameter)).unzip();
        let procedure = self.procedure.clone();
        self.statements.push(EmbeddedStatement {
            procedure,
            number,
            line,
            text,
            parameter_types,
            variables,
        });
        Ok(number)
    }

    /// Appends the tokens as written; each gap of blanks and comments becomes one blank.
    fn append<'r>(
        &self,
        text: &mut String,
        part: &[TokenWithSpan],
        references: &'r [Reference],
        parameters: &mut Vec<&'r Reference>,
    ) -> Result<()> {
        let mut end = None;
        let mut tokens = part.iter().peekable();
        while let Some(token) = tokens.next() {
            if end.is_some_and(|end| end != token.span.start) {
                text.push(' ');
            }
            end = Some(token.span.end);
            let Some(reference) =
                references.iter().find(|reference| reference.span.start == token.span.start)
            else {
                text.push_str(self.source.slice(token.span));
                continue;
            };
            self.check_parameter(reference)?;
            let same = |known: &&Reference| {
                (known.variable, known.field) == (reference.variable, reference.field)
            };
            let number = match parameters.iter().position(same) {
                Some(position) => position + 1,
                None => {
                    parameters.push(reference);
                    parameters.len()
                }
            };
            text.push_str(&format!("${number}"));
            while let Some(rest) = tokens.next_if(|rest| rest.span.end <= reference.span.end) {
                end = Some(rest.span.end);
            }
        }
        Ok(())
    }

    fn check_parameter(&self, reference: &Reference) -> Result<()> {
        let is_row = matches!(self.variables[reference.variable].sql_type, SqlType::Record(_));
        if is_row && reference.field.is_none() {
            let advice = "write its fields as VARIABLE.FIELD";
            return Err(self.outside(reference.span, "a whole record in an SQL statement", advice));
        }
        Ok(())
    }

    fn bound(&self, reference: &Reference) -> (String, VariableName) {
        let variable = &self.variables[reference.variable];
        let (sql_type, field) = match (&variable.sql_type, reference.field) {
            (SqlType::Record(fields), Some(field)) => {
                (&fields[field].sql_type, Some(fields[field].name.clone()))
            }
            (sql_type, _) => (sql_type, None),
        };
        let name =
            VariableName { variable: reference.variable, name: variable.name.clone(), field };
        (sql_type.name(), name)
    }
}
