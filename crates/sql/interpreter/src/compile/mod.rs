//! Compiles lowered statements to their executable form.
//!
//! ```text
//! node             plans
//! columns          which columns of a node are used
//! execution        which statements access a single row by its key
//! batched_inserts  which inserts are batched
//! body             PL/pgSQL as a list of steps
//! collect          loops that only append to arrays
//! ahead            which rows can be read ahead
//! ```
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

mod ahead;
mod batched_inserts;
mod body;
mod collect;
mod columns;
mod execution;
mod node;
mod window;

pub(crate) use node::mode_of;

use crate::bind::BoundTable;
use crate::error::OpenError;
use crate::program::Program;
use procedure::Procedure;
use procedure::node::{Node, Operator};

/// Compiles a single statement.
pub(crate) fn compile_single(
    statement: &procedure::node::Statement,
    tables: &[BoundTable],
) -> Result<crate::plan::Statement, OpenError> {
    let compiled = node::compile(statement, tables);
    let named =
        |reason| OpenError::Design { procedure: "of the client".to_owned(), statement: 1, reason };
    Ok(compiled.map_err(named)?.0)
}

/// Compiles a procedure; returns also the tables that its statements scan fully.
pub(crate) fn compile(
    procedure: &Procedure,
    tables: &[BoundTable],
) -> Result<(Program, Vec<usize>), OpenError> {
    let mut all_whole = Vec::new();
    let mut statements = Vec::with_capacity(procedure.statements.len());
    for (at, statement) in procedure.statements.iter().enumerate() {
        let compiled = node::compile(statement, tables);
        let (compiled, whole) = compiled.map_err(|reason| OpenError::Design {
            procedure: procedure.routine.name.clone(),
            statement: at + 1,
            reason,
        })?;
        all_whole.extend(whole);
        statements.push(compiled);
    }
    // A routine that a statement calls may change what would be read ahead, and reads what would be
    // inserted later.
    let is_call = |node: &Node| matches!(node.operator, Operator::Call { .. });
    let mut has_calls = false;
    for statement in &procedure.statements {
        let plans = statement.sub_plans.iter().map(|plan| &plan.root);
        plans.chain([&statement.root]).for_each(|root| {
            root.walk(&mut |node| has_calls |= is_call(node));
        });
    }
    let mut program = body::compile(&procedure.routine, statements, has_calls);
    if !program.has_texts && !has_calls {
        batched_inserts::note(&procedure.statements, &mut program, tables);
    }
    Ok((program, all_whole))
}
