//! Compiles lowered statements to their executable form.
//!
//! ```text
//! node     plans
//! columns  which columns of a node are used
//! way      which statements access a single row by its key
//! later    which inserts are batched
//! body     PL/pgSQL as a list of steps
//! ahead    which rows can be read ahead
//! ```
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

mod ahead;
mod body;
mod columns;
mod later;
mod node;
mod way;

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
    later::note(&procedure.statements, &mut statements, tables);
    Ok(body::compile(&procedure.routine, statements))
}
