//! The end of a membership that others have decided.

use crate::detector::Evidence;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A member that was evicted, and why. Its text is a sentence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Eviction {
    /// Identity of the former member.
    pub identity: u64,
    /// Role, number, process and host of the former member.
    pub member: String,
    /// The first epoch without it.
    pub epoch: u64,
    /// The observer that has evicted it.
    pub by: String,
    pub evidence: Evidence,
    /// Time since the observer has heard of it, in milliseconds.
    pub silent_ms: u64,
}

impl fmt::Display for Eviction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, epoch, by, silent_ms, .. } = self;
        write!(formatter, "{member} was evicted in epoch {epoch} by {by}: ")?;
        match self.evidence {
            Evidence::Silence => write!(
                formatter,
                "no heartbeat came for {silent_ms} ms and probes were not answered"
            ),
            Evidence::ProcessEnded => formatter.write_str("its process has ended"),
            Evidence::PortRefused => {
                formatter.write_str("its host refuses heartbeats, so its process has ended")
            }
            Evidence::Undrained => write!(
                formatter,
                "{silent_ms} ms after the death of a memory server it had not ended what it did there"
            ),
        }
    }
}
