//! Constructs for which no code is generated.
//!
//! Decision: docs/decisions/0260-generated-code-shows-a-decimal-with-postgresqls-digits.md

use sql::expression::Aggregate;
use sql::function::Function;

/// A construct in a procedure that is left to the executor of plans.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct Unsupported {
    pub what: String,
    /// The line of `procedures.sql` where the construct is, or else where its statement or
    /// procedure begins.
    pub line: Option<u32>,
}

impl Unsupported {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), line: None }
    }

    /// Refuses calls of `function`.
    pub fn function(function: Function) -> Self {
        Self::new(format!("the function {}()", function.name()))
    }

    pub fn aggregate(aggregate: Aggregate, distinct: bool) -> Self {
        let of = if distinct { "DISTINCT ..." } else { "..." };
        Self::new(format!("the aggregate {}({of})", aggregate.name()))
    }

    /// Sets the line, unless a more precise one is known.
    pub fn at(self, line: u32) -> Self {
        Self { line: self.line.or(Some(line)), ..self }
    }
}
