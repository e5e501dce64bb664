//! The procedures of the shipped workloads, generated from their SQL by `namdb spade generate`. A test generates them anew and
//! compares.
//!
//! Decision: docs/decisions/0201-columns-are-constants-compared-with-the-schema-when-tables.md
#![forbid(unsafe_code)]
#![allow(
    unused_mut,
    unused_assignments,
    unused_variables,
    clippy::all,
    reason = "a program has written it"
)]

pub mod smallbank;
pub mod tatp;
pub mod tpcc;
pub mod ycsb;
