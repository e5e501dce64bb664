//! Analyzes the workload: draws arguments, follows branches, and counts the operations of each call
//! on each table. Finds the columns by which tables are partitioned together [SPADE 4.2], and how
//! evenly that spreads the rows over machines.

pub mod branches;
pub mod draws;
pub mod grouping;
pub mod limit;
pub mod profile;
pub mod skew;
