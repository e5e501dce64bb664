//! Statements that the planner refuses.

/// A statement is outside the supported SQL.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct PlanError {
    /// The unsupported construct, and how to write it instead.
    pub sentence: String,
}

impl PlanError {
    /// `feature_not_supported`.
    pub const SQLSTATE: &'static str = "0A000";
}

pub(crate) type Result<T> = std::result::Result<T, PlanError>;

pub(crate) fn refuse<T>(sentence: impl Into<String>) -> Result<T> {
    Err(PlanError { sentence: sentence.into() })
}
