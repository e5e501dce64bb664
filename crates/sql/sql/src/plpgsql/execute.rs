//! `EXECUTE`: statements whose texts are computed when the routine runs.
//!
//! Decision: docs/decisions/0365-texts-of-execute-are-planned-by-the-session.md

use super::control::split_at_commas;
use super::declare::has_word;
use super::{Compiler, Datum};
use crate::error::Result;
use crate::procedure::{Dynamic, DynamicInto, Formula, Over, Returns, StatementKind, Target};
use crate::token::token_is_word;
use crate::types::{Field, SqlType};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// The words that begin a clause of `EXECUTE`.
const CLAUSES: [&str; 2] = ["INTO", "USING"];

/// The targets of `INTO`, and whether it is `STRICT`.
type Targets = Option<(Vec<Datum>, bool)>;

impl Compiler<'_> {
    /// `EXECUTE text INTO [STRICT] targets USING values`
    pub(super) fn execute_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("EXECUTE")?;
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let (dynamic, targets) = self.dynamic(&tokens, span)?;
        let into = match targets {
            Some((targets, is_strict)) => Some(self.dynamic_into(targets, is_strict, None, span)?),
            None => None,
        };
        Ok(StatementKind::Execute(dynamic, into))
    }

    /// `RETURN QUERY EXECUTE text USING values`
    pub(super) fn return_execute(&mut self, start: Span) -> Result<StatementKind> {
        self.cursor.expect_word("EXECUTE")?;
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let (mut dynamic, targets) = self.dynamic(&tokens, span)?;
        if targets.is_some() {
            return Err(self.syntax(span, "INTO is not allowed in RETURN QUERY"));
        }
        dynamic.is_result = true;
        let Returns::Rows(fields) = self.returns.clone() else {
            return Err(self.syntax(start, "RETURN QUERY needs a function that returns rows"));
        };
        let types: Vec<SqlType> = fields.into_iter().map(|field| field.sql_type).collect();
        Ok(self.dynamic_rows(dynamic, types, start))
    }

    /// The rows of a loop over `EXECUTE`, behind `IN`.
    pub(super) fn dynamic_loop(
        &mut self,
        targets: Vec<Datum>,
        tokens: &[TokenWithSpan],
        span: Span,
    ) -> Result<Over> {
        let (dynamic, into) = self.dynamic(tokens, span)?;
        if into.is_some() {
            return Err(self.syntax(span, "a loop has no INTO"));
        }
        let into = self.dynamic_into(targets, false, None, span)?;
        Ok(Over::Dynamic(dynamic, into))
    }

    /// Parses what follows `EXECUTE`.
    pub(super) fn dynamic(
        &mut self,
        tokens: &[TokenWithSpan],
        span: Span,
    ) -> Result<(Dynamic, Targets)> {
        let next = |from: usize| {
            let ends = CLAUSES.iter().filter_map(|word| has_word(&tokens[from..], word));
            ends.min().map_or(tokens.len(), |at| from + at)
        };
        let mut at = next(0);
        let text = self.formula(&tokens[..at], span, Some(&SqlType::Text))?;
        let (mut targets, mut values) = (None, None);
        while let Some(word) = tokens.get(at) {
            let end = next(at + 1);
            if token_is_word(&word.token, "INTO") {
                if targets.is_some() {
                    return Err(self.syntax(word.span, "this statement has two INTO clauses"));
                }
                let (found, is_strict, behind) = self.read_into(tokens, at)?;
                if behind != end {
                    return Err(self.syntax(word.span, "only variables may follow INTO"));
                }
                targets = Some((found, is_strict));
            } else {
                if values.is_some() {
                    return Err(self.syntax(word.span, "this statement has two USING clauses"));
                }
                values = Some(self.using(&tokens[at + 1..end], word.span)?);
            }
            at = end;
        }
        self.inlining.writes += 1;
        let values = values.unwrap_or_default();
        Ok((Dynamic { text, values, is_result: false }, targets))
    }

    fn using(&mut self, tokens: &[TokenWithSpan], span: Span) -> Result<Vec<Formula>> {
        let mut values = Vec::new();
        for part in split_at_commas(tokens) {
            let place = part.first().map_or(span, |token| token.span);
            let value = self.formula(part, place, None)?;
            if matches!(value.expr.sql_type, SqlType::Record(_)) {
                let advice = "write its fields";
                return Err(self.outside(place, "a record behind USING", advice));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The targets of a row whose columns are known when it is read, or now: `fields`.
    pub(super) fn dynamic_into(
        &mut self,
        targets: Vec<Datum>,
        is_strict: bool,
        fields: Option<&[Field]>,
        place: Span,
    ) -> Result<DynamicInto> {
        let mut typed = Vec::new();
        for (variable, field) in targets {
            if field.is_none() && self.open_records.contains(&variable) {
                let Some(fields) = fields else {
                    let what = "a record without columns of its own as the target of a row of unknown columns";
                    let advice = "declare it as TABLE%ROWTYPE, or write variables";
                    return Err(self.outside(place, what, advice));
                };
                self.shape_record(variable, fields, place)?;
            }
            let sql_type = self.datum_type(variable, field);
            let target = match field {
                Some(field) => Target::Field { variable, field },
                None => Target::Variable(variable),
            };
            typed.push((target, sql_type));
        }
        Ok(DynamicInto { is_strict, targets: typed })
    }
}
