//! Prints lowered procedures as indented text.

mod explain;
mod expr;
mod node;

use crate::node::{Procedure, Statement, Workload};
use expr::Names;
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

impl Workload {
    /// The plan of a statement of one of its procedures in the text form of PostgreSQL's `EXPLAIN`,
    /// a line per element. Tables have the names of the catalog, and variables a dollar sign. An
    /// estimate is the number of rows.
    pub fn explain(&self, procedure: &Procedure, statement: &Statement) -> Vec<String> {
        explain::explain(&self.catalog, &procedure.routine, statement)
    }

    fn statement(
        &self,
        procedure: &Procedure,
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

    fn shown<'w>(&'w self, procedure: &'w Procedure, statement: &'w Statement) -> node::Shown<'w> {
        let mut shown = node::Shown::new(self, &procedure.routine, statement);
        shown.node(&statement.root, &Names::default(), 0);
        shown
    }
}
