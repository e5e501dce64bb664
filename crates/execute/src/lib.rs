//! Carries out stored procedures over transactions: the plans that PostgreSQL makes of their statements, and PL/pgSQL around
//! them [SPADE 3.1].
//!
//! [`create`] makes the tables of a workload, [`Procedures::open`] makes its procedures ready, and [`Procedures::call`]
//! carries one out as a transaction. Rows, errors and their codes are those of PostgreSQL 15.
//!
//! ```text
//! call      calls, and when they are tried again
//! argument  arguments as values of the parameters' types
//! program   PL/pgSQL as steps
//! control   the machine that takes them
//! ahead     rows that the arguments name, read together
//! run       plans: a file for each kind of node
//! compile   from ready statements to steps and plans
//! bind      tables and indexes as the database has them
//! cell, key from values to columns and keys, and back
//! design    tables that nobody has tuned
//! ```
#![forbid(unsafe_code)]

mod ahead;
mod argument;
mod attempts;
mod bind;
mod call;
mod cell;
mod compile;
mod control;
mod design;
mod error;
mod frame;
mod key;
mod plan;
mod program;
mod rows;
mod run;
mod scope;

pub use attempts::{Attempts, RETRIES_MAX, RETRIES_NS_MAX, Retries};
pub use call::{Outcome, ProcedureId, Procedures, Settings};
pub use control::Notice;
pub use design::{TableDesign, create, default_design};
pub use error::{CallError, OpenError};
pub use rows::Rows;
