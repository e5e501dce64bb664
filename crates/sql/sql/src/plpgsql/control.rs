//! `IF`, `CASE`, `EXIT`, `PERFORM`.

use super::{Assigned, Compiler};
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind};
use crate::parse;
use crate::procedure::Sql;
use crate::procedure::{Formula, Statement, StatementKind, Target};
use crate::query::Query;
use crate::resolve::scope::Scope;
use crate::token::token_is_word;
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl Compiler<'_> {
    pub(super) fn if_statement(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("IF")?;
        let mut ends = Assigned::unreachable();
        let (first, calls) = self.with_calls(|compiler| compiler.branch(&mut ends));
        let mut branches = vec![(calls, first?)];
        let mut otherwise = Vec::new();
        loop {
            if self.cursor.accept_word("ELSIF") || self.cursor.accept_word("ELSEIF") {
                let (branch, calls) = self.with_calls(|compiler| compiler.branch(&mut ends));
                branches.push((calls, branch?));
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
        let (calls, branches, otherwise) =
            nested(branches, Some(otherwise), |branches, otherwise| StatementKind::If {
                branches,
                otherwise: otherwise.unwrap_or_default(),
            });
        self.before.extend(calls);
        Ok(StatementKind::If { branches, otherwise: otherwise.unwrap_or_default() })
    }

    /// Parses a condition, `THEN`, and the branch's statements.
    fn branch(&mut self, ends: &mut Assigned) -> Result<Branch> {
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
            let (condition, calls) = self.with_calls(|compiler| {
                tokens.and_then(|tokens| match &operand {
                    Some((variable, _)) => compiler.case_condition(*variable, &tokens, span),
                    None => compiler.condition_formula(&tokens, span),
                })
            });
            let condition = self.or_any_boolean(from, condition)?;
            branches.push((calls, (condition, self.branch_statements(&mut ends)?)));
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
        // The operand is computed in front of all conditions.
        let (calls, branches, otherwise) = nested(branches, otherwise, |branches, otherwise| {
            StatementKind::Case { operand: None, branches, otherwise }
        });
        if !calls.is_empty()
            && let Some((variable, value)) = operand
        {
            let target = Target::Variable(variable);
            let kind = StatementKind::Assign { target, value };
            self.before.push(Statement { line: calls[0].line, kind });
            self.before.extend(calls);
            return Ok(StatementKind::Case { operand: None, branches, otherwise });
        }
        self.before.extend(calls);
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
            let (equal, _, _) = self.resolve_calls(span, |resolver| {
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

/// A condition with its statements.
type Branch = (Formula, Vec<Statement>);

/// The bodies of the calls in the first condition, then the parts of `IF` or `CASE`.
type Nested = (Vec<Statement>, Vec<Branch>, Option<Vec<Statement>>);

/// Branches whose conditions have no calls, with the bodies of calls in front of them. A call in
/// the condition of a later branch runs if those before it do not hold: it is in the `ELSE` of the
/// earlier branches, with the later ones.
fn nested(
    branches: Vec<(Vec<Statement>, Branch)>,
    otherwise: Option<Vec<Statement>>,
    statement: impl Fn(Vec<Branch>, Option<Vec<Statement>>) -> StatementKind,
) -> Nested {
    let (mut later, mut otherwise) = (Vec::new(), otherwise);
    for (at, (calls, branch)) in branches.into_iter().enumerate().rev() {
        later.insert(0, branch);
        if at == 0 {
            return (calls, later, otherwise);
        }
        if !calls.is_empty() {
            let line = calls[0].line;
            let kind = statement(std::mem::take(&mut later), otherwise.take());
            let mut inside = calls;
            inside.push(Statement { line, kind });
            otherwise = Some(inside);
        }
    }
    (Vec::new(), later, otherwise)
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
