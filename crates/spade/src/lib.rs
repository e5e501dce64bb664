//! SPADE, the tuner of physical designs [SPADE 3].
//!
//! [`measurement`] is what it knows of a cluster: points that crate `measure` has measured. There is no I/O here and
//! no clock. [`design`] is what it decides.
#![forbid(unsafe_code)]

pub mod design;
pub mod measurement;
