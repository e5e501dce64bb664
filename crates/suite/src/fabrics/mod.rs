//! The fabrics.

pub mod local;
pub mod simulated;
