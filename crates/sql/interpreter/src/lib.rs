//! Executes stored procedures as transactions: their statements follow PostgreSQL's plans, with
//! PL/pgSQL around them [SPADE 3.1].
//!
//! [`create`] creates the tables of a workload, [`Procedures::open`] compiles its procedures, and
//! [`Procedures::call`] executes one as a transaction. Rows, errors and SQLSTATEs are those of
//! PostgreSQL 15.
//!
//! ```text
//! call      calls, and their retries
//! argument  casts arguments to the parameters' types
//! program   PL/pgSQL as steps
//! control   the interpreter of the steps
//! ahead     read-ahead of rows whose keys follow from the arguments
//! run       plans: a file for each kind of node
//! compile   from lowered statements to steps and plans
//! bind      binds tables and indexes of the database
//! cell, key between stored columns, keys and SQL values
//! digest    what keys have of long values; key_size: how long they may be
//! design    the design of untuned tables
//! single    single statements, in transactions of the caller
//! paused    queries whose rows are taken in parts
//! memory    the memory that a statement may hold
//! divided   INSERT ... SELECT by several transactions
//! interrupt the end of a statement by request or at a deadline
//! row_lock  the modes of locks of rows, and who grants them
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
mod digest;
mod divided;
mod effects;
mod error;
mod frame;
mod interrupt;
mod key;
mod key_size;
mod memory;
mod paused;
mod plan;
mod program;
mod row_lock;
mod rows;
mod run;
mod scope;
mod single;

pub use attempts::{Attempts, RETRIES_MAX, RETRIES_NS_MAX, Retries};
pub use call::{Outcome, ProcedureId, Procedures, Settings};
pub use control::{CursorMove, Cursors, Notice, RoutineCursor};
pub use design::{TableDesign, create, default_design};
pub use effects::Effects;
pub use error::{CallError, OpenError};
pub use interrupt::{Deadline, Interrupt};
pub use memory::WORK_MEMORY;
pub use paused::Paused;
pub use row_lock::{RowLockAnswer, RowLockMode, RowLocker};
pub use rows::Rows;
pub use run::Meter;
pub use single::{
    Callees, DynamicStatement, Planner, Routine, Runner, Sequences, SingleStatement,
    StatementError, Tables,
};
pub use sql::query::IfLocked;
