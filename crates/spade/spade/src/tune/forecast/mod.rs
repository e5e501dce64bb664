//! Forecasts a design that the user supplies, from the same facts as the tuner's own.
//! `given_design` checks it against the workload, and `interval` computes how far measurement noise
//! may move a forecast.

pub mod design_forecast;
pub mod given_design;
pub mod interval;
pub mod ranges;
