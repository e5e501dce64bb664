//! The experiments, one file for each.

pub mod bandwidth;
pub mod contention;
mod degrees;
pub mod ethernet;
pub mod hstore;
pub mod locality;
pub mod oracle;
pub mod population;
pub mod published;
pub mod queue_pairs;
pub mod replication;
pub mod scalability;
pub mod scale;
mod sizes;
mod snapshots;
pub mod spade;
pub mod tpcw;
pub mod traditional;
pub mod traffic;
