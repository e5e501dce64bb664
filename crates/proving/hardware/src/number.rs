//! A number of a profile, with its basis and its source.
//!
//! Decision: docs/decisions/0109-every-hardware-number-has-a-source-and-a-basis.md

use serde::Deserialize;

/// The basis of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A published measurement on this hardware.
    Measured,
    /// A statement of the manufacturer or of the standard that the hardware implements.
    Datasheet,
    /// Chosen so that the model yields a published result; that result is then no prediction.
    Fitted,
    /// Computed from other numbers of the profile or from measurements.
    Derived,
    /// Proposed, or quoted from memory from a paper that was not read again. A measurement replaces
    /// it.
    Prior,
}

impl Basis {
    /// The name of the basis in profiles.
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
    /// The value, in the unit that its key ends with.
    pub value: f64,
    pub basis: Basis,
    /// The source: paper and section, data sheet, or the computation.
    pub source: String,
    /// The published results that the number was fitted to; empty unless the basis is `Fitted`.
    #[serde(default)]
    pub fits: Vec<String>,
}
