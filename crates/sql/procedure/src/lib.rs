//! Stored procedures, lowered: each statement follows PostgreSQL's plan, each expression has its
//! type, and each table access has its key or range.
//!
//! `sql` knows the meaning of a procedure, `postgres_plan` the order in which PostgreSQL would
//! execute it. This crate combines both; the executor runs the result, the code generator prints
//! it, and the tuner counts its operations [SPADE 3.1, 3.2].
//!
//! ```text
//! node    the types of a lowered statement
//! visit   inputs and expressions of a node
//! lower   from statements and plans to nodes
//! show    nodes as text
//! operations  the table accesses of procedures, for the tuner
//! reference   how to find the rows that a foreign key check reads
//! folder  reads a workload folder
//! fingerprint  distinguishes workloads
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
pub use lower::{LowerError, lower, narrow as key_value};
pub use node::{Access, Node, Operator, Procedure, Statement, Workload};
pub use show::{
    Explained, ShownName, explain_changes, explain_single, index_part, is_in_parentheses,
    table_expression, view_text,
};
