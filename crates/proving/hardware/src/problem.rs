//! Errors in profiles.

use std::fmt;

/// An error in a profile; the sentence names the key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HardwareError {
    /// The name of the profile.
    pub profile: String,
    /// The error, and its remedy.
    pub sentence: String,
}

impl fmt::Display for HardwareError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "hardware profile {}: {}", self.profile, self.sentence)
    }
}

impl std::error::Error for HardwareError {}
