//! The file formats of SPADE: physical designs and measurements of a cluster, as types and as JSON.
//!
//! [`measurement`] has the points that crate `microbench` measured; the tuner reads them.
//! [`design`] is the tuner's result, [`scale`] converts it to other units, and [`division`] selects
//! the columns that can divide a table. This crate does no I/O, reads no clock, and searches
//! nothing.
#![forbid(unsafe_code)]

pub mod design;
pub mod division;
pub mod measurement;
pub mod scale;
