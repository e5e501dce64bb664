//! Computes service times: what an operation costs by interpolation between measured points, and
//! what a call costs as the sum of its operations and its commit.
//! `average` has the weighted averages of the paper instead [SPADE 4.1].

pub mod average;
pub mod chains;
pub mod inserts;
pub mod line;
pub mod measured;
pub mod memo;
pub mod operation;
pub mod procedure;
pub mod surface;
pub mod vector;
pub mod versions;
pub mod waits;
