//! The evaluation of the papers, repeated on simulated hardware: one experiment for each figure or
//! number.
//!
//! An [`Experiment`] runs code over the fabric in a simulated world whose cards, links and cores
//! are those of a profile of the crate `hardware`, and returns series of points with axes and
//! units. The numbers that the papers' texts print are compared with them, with the error, and with
//! the role of each: a prediction, or a number that was used to choose one of the profile. We do
//! not have the numbers that the papers only plot, and do not compare with them.
//!
//! Equal seeds give equal bytes of CSV and SVG. `namdb reproduce` is the command;
//! `docs/reproduction.md` has the method, the results, and their validity.
#![forbid(unsafe_code)]

pub mod bench;
mod busy;
pub mod experiment;
mod figures;
mod kinds;
pub mod outcome;
pub mod picture;
mod published;
pub mod record;
pub mod report;
mod ruler;
mod symmetric;
pub mod text;
mod tpcc;
pub mod verify;
mod world;

pub use experiment::{EXPERIMENTS, Experiment, Keep, Protocol, Run, find};
pub use outcome::{Axis, Compared, Outcome, Role, Series, Table};
pub use record::{MadeOf, Record};
