//! Estimates waiting and retries: queues at cores, cards and links (mean value analysis), conflicts
//! on rows, leaves and buckets, and waits for snapshots.
//! `aggregate` combines them into the throughput at which all lanes are busy.

pub mod aggregate;
pub mod commit_order;
pub mod conflicts;
pub mod fixed_point;
pub mod insert_conflicts;
pub mod retries;
pub mod stages;
pub mod throughput;
