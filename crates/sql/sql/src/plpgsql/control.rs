//! `IF`, `CASE`, `EXIT`, `RETURN`.

use super::{Assigned, Compiler};
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind};
use crate::parse;
use crate::procedure::{Formula, Returns, Sql, Statement, StatementKind};
use crate::query::Query;
use crate::resolve::scope::Scope;
use crate::token::token_is_word;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl Compiler<'_> {
    pub(super) fn if_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("IF")?;
        let mut ends = Assigned::unreachable();
        let mut branches = vec![self.branch(&mut ends)?];
        let mut otherwise = Vec::new();
        loop {
            if self.cursor.accept_word("ELSIF") || self.cursor.accept_word("ELSEIF") {
                branches.push(self.branch(&mut ends)?);
            } else if self.cursor.accept_word("ELSE") {
                otherwise = self.branch_statements(&mut ends)?;
                break;
            } else {
                ends.join(&self.assigned);
                break;
            }
        }
        self.cursor.expect_word("END")?;
        self.cursor.expect_word("IF")?;
        self.semicolon()?;
        self.assigned = ends;
        Ok(StatementKind::If { branches, otherwise })
    }

    /// Parses a condition, `THEN`, and the branch's statements.
    fn branch(&mut self, ends: &mut Assigned) -> Result<(Formula, Vec<Statement>)> {
        let (from, span) = (self.cursor.position(), self.cursor.span());
        let condition = self.until_word("THEN");
        let condition = condition.and_then(|tokens| self.condition_formula(&tokens, span));
        Ok((self.or_any_boolean(from, condition)?, self.branch_statements(ends)?))
    }

    /// Takes tokens up to and including `word`.
    pub(super) fn until_word(&mut self, word: &str) -> Result<Vec<TokenWithSpan>> {
        let stops = |token: &Token| token_is_word(token, word) || *token == Token::SemiColon;
        let tokens = self.cursor.take_until(stops)?;
        self.cursor.expect_word(word)?;
        Ok(tokens)
    }

    pub(super) fn case_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("CASE")?;
        let operand = if self.cursor.is_word("WHEN") { None } else { Some(self.case_operand()?) };
        let (mut branches, mut ends) = (Vec::new(), Assigned::unreachable());
        while self.cursor.accept_word("WHEN") {
            let (from, span) = (self.cursor.position(), self.cursor.span());
            let tokens = self.until_word("THEN");
            let condition = tokens.and_then(|tokens| match &operand {
                Some((variable, _)) => self.case_condition(*variable, &tokens, span),
                None => self.condition_formula(&tokens, span),
            });
            let condition = self.or_any_boolean(from, condition)?;
            branches.push((condition, self.branch_statements(&mut ends)?));
        }
        if branches.is_empty() {
            return Err(self.cursor.expected("`WHEN`"));
        }
        let otherwise = if self.cursor.accept_word("ELSE") {
            Some(self.branch_statements(&mut ends)?)
        } else {
            None
        };
        self.cursor.expect_word("END")?;
        self.cursor.expect_word("CASE")?;
        self.semicolon()?;
        // A CASE without a matching branch raises an error, so no path skips all branches.
        self.assigned = ends;
        Ok(StatementKind::Case { operand, branches, otherwise })
    }

    fn case_operand(&mut self) -> Result<(usize, Formula)> {
        let span = self.cursor.span();
        let stops = |token: &Token| token_is_word(token, "WHEN") || *token == Token::SemiColon;
        let tokens = self.cursor.take_until(stops)?;
        let value = self.formula(&tokens, span, None)?;
        let variable = self.add_variable("case", value.expr.sql_type.clone(), span);
        Ok((variable, value))
    }

    /// The condition that the operand equals one of the values in `tokens`.
    fn case_condition(
        &mut self,
        variable: usize,
        tokens: &[TokenWithSpan],
        span: Span,
    ) -> Result<Formula> {
        let mut condition: Option<Expr> = None;
        for part in split_at_commas(tokens) {
            let node = parse::expression(self.source, part, span)?;
            let operand =
                Expr::new(ExprKind::Variable(variable), self.variables[variable].sql_type.clone());
            let (equal, _) = self.resolve(span, |resolver| {
                let value = resolver.expr(&Scope::default(), &node)?;
                resolver.compare(BinaryOperator::Equal, operand, value, span)
            })?;
            if equal.has_subquery() {
                return Err(self.outside(span, "a sub-select after WHEN", "write IF"));
            }
            condition = Some(match condition {
                None => equal,
                Some(before) => Expr::new(
                    ExprKind::Binary {
                        operator: BinaryOperator::Or,
                        left: Box::new(before),
                        right: Box::new(equal),
                    },
                    SqlType::Bool,
                ),
            });
        }
        let expr = condition.ok_or_else(|| self.syntax(span, "a value is missing after WHEN"))?;
        Ok(Formula { expr, number: None })
    }

    pub(super) fn leave(&mut self) -> Result<StatementKind> {
        let continues = self.cursor.is_word("CONTINUE");
        self.cursor.next();
        let span = self.cursor.span();
        let label = match self.cursor.peek() {
            Some(Token::Word(_)) if !self.cursor.is_word("WHEN") => {
                Some(self.cursor.name("a label")?.0)
            }
            _ => None,
        };
        let when = if self.cursor.accept_word("WHEN") {
            let span = self.cursor.span();
            let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
            Some(self.condition_formula(&tokens, span)?)
        } else {
            None
        };
        let fits = |enclosing: &&mut super::Enclosing| match &label {
            Some(label) => enclosing.label.as_ref() == Some(label),
            None => enclosing.is_loop,
        };
        let mut enclosing = self.enclosing.iter_mut().rev();
        match (enclosing.find(fits), &label) {
            (Some(enclosing), _) if enclosing.is_loop && continues => {}
            (Some(enclosing), _) if !continues => enclosing.left.join(&self.assigned),
            (_, Some(label)) => {
                let what = if continues { "loop" } else { "loop or block" };
                return Err(
                    self.syntax(span, format!("no enclosing {what} has the label `{label}`"))
                );
            }
            (_, None) => return Err(self.syntax(span, "this is not inside a loop")),
        }
        self.semicolon()?;
        Ok(StatementKind::Leave { label, continues, when })
    }

    pub(super) fn return_statement(&mut self) -> Result<StatementKind> {
        let start = self.cursor.span();
        self.cursor.expect_word("RETURN")?;
        if self.cursor.accept_word("NEXT") {
            return self.return_next(start);
        }
        if self.cursor.accept_word("QUERY") {
            return self.return_query(start);
        }
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let wanted = match &self.returns {
            Returns::Value(sql_type) if !self.has_outputs => Some(sql_type.clone()),
            Returns::Row(fields) if !self.has_outputs => Some(SqlType::Record(fields.clone())),
            _ => None,
        };
        match (wanted, tokens.is_empty()) {
            (None, true) => Ok(StatementKind::Return(None)),
            (Some(wanted), false) => {
                let value = self.formula(&tokens, span, Some(&wanted))?;
                Ok(StatementKind::Return(Some(value)))
            }
            (None, false) => {
                let advice = match &self.returns {
                    Returns::Rows(_) => {
                        "write RETURN NEXT or RETURN QUERY for rows, and RETURN alone"
                    }
                    _ => "assign the output parameters, and write RETURN alone",
                };
                Err(self.syntax(span, "RETURN may not have a value here").advise(advice))
            }
            (Some(wanted), true) => {
                let sentence = format!("RETURN needs a value of type {wanted} here");
                Err(self.syntax(start, sentence))
            }
        }
    }

    fn return_next(&mut self, start: Span) -> Result<StatementKind> {
        let Returns::Rows(fields) = self.returns.clone() else {
            let error =
                self.syntax(start, "RETURN NEXT is only allowed in functions that return rows");
            return Err(error.advise("write RETURNS SETOF or RETURNS TABLE"));
        };
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        if self.has_outputs {
            if !tokens.is_empty() {
                let error = self.syntax(
                    span,
                    "RETURN NEXT may not have a value in a function with output parameters",
                );
                return Err(error.advise("assign them, and write RETURN NEXT alone"));
            }
            return Ok(StatementKind::ReturnNext(None));
        }
        if tokens.is_empty() {
            return Err(self.syntax(start, "RETURN NEXT needs a value here"));
        }
        let wanted = match &fields[..] {
            [single] if single.name.is_empty() => single.sql_type.clone(),
            _ => SqlType::Record(fields),
        };
        self.check_row(&tokens)?;
        self.formula(&tokens, span, Some(&wanted))
            .map(|value| StatementKind::ReturnNext(Some(value)))
    }

    fn return_query(&mut self, start: Span) -> Result<StatementKind> {
        let Returns::Rows(fields) = self.returns.clone() else {
            let error =
                self.syntax(start, "RETURN QUERY is only allowed in functions that return rows");
            return Err(error.advise("write RETURNS SETOF or RETURNS TABLE"));
        };
        let span = self.cursor.span();
        if self.cursor.is_word("EXECUTE") {
            return Err(self.outside(span, "EXECUTE", "write the query itself"));
        }
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let sql = self.embedded_query(&[&tokens], "", span)?;
        let found = sql.query.outputs();
        if found.len() != fields.len() {
            let sentence = format!(
                "the number of columns differs: the query has {}, the function returns {}",
                found.len(),
                fields.len()
            );
            return Err(self.type_error(span, sentence));
        }
        let mut columns = Vec::new();
        for (at, (found, wanted)) in found.iter().zip(&fields).enumerate() {
            if found.sql_type.base() != wanted.sql_type.base() {
                let sentence = format!(
                    "column {} of the query is {}, but the function returns {}",
                    at + 1,
                    found.sql_type,
                    wanted.sql_type
                );
                return Err(self.type_error(span, sentence).advise("convert it with CAST"));
            }
            columns.push(self.converted_column(at, &found.sql_type, &wanted.sql_type, span)?);
        }
        Ok(StatementKind::ReturnQuery(sql, columns))
    }

    pub(super) fn perform(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("PERFORM")?;
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let sql = self.embedded_query(&[&tokens], "SELECT", span)?;
        self.expect_select(&sql, span)?;
        Ok(StatementKind::Perform(sql))
    }

    pub(super) fn expect_select(&self, sql: &Sql, span: Span) -> Result<()> {
        match sql.query {
            Query::Select(_) => Ok(()),
            _ => Err(self.cursor.error(span, ErrorKind::Syntax, "a query is expected here")),
        }
    }
}

/// Splits `tokens` at the commas outside all parentheses.
pub(super) fn split_at_commas(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_i32, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma if depth == 0 => {
                parts.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[from..]);
    parts
}
