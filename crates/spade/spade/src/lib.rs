//! SPADE, the tuner of physical designs [SPADE 3].
//!
//! [`measurement`] has the points that crate `microbench` measured, [`tune`](mod@tune) computes a
//! [`design`] from them, [`scale`] converts it to other units, and [`verify`] compares its forecast
//! with a measurement. This crate does no I/O and reads no clock.
#![forbid(unsafe_code)]

pub mod tune;
pub mod verify;

pub use spade_format::{design, measurement, scale};
