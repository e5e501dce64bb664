//! SPADE, the tuner of physical designs [SPADE 3].
//!
//! [`measurement`] is what it knows of a cluster: points that crate `microbench` has measured. [`tune`](mod@tune) decides by them, and
//! [`design`] is what it decides, which [`scale`] carries to other units. [`verify`] puts what was measured of a design beside its forecast. There is no I/O here and no clock.
#![forbid(unsafe_code)]

pub mod tune;
pub mod verify;

pub use spade_format::{design, measurement, scale};
