//! Microbenchmarks: the cost of one operation on a table, in any world [SPADE 3.2].
//!
//! A [`Subject`] is a table of one design, and a [`Task`] an operation on it. [`operation`]
//! executes a task with a lane: on its own machine's memory, on another machine's memory, or as a
//! service for a caller ([`ship`]; on compute servers of real clusters [`host`]). [`Micro`] turns
//! both into a workload that threads run on real fabrics; crate `simulated_cluster` runs them on
//! clusters in virtual time. [`experiment`] decides which points are measured; the results are types
//! of [`spade_format::measurement`], which [`record`] saves to a file, point by point.
//!
//! Reading order: [`subject`], [`operation`], [`hand`], [`ship`], [`host`], [`micro`];
//! [`experiment`], [`record`].
#![forbid(unsafe_code)]

pub mod experiment;
pub mod hand;
pub mod host;
pub mod micro;
pub mod operation;
pub mod record;
pub mod ship;
pub mod subject;

pub use experiment::{Choice, METHOD, version};
pub use micro::Micro;
pub use operation::Task;
pub use record::{Record, RecordError};
pub use subject::Subject;
