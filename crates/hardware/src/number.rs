//! A number of a profile, and what it rests on.

use serde::Deserialize;

/// What a number rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Somebody measured it on this hardware and published it.
    Measured,
    /// Its maker says so, or the standard that it follows.
    Datasheet,
    /// It was chosen such that a published result comes out: that result is no prediction any more.
    Fitted,
    /// Arithmetic on other numbers that stand here or were measured.
    Derived,
    /// Proposed, or remembered from a paper that was not read again. Whoever measures it replaces it.
    Prior,
}

impl Basis {
    /// Its name in profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Datasheet => "datasheet",
            Self::Fitted => "fitted",
            Self::Derived => "derived",
            Self::Prior => "prior",
        }
    }
}

/// A number with its source.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// In the unit that its key ends with.
    pub value: f64,
    /// What it rests on.
    pub basis: Basis,
    /// Where it comes from: paper and section, data sheet, or how it was worked out.
    pub source: String,
    /// The published results that it was fitted to; none unless it was.
    #[serde(default)]
    pub fits: Vec<String>,
}
