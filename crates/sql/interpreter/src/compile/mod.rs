//! Compiles lowered statements to their executable form.
//!
//! ```text
//! node             plans
//! columns          which columns of a node are used
//! execution        which statements access a single row by its key
//! batched_inserts  which inserts are batched
//! body             PL/pgSQL as a list of steps
//! ahead            which rows can be read ahead
//! ```
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

mod ahead;
mod batched_inserts;
mod body;
mod columns;
mod execution;
mod node;

use crate::bind::BoundTable;
use crate::error::OpenError;
use crate::program::Program;
use procedure::Procedure;

/// Compiles a procedure, and notes which tables its statements scan fully.
pub(crate) fn compile(
    procedure: &Procedure,
    tables: &mut [BoundTable],
) -> Result<Program, OpenError> {
    let mut statements = Vec::with_capacity(procedure.statements.len());
    for (at, statement) in procedure.statements.iter().enumerate() {
        let compiled = node::compile(statement, tables);
        statements.push(compiled.map_err(|reason| OpenError::Design {
            procedure: procedure.routine.name.clone(),
            statement: at + 1,
            reason,
        })?);
    }
    batched_inserts::note(&procedure.statements, &mut statements, tables);
    Ok(body::compile(&procedure.routine, statements))
}
