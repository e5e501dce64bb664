//! `CALL` of a procedure, and `ASSERT`.

use super::Compiler;
use super::control::split_at_commas;
use crate::error::{Error, Result};
use crate::expression::{Expr, ExprKind, Test};
use crate::function::Function;
use crate::parse;
use crate::procedure::{Block, Formula, Level, Raise, Statement, StatementKind, Target};
use crate::resolve::coerce::Context;
use crate::types::SqlType;
use sqlparser::ast;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl Compiler<'_> {
    /// `CALL procedure(...)`; the variables of its output parameters are assigned behind it.
    pub(super) fn call_statement(&mut self) -> Result<StatementKind> {
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let parsed = parse::statement(self.source, &tokens, span)?;
        let ast::Statement::Call(function) = &parsed else {
            return Err(self.syntax(span, "a procedure is expected behind CALL"));
        };
        let (outputs, _, _) =
            self.resolve_calls(span, |resolver| resolver.procedure_call(function, span))?;
        let line = self.line(span);
        let mut statements = Vec::new();
        for (written, value, place) in outputs {
            // PostgreSQL assigns no variable of another type, either.
            let is_same = written.sql_type.base() == value.sql_type.base();
            let target = match written.kind {
                _ if !is_same => return Err(self.not_writable(place)),
                ExprKind::Variable(variable) => Target::Variable(variable),
                ExprKind::Field { variable, field } => Target::Field { variable, field },
                _ => return Err(self.not_writable(place)),
            };
            let (Target::Variable(variable) | Target::Field { variable, .. }) = target else {
                continue;
            };
            self.check_assignable(variable, place)?;
            let (expr, _) = self.resolve(place, |resolver| {
                resolver.convert(value, &written.sql_type, Context::Variable, place)
            })?;
            let value = Formula { expr, number: None };
            statements.push(Statement { line, kind: StatementKind::Assign { target, value } });
        }
        Ok(StatementKind::Block(Block { label: None, declarations: Vec::new(), statements }))
    }

    fn not_writable(&self, place: Span) -> Error {
        let sentence = "the argument of an output parameter must be a variable of its type";
        let message =
            "a parameter is an output parameter but corresponding argument is not writable";
        let error = self.syntax(place, sentence).in_postgres("42601", message);
        error.advise("declare a variable of the parameter's type").late()
    }

    /// `ASSERT condition, message`
    pub(super) fn assert_statement(&mut self) -> Result<StatementKind> {
        let span = self.cursor.span();
        self.cursor.expect_word("ASSERT")?;
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.semicolon()?;
        let parts = split_at_commas(&tokens);
        let (condition, message) = match parts[..] {
            [condition] => (condition, None),
            [condition, message] => (condition, Some(message)),
            _ => return Err(self.syntax(span, "ASSERT has a condition and a message")),
        };
        let condition = self.condition_formula(condition, span)?;
        let line = self.line(span);
        let outer = std::mem::take(&mut self.before);
        let mut raise = Raise {
            level: Level::Exception,
            sqlstate: "P0004".to_owned(),
            code: None,
            message: vec![FAILED.to_owned()],
            values: Vec::new(),
            detail: None,
            hint: None,
        };
        if let Some(message) = message {
            raise.message = vec![String::new(), String::new()];
            raise.values = vec![self.assertion_message(message, span)?];
        }
        // The message is computed only if the condition does not hold.
        let mut statements = std::mem::replace(&mut self.before, outer);
        statements.push(Statement { line, kind: StatementKind::Raise(raise) });
        let operand = Box::new(condition.expr);
        let expr = Expr::boolean(ExprKind::Is { operand, test: Test::True, negated: true });
        let failed = Formula { expr, number: condition.number };
        Ok(StatementKind::If { branches: vec![(failed, statements)], otherwise: Vec::new() })
    }

    /// The text of a message, or the one of PostgreSQL if it is null.
    fn assertion_message(&mut self, tokens: &[TokenWithSpan], span: Span) -> Result<Formula> {
        let Formula { expr, number } = self.raised_text(tokens, span)?;
        let failed = ExprKind::Text(FAILED.to_owned());
        let arguments = vec![expr, Expr::new(failed, SqlType::Text)];
        let kind = ExprKind::Function { function: Function::Coalesce, arguments };
        Ok(Formula { expr: Expr::new(kind, SqlType::Text), number })
    }
}

const FAILED: &str = "assertion failed";
