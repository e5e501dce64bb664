//! Lowers statements and their plans to nodes.
//!
//! A [`Lowering`] handles one statement and walks down its plan. `node` dispatches on the node
//! type, with `scan`, `join`, `rows` and `write` for the larger ones; `access` analyses index
//! conditions; `typed` gives expressions their types; `statement_facts` finds in the statement what
//! its plan omits, and `sub_plan` lowers sub plans and init plans.

mod access;
mod error;
mod join;
pub mod narrow;
mod node;
mod rows;
mod scan;
mod scope;
mod statement_facts;
mod sub_plan;
mod typed;
mod write;

pub use error::LowerError;

use crate::node::{Node, Procedure, Statement, SubPlan, Workload};
use postgres_plan::Plan;
use scope::ScopeRow;
use sql::expression::Expr;
use sql::types::Field;
use sql::{Catalog, EmbeddedStatement, Program, typing};
use statement_facts::{Planned, StatementFacts, planned};
use std::collections::BTreeMap;

/// Lowers all statements of a program. `plans` are those of [`Program::embedded_statements`], in
/// that order.
///
/// # Errors
///
/// If a plan does not match its statement or contains an unsupported node, with the location and
/// what to write instead.
pub fn lower(program: &Program, plans: &[Plan]) -> Result<Workload, LowerError> {
    let mut plans = plans.iter();
    let mut procedures = Vec::with_capacity(program.procedures.len());
    for routine in &program.procedures {
        let mut statements = Vec::with_capacity(routine.statements.len());
        for embedded in &routine.statements {
            let lowering = Lowering::new(&program.catalog, routine, embedded);
            let Some(plan) = plans.next() else {
                return lowering
                    .error("its plan is missing; create the plans with `namdb spade plan FOLDER`");
            };
            statements.push(lowering.statement(plan)?);
        }
        procedures.push(Procedure { routine: routine.clone(), statements });
    }
    Ok(Workload { catalog: program.catalog.clone(), procedures })
}

/// A statement that is being lowered.
struct Lowering<'a> {
    catalog: &'a Catalog,
    routine: &'a sql::Procedure,
    embedded: &'a EmbeddedStatement,
    facts: StatementFacts<'a>,
    /// The ancestors of the current node, for errors.
    path: Vec<&'static str>,
    sub_plans: Vec<SubPlan>,
    /// The value of each `$n` that an init plan delivers.
    delivered: BTreeMap<u32, Expr>,
    /// The sub plans of the current node's ancestors.
    named: BTreeMap<&'a str, &'a postgres_plan::SubPlan>,
    /// The alias of the table that is updated or deleted from.
    changed: Option<&'a str>,
    /// Whether the main query's `LIMIT` node has been lowered.
    main_limit_taken: bool,
    /// The nesting depth of the current node in init plans.
    init_depth: u32,
    asking: u32,
}

impl<'a> Lowering<'a> {
    fn new(
        catalog: &'a Catalog,
        routine: &'a sql::Procedure,
        embedded: &'a EmbeddedStatement,
    ) -> Self {
        Self {
            catalog,
            routine,
            embedded,
            facts: StatementFacts::default(),
            path: Vec::new(),
            sub_plans: Vec::new(),
            delivered: BTreeMap::new(),
            named: BTreeMap::new(),
            changed: None,
            main_limit_taken: false,
            init_depth: 0,
            asking: 0,
        }
    }

    fn error<T>(&self, sentence: impl Into<String>) -> Result<T, LowerError> {
        Err(LowerError {
            procedure: self.embedded.procedure.clone(),
            line: self.embedded.line,
            number: self.embedded.number,
            node: self.path.join(" > "),
            sentence: sentence.into(),
        })
    }

    fn statement(mut self, plan: &'a Plan) -> Result<Statement, LowerError> {
        let Some(planned) = planned(self.routine, self.embedded.number) else {
            return self.error("the procedure has no statement with this number");
        };
        self.facts = StatementFacts::of(planned);
        // PostgreSQL returns the rows of an ordered sub-select in its order.
        let is_ordered = self.facts.has_inner_order()
            || self.facts.main.is_some_and(|select| !select.order.is_empty());
        let (mut root, row) = self.node(None, &plan.root, is_ordered)?;
        let fields = match planned {
            Planned::Query(query) => query.outputs(),
            Planned::Formula(expr) => {
                vec![Field { name: "?column?".to_owned(), sql_type: expr.sql_type.clone() }]
            }
        };
        let conversion = match planned {
            Planned::Query(_) => typing::Conversion::Operand,
            Planned::Formula(_) => typing::Conversion::Variable,
        };
        self.results(&mut root, &row, &fields, conversion)?;
        Ok(Statement { root, fields, sub_plans: self.sub_plans })
    }

    /// Casts the result's columns to the types of the statement.
    fn results(
        &self,
        root: &mut Node,
        row: &ScopeRow,
        fields: &[Field],
        conversion: typing::Conversion,
    ) -> Result<(), LowerError> {
        if row.len() < fields.len() {
            return self.error(format!(
                "the plan returns {} columns, but the statement has {}; create the plans again",
                row.len(),
                fields.len()
            ));
        }
        for (output, field) in root.outputs.iter_mut().zip(fields) {
            if output.sql_type.base() == field.sql_type.base() {
                continue;
            }
            let found = output.sql_type.clone();
            match typing::convert(output.clone(), &field.sql_type, conversion) {
                Some(converted) => *output = converted,
                None => {
                    let (name, wanted) = (&field.name, &field.sql_type);
                    return self.error(format!("the plan returns {found} for the column `{name}`, which is {wanted}; create the plans again"));
                }
            }
        }
        Ok(())
    }
}
