//! Microbenchmarks: what one operation on a table costs, in any world [SPADE 3.2].
//!
//! A [`Subject`] is a table of one design, and a [`Task`] an operation on it, which [`operation`] carries out with a lane:
//! on memory of its own machine, on memory of another one, or, called as a service, for somebody else ([`ship`]; on
//! compute servers of real clusters [`host`]).
//! [`Micro`] makes of both a workload that threads run on real fabrics; crate `simulated_cluster` runs them on clusters in virtual
//! time. Which points are measured is decided by [`experiment`]; what comes out are the nouns of
//! [`spade_format::measurement`], which [`record`] keeps in a file, point by point.
//!
//! To read it: [`subject`], [`operation`], [`hand`], [`ship`], [`host`], [`micro`]; [`experiment`],
//! [`record`]. Crate `simulated_cluster` runs them on clusters in virtual time.
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
