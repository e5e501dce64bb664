//! Stored procedures ready to be carried out: each statement as PostgreSQL plans it, each expression typed, each access to a
//! table as the key or range that it asks for.
//!
//! `sql` knows what a procedure means, `plan` in which order PostgreSQL would do it. Here both are put together, and what
//! comes out is what the executor runs, the code generator prints and the tuner counts [SPADE 3.1, 3.2].
//!
//! ```text
//! node    the types of a statement that is ready
//! visit   what a node is made of
//! lower   from statements and plans to those
//! show    those as text
//! operations  what procedures ask of tables, for the tuner
//! reference   how rows are found that a foreign key asks for
//! folder  a workload folder as a whole
//! fingerprint  what tells two of them apart
//! ```
#![forbid(unsafe_code)]

mod fingerprint;
mod folder;
mod lower;
pub mod node;
pub mod operations;
pub mod reference;
mod show;
mod visit;

pub use folder::ReadError;
pub use lower::{LowerError, lower};
pub use node::{Access, Node, Operator, Procedure, Statement, Workload};
