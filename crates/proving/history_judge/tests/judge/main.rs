//! Integration tests of the judge.
//!
//! ```text
//! anomalies.rs            each anomaly, made by hand
//! against_brute_force.rs  tiny histories, judged by trying every order
//! engines.rs              long histories of an engine that is right, or wrong in a known way
//! formats.rs              files: round trips, error positions, and readers that never panic
//! pictures.rs             witnesses as words, DOT and SVG
//! ```

mod against_brute_force;
mod anomalies;
mod brute;
mod engine;
mod engines;
mod formats;
mod helpers;
mod pictures;
