//! Prints lowered procedures as indented text.

mod explain;
mod explained;
mod expr;
mod node;
mod view;

pub use explained::Explained;
pub use view::{ShownName, view_text};

use crate::node::{Statement, Workload};
use expr::Names;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Body, Procedure, Returns, RoutineKind, Variable, Volatility};
use sql::{Catalog, SqlType, Table};
use std::fmt::{Display, Formatter, Result};

impl Display for Workload {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for procedure in &self.procedures {
            for (statement, embedded) in
                procedure.statements.iter().zip(&procedure.routine.statements)
            {
                writeln!(out, "{}.{}: {}", embedded.procedure, embedded.number, embedded.text)?;
                self.statement(procedure, statement, out)?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}

/// The plan of a statement with numbered parameters, as `EXPLAIN` shows it.
pub fn explain_single(catalog: &Catalog, statement: &Statement, parameters: usize) -> Explained {
    explain::explained(catalog, &routine_of(parameters), statement)
}

/// The plan of the last statement of a routine, with those of the others as its sub plans: the
/// statements of a client's `WITH` that run before it. Their nodes have no numbers.
pub fn explain_changes(catalog: &Catalog, routine: &crate::node::Procedure) -> Explained {
    let explained = |statement| {
        let mut shown = explain::explained(catalog, &routine.routine, statement);
        shown.forget_numbers();
        let fields = statement.fields.iter().map(|field| field.sql_type.clone());
        shown.types = fields.collect();
        shown.outputs.truncate(shown.types.len());
        shown
    };
    let Some((last, before)) = routine.statements.split_last() else { return Explained::default() };
    let mut shown = explained(last);
    let names = routine.routine.statements.iter().map(|one| one.text.strip_prefix("WITH "));
    let parts = names.zip(before).enumerate().map(|(at, (name, statement))| {
        let title = match name {
            Some(name) => format!("CTE {name}"),
            None => format!("Statement {}", at + 1),
        };
        (title, explained(statement))
    });
    shown.plans.splice(0..0, parts);
    shown
}

/// An expression over a table's columns, as the system catalog prints it.
pub fn table_expression(table: &Table, expression: &Expr) -> String {
    let columns = table.columns.iter().map(|column| column.name.clone());
    let names = Names { levels: vec![vec![columns.collect()]] };
    let (routine, style) = (routine_of(0), expr::Style::Explain);
    expr::Text { routine: &routine, names: &names, style }.expr(expression)
}

/// A part of an index as messages have it: the name of a column, or an expression, which is in
/// parentheses unless it is a call.
pub fn index_part(table: &Table, column: usize) -> String {
    match table.expression(column) {
        None => table.columns[column].name.clone(),
        Some(value) => bracketed(value, table_expression(table, value)),
    }
}

/// The text of an expression, in parentheses unless it is a call.
fn bracketed(value: &Expr, text: String) -> String {
    let is_call = matches!(value.kind, ExprKind::Function { .. }) && !text.starts_with('(');
    if is_call || is_in_parentheses(&text) { text } else { format!("({text})") }
}

/// Whether the first parenthesis of a text is closed at its end.
pub fn is_in_parentheses(text: &str) -> bool {
    let (mut depth, mut is_quoted) = (0_usize, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !is_quoted {
            return at > 0 && at + 1 == text.len() && letter == ')';
        }
    }
    false
}

/// A routine with this number of parameters, whose names are numbers from 1.
fn routine_of(parameters: usize) -> Procedure {
    let variable = |number: usize| Variable {
        name: number.to_string(),
        sql_type: SqlType::Unknown,
        line: 1,
        is_constant: false,
        is_not_null: false,
    };
    Procedure {
        name: String::new(),
        line: 1,
        kind: RoutineKind::Function,
        parameters: Vec::new(),
        returns: Returns::Nothing,
        volatility: Volatility::Volatile,
        is_strict: false,
        variables: (1..=parameters).map(variable).collect(),
        body: Body::Statements { statements: Vec::new(), results: Vec::new() },
        statements: Vec::new(),
    }
}

impl Workload {
    /// The plan of a statement of one of its procedures in the text form of PostgreSQL's `EXPLAIN`,
    /// a line per element. Tables have the names of the catalog, and variables a dollar sign. An
    /// estimate is the number of rows.
    pub fn explain(
        &self,
        procedure: &crate::node::Procedure,
        statement: &Statement,
    ) -> Vec<String> {
        explain::explain(&self.catalog, &procedure.routine, statement)
    }

    fn statement(
        &self,
        procedure: &crate::node::Procedure,
        statement: &Statement,
        out: &mut Formatter<'_>,
    ) -> Result {
        let fields: Vec<String> = statement
            .fields
            .iter()
            .map(|field| format!("{} {}", field.name, field.sql_type))
            .collect();
        if !fields.is_empty() {
            writeln!(out, "    result {}", fields.join(", "))?;
        }
        let shown = self.shown(procedure, statement);
        shown.lines.iter().try_for_each(|line| writeln!(out, "    {line}"))
    }

    fn shown<'w>(
        &'w self,
        procedure: &'w crate::node::Procedure,
        statement: &'w Statement,
    ) -> node::Shown<'w> {
        let mut shown = node::Shown::new(self, &procedure.routine, statement);
        shown.node(&statement.root, &Names::default(), 0);
        shown
    }
}
