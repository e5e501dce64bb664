//! The experiments, one file for each.

pub mod bandwidth;
pub mod ethernet;
pub mod hstore;
pub mod oracle;
pub mod queue_pairs;
pub mod tpcw;
pub mod traditional;
