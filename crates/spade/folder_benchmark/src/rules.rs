//! By which errors calls end as their procedures say.
//!
//! Decision: docs/decisions/0267-a-procedures-own-error-codes-are-read-from-its-text.md

use procedure::node::Workload;
use sql::procedure::{Body, Level, Statement, StatementKind};
use std::collections::BTreeSet;

/// Codes with which any procedure may end by its own rules: `RAISE EXCEPTION` without another one, and a row that is missing or
/// there too often for `INTO STRICT`.
const ALWAYS: [&str; 3] = ["P0001", "P0002", "P0003"];
/// The class of errors with which they end since a row is not as the schema wants it: a key that is there already, a null, a
/// CHECK, a reference.
const BY_SCHEMA: &str = "23";

/// Of each procedure, the codes of errors that it raises itself. A procedure that raises the code of an error of the engine's, such
/// as 22012, takes that for its own wherever it comes from: an error says its code, and not who has made it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules(Vec<BTreeSet<String>>);

impl Rules {
    /// Those of a workload's procedures.
    pub fn new(workload: &Workload) -> Self {
        let of = |procedure: &procedure::Procedure| {
            let mut codes = BTreeSet::new();
            if let Body::Block(block) = &procedure.routine.body {
                note(&block.statements, &mut codes);
            }
            codes
        };
        Self(workload.procedures.iter().map(of).collect())
    }

    /// Whether an error of this code is one that calls of the procedure, which is a position, end with by its own rules.
    pub fn are_kept(&self, procedure: usize, sqlstate: &str) -> bool {
        let is_raised = || self.0.get(procedure).is_some_and(|codes| codes.contains(sqlstate));
        ALWAYS.contains(&sqlstate) || sqlstate.starts_with(BY_SCHEMA) || is_raised()
    }
}

/// Notes the codes of the exceptions that are raised anywhere in statements.
fn note(statements: &[Statement], codes: &mut BTreeSet<String>) {
    let mut waiting: Vec<&[Statement]> = vec![statements];
    while let Some(statements) = waiting.pop() {
        for statement in statements {
            match &statement.kind {
                StatementKind::Raise(raise) if raise.level == Level::Exception => {
                    codes.insert(raise.sqlstate.clone());
                }
                StatementKind::Block(block) => waiting.push(&block.statements),
                StatementKind::Loop { body, .. } => waiting.push(body),
                StatementKind::If { branches, otherwise } => {
                    waiting.extend(branches.iter().map(|(_, inner)| &inner[..]));
                    waiting.push(otherwise);
                }
                StatementKind::Case { branches, otherwise, .. } => {
                    waiting.extend(branches.iter().map(|(_, inner)| &inner[..]));
                    waiting.extend(otherwise.as_deref());
                }
                _ => {}
            }
        }
    }
}
