//! What no code is generated for.

/// Something in a procedure that the generator leaves to the executor of plans.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct Unsupported {
    /// What it is.
    pub what: String,
}

impl Unsupported {
    /// No code is generated for `what`.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}
