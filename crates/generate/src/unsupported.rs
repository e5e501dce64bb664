//! What no code is generated for.

use sql::expression::Aggregate;
use sql::function::Function;

/// Something in a procedure that the generator leaves to the executor of plans.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct Unsupported {
    /// What it is.
    pub what: String,
    /// The line of `procedures.sql` where it stands, or the statement that it is part of, or else the procedure.
    pub line: Option<u32>,
}

impl Unsupported {
    /// No code is generated for `what`.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), line: None }
    }

    /// No code is generated for calls of `function`.
    pub fn function(function: Function) -> Self {
        Self::new(format!("the function {}()", function.name()))
    }

    /// No code is generated for `aggregate`.
    pub fn aggregate(aggregate: Aggregate, distinct: bool) -> Self {
        let of = if distinct { "DISTINCT ..." } else { "..." };
        Self::new(format!("the aggregate {}({of})", aggregate.name()))
    }

    /// The same in what begins at this line, unless the place is known more closely.
    pub fn at(self, line: u32) -> Self {
        Self { line: self.line.or(Some(line)), ..self }
    }
}
