//! What SPADE reads and writes, as types and as JSON: physical designs and measurements of a cluster.
//!
//! [`measurement`] is what the tuner knows of a cluster: points that crate `microbench` has measured. [`design`] is what it
//! decides, which [`scale`] carries to other units, and [`division`] says which columns can divide a table. There is
//! no I/O here, no clock, and no search.
#![forbid(unsafe_code)]

pub mod design;
pub mod division;
pub mod measurement;
pub mod scale;
