//! The figures of NAM-DB with its protocol as printed.

pub mod communicators;
pub mod contention;
pub mod locality;
pub mod scalability;
pub mod staleness;
