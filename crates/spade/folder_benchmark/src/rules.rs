//! The errors that procedures raise on purpose.
//!
//! Decision: docs/decisions/0267-a-procedures-own-error-codes-are-read-from-its-text.md

use procedure::node::Workload;
use sql::procedure::{Body, Level, Statement, StatementKind};
use std::collections::BTreeSet;

/// Codes that every procedure may raise: `RAISE EXCEPTION` without a code, and no or several rows
/// for `INTO STRICT`.
const ALWAYS: [&str; 3] = ["P0001", "P0002", "P0003"];
/// The class of constraint violations: duplicate key, null, CHECK, foreign key.
const BY_SCHEMA: &str = "23";

/// For each procedure, the error codes that it raises. If a procedure raises a code that the engine
/// also uses, such as 22012, every error with that code counts as raised on purpose, because an
/// error does not say where it comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules(Vec<BTreeSet<String>>);

impl Rules {
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

    /// Whether a procedure, given by position, raises errors with this code on purpose.
    pub fn are_kept(&self, procedure: usize, sqlstate: &str) -> bool {
        let is_raised = || self.0.get(procedure).is_some_and(|codes| codes.contains(sqlstate));
        ALWAYS.contains(&sqlstate) || sqlstate.starts_with(BY_SCHEMA) || is_raised()
    }
}

/// Collects the codes of all exceptions that statements raise.
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
