//! `EXCEPTION`: the handlers of a block, and what they know of the error: `SQLSTATE`, `SQLERRM` and
//! `GET STACKED DIAGNOSTICS`.
//!
//! Decision: docs/decisions/0364-a-block-with-exception-is-a-savepoint.md

use super::Compiler;
use super::condition::{conditions, is_sqlstate};
use crate::error::{ErrorKind, Result};
use crate::procedure::{Condition, Diagnostic, Handler, Protected, Statement, StatementKind};
use crate::types::SqlType;
use sqlparser::tokenizer::Token;

impl Compiler<'_> {
    /// Parses the statements of a block up to `END`, with its handlers.
    pub(super) fn guarded_statements(&mut self) -> Result<Vec<Statement>> {
        let (before, line) = (self.assigned.clone(), self.line(self.cursor.span()));
        let body = self.statements()?;
        let span = self.cursor.span();
        if !self.cursor.accept_word("EXCEPTION") {
            return Ok(body);
        }
        if self.called.is_none() {
            let advice =
                "check the condition beforehand with IF; an error aborts the whole transaction";
            return Err(self.outside(span, "a block with EXCEPTION", advice));
        }
        self.names.open(None);
        let [sqlstate, sqlerrm] = ["sqlstate", "sqlerrm"].map(|name| {
            let variable = self.add_variable(name, SqlType::Text, span);
            self.variables[variable].is_constant = true;
            self.names.declare(name, variable);
            variable
        });
        let (mut handlers, mut ends) = (Vec::new(), self.assigned.clone());
        while self.cursor.accept_word("WHEN") {
            let conditions = self.conditions()?;
            // An error may come from any statement of the body.
            self.assigned.clone_from(&before);
            let statements = self.branch_statements(&mut ends)?;
            handlers.push(Handler { conditions, statements });
        }
        if handlers.is_empty() {
            return Err(self.cursor.expected("`WHEN`"));
        }
        self.names.close();
        self.assigned = ends;
        let protected = Protected { body, sqlstate, sqlerrm, handlers };
        Ok(vec![Statement { line, kind: StatementKind::Protected(protected) }])
    }

    /// Parses conditions up to `THEN`.
    fn conditions(&mut self) -> Result<Vec<Condition>> {
        let mut all = Vec::new();
        loop {
            let (name, span) = self.cursor.name("the name of a condition")?;
            if name == "sqlstate" {
                let code = self.sqlstate_literal(span)?;
                // PostgreSQL has the number of this code for OTHERS.
                all.push(if code == "00000" { Condition::Others } else { Condition::Code(code) });
            } else {
                let named = conditions(&name);
                if named.is_empty() {
                    let error = self.cursor.error(
                        span,
                        ErrorKind::Name,
                        format!("there is no condition `{name}`"),
                    );
                    let message = format!("unrecognized exception condition \"{name}\"");
                    return Err(error
                        .in_postgres("42704", message)
                        .advise("write its code, such as SQLSTATE 'P0001'"));
                }
                all.extend(named);
            }
            if !self.cursor.accept_word("OR") {
                self.cursor.expect_word("THEN")?;
                return Ok(all);
            }
        }
    }

    /// Parses the code behind `SQLSTATE`.
    pub(super) fn sqlstate_literal(&mut self, span: sqlparser::tokenizer::Span) -> Result<String> {
        match self.cursor.next().map(|token| token.token) {
            Some(Token::SingleQuotedString(code)) if is_sqlstate(&code) => Ok(code),
            _ => Err(self.syntax(
                span,
                "SQLSTATE must be followed by five digits or capital letters in quotes",
            )),
        }
    }

    /// `GET STACKED DIAGNOSTICS`, behind `STACKED`
    pub(super) fn stacked_diagnostics(&mut self) -> Result<StatementKind> {
        self.cursor.expect_word("DIAGNOSTICS")?;
        let mut parts = Vec::new();
        loop {
            let (target, sql_type) = self.target()?;
            if !self.cursor.accept(&Token::Eq) && !self.cursor.accept(&Token::Assignment) {
                return Err(self.cursor.expected("`=`"));
            }
            let (name, span) = self.cursor.name("the name of a diagnostic item")?;
            let Some(part) = diagnostic(&name) else {
                let sentence = match name.as_str() {
                    "row_count" | "pg_routine_oid" => {
                        let name = name.to_uppercase();
                        format!("diagnostics item {name} is not allowed in GET STACKED DIAGNOSTICS")
                    }
                    _ => format!("`{name}` is no diagnostics item"),
                };
                return Err(self.syntax(span, sentence));
            };
            let value = self.converted_column(0, &SqlType::Text, &sql_type, span)?;
            parts.push((part, target, value));
            if !self.cursor.accept(&Token::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(StatementKind::GetDiagnostics(parts))
    }
}

/// The part of an error that `name` means in `GET STACKED DIAGNOSTICS`.
pub(super) fn diagnostic(name: &str) -> Option<Diagnostic> {
    Some(match name {
        "returned_sqlstate" => Diagnostic::Sqlstate,
        "message_text" => Diagnostic::Message,
        "pg_exception_detail" => Diagnostic::Detail,
        "pg_exception_hint" => Diagnostic::Hint,
        "pg_exception_context" => Diagnostic::Context,
        "constraint_name" => Diagnostic::Constraint,
        "table_name" => Diagnostic::Table,
        "schema_name" => Diagnostic::Schema,
        "column_name" => Diagnostic::Column,
        "pg_datatype_name" => Diagnostic::Datatype,
        _ => return None,
    })
}
