//! What is wrong with a profile.

use std::fmt;

/// A sentence about a profile, with the key that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HardwareError {
    /// The profile, as it was named.
    pub profile: String,
    /// What is wrong, and what to write instead.
    pub sentence: String,
}

impl fmt::Display for HardwareError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "hardware profile {}: {}", self.profile, self.sentence)
    }
}

impl std::error::Error for HardwareError {}
