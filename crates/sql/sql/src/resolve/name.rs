//! Names of columns and variables.

use super::scope::{Found, Scope};
use super::{Reference, Resolver, ident_name};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{ColumnRef, Expr, ExprKind};
use crate::near::meant;
use crate::types::SqlType;
use sqlparser::ast::Ident;
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    /// Resolves an unqualified name: a column or a variable; refused if it could be both
    /// [PostgreSQL 15, 43.11.1].
    pub(super) fn identifier(&mut self, scope: &Scope<'_>, ident: &Ident) -> Result<Expr> {
        self.check_name(ident)?;
        let name = ident_name(ident);
        let found = scope.find(&name);
        let variable = self.names.find(&name).map(|variable| (variable, None));
        // In PostgreSQL the name of a source means its whole row.
        if variable.is_some() && matches!(found, Found::Nothing) && scope.has_source(&name) {
            let sentence = format!("`{name}` is both a table and a variable here");
            let advice = "give the table another alias, or rename the variable";
            return Err(self.error(ident.span, ErrorKind::Name, sentence).advise(advice));
        }
        self.choose(scope, &name, ident.span, found, variable)
    }

    /// `alias.column`, `record.field`, `label.variable` or `label.record.field`.
    pub(super) fn compound(&mut self, scope: &Scope<'_>, idents: &[Ident]) -> Result<Expr> {
        idents.first().map_or(Ok(()), |first| self.check_name(first))?;
        let names: Vec<String> = idents.iter().map(ident_name).collect();
        let span = Span::union_iter(idents.iter().map(|ident| ident.span));
        let shown = names.join(".");
        let (found, variable) = match &names[..] {
            [first, second] => {
                let variable = match self.names.find(first) {
                    Some(record) if self.is_record(record) => {
                        Some(self.field(record, second, span))
                    }
                    _ => self.names.find_in(first, second).map(|variable| Ok((variable, None))),
                };
                (scope.find_in(first, second), variable)
            }
            [label, record, field] => {
                let variable =
                    self.names.find_in(label, record).filter(|record| self.is_record(*record));
                let variable = variable.map(|record| self.field(record, field, span));
                let full = self.full_name(&names[..2]);
                let found = full.map(|full| scope.find_in_full(&full, field));
                (found.unwrap_or(Found::Nothing), variable)
            }
            _ => (Found::Nothing, None),
        };
        let variable = match (variable, &found) {
            (Some(Err(error)), Found::Nothing) => return Err(error),
            (Some(variable), _) => variable.ok(),
            (None, _) => None,
        };
        self.choose(scope, &shown, span, found, variable)
    }

    pub(super) fn positional(&mut self, text: &str, span: Span) -> Result<Expr> {
        let number: Option<usize> = text.strip_prefix('$').and_then(|digits| digits.parse().ok());
        let place = number.and_then(|number| number.checked_sub(1));
        let Some(&variable) = place.and_then(|place| self.names.positional.get(place)) else {
            let sentence = format!("the procedure has no parameter {text}");
            return Err(self.error(span, ErrorKind::Name, sentence));
        };
        Ok(self.variable(variable, None, span))
    }

    fn is_record(&self, variable: usize) -> bool {
        matches!(self.variables[variable].sql_type, SqlType::Record(_))
    }

    /// The field `name` of a record variable.
    pub(crate) fn field(
        &self,
        variable: usize,
        name: &str,
        span: Span,
    ) -> Result<(usize, Option<usize>)> {
        let record = &self.variables[variable];
        let SqlType::Record(fields) = &record.sql_type else {
            let sentence = format!("`{}` is not a record", record.name);
            return Err(self.type_error(span, sentence));
        };
        if fields.is_empty() {
            let sentence =
                format!("the columns of the record `{}` are unknown before this line", record.name);
            let error = self.error(span, ErrorKind::Outside, sentence);
            return Err(error
                .advise("assign it by SELECT INTO or FOR first, or declare it as TABLE%ROWTYPE"));
        }
        let Some(field) = fields.iter().position(|field| field.name == name) else {
            let has: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
            let sentence = format!("the record `{}` has no field `{name}`", record.name);
            let error = self.error(span, ErrorKind::Name, sentence);
            return Err(error.advise(format!("it has {}", has.join(", "))));
        };
        Ok((variable, Some(field)))
    }

    fn choose(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        span: Span,
        found: Found,
        variable: Option<(usize, Option<usize>)>,
    ) -> Result<Expr> {
        match (found, variable) {
            (Found::Ambiguous, _) => {
                let sentence = format!("`{name}` is a column of several tables here");
                let error = self.error(span, ErrorKind::Name, sentence);
                let message = format!("column reference \"{name}\" is ambiguous");
                Err(error.in_postgres("42702", message).advise("qualify it: TABLE.COLUMN"))
            }
            (Found::Column(..), Some(_)) if !self.names.columns_win => {
                Err(self.two_meanings(name, span))
            }
            (Found::Column(column, sql_type), _) => Ok(self.column(column, sql_type)),
            (Found::Nothing, Some((variable, field))) => Ok(self.variable(variable, field, span)),
            (Found::Nothing, None) => {
                let sentence = format!("there is no column or variable `{name}` here");
                let columns = scope.names();
                let variables = self.variables.iter().map(|variable| &*variable.name);
                let names = columns.iter().map(|column| &**column).chain(variables);
                // Suggest only names that are qualified like the written one: a point is not a
                // typing error.
                let alike = names.filter(|other| other.contains('.') == name.contains('.'));
                let advice = meant(name, alike);
                let error = self.error(span, ErrorKind::Name, sentence).advise(advice);
                let (sqlstate, message) = no_column(scope, name);
                Err(error.in_postgres(sqlstate, message))
            }
        }
    }

    fn two_meanings(&self, name: &str, span: Span) -> Error {
        let sentence = format!("`{name}` is both a column and a variable here");
        let advice = "write TABLE.name for the column or PROCEDURE.name for the parameter, or rename the variable";
        self.error(span, ErrorKind::Name, sentence).advise(advice)
    }

    fn column(&self, column: ColumnRef, sql_type: SqlType) -> Expr {
        Expr::new(ExprKind::Column(column), sql_type)
    }

    pub(crate) fn variable(&mut self, variable: usize, field: Option<usize>, span: Span) -> Expr {
        self.references.push(Reference { span, variable, field });
        let sql_type = &self.variables[variable].sql_type;
        match (field, sql_type) {
            (Some(field), SqlType::Record(fields)) => {
                Expr::new(ExprKind::Field { variable, field }, fields[field].sql_type.clone())
            }
            _ => Expr::new(ExprKind::Variable(variable), sql_type.clone()),
        }
    }
}

/// The error of PostgreSQL about a column that does not exist.
fn no_column(scope: &Scope<'_>, name: &str) -> (&'static str, String) {
    match name.split_once('.') {
        Some((table, _)) if !scope.has_source(table) => {
            ("42P01", format!("missing FROM-clause entry for table \"{table}\""))
        }
        Some(_) => ("42703", format!("column {name} does not exist")),
        None => ("42703", format!("column \"{name}\" does not exist")),
    }
}
