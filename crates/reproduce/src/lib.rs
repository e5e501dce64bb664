//! The evaluation of the papers, repeated on simulated hardware: one experiment for each figure or number.
//!
//! An [`Experiment`] runs code over the fabric's seam in a simulated world whose cards, links and cores are
//! those of a profile of crate `hardware`, and gives series of points with axes and units. What the papers'
//! texts print is put beside it, with the error, and with whether it is a prediction or was used to choose a
//! number of the profile. What only their plots show is not in hand, and stands nowhere.
//!
//! Equal seeds give equal bytes of CSV and SVG. `namdb reproduce` is the command; `docs/reproduction.md` has the
//! method, the results, and what they are worth.
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
