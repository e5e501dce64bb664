//! The experiments, one file for each.

pub mod bandwidth;
pub mod ethernet;
pub mod hstore;
pub mod locality;
pub mod oracle;
pub mod published;
pub mod queue_pairs;
pub mod scalability;
pub mod tpcw;
pub mod traditional;
