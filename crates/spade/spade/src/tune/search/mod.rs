//! Enumerates the storage options of each table and index, compares designs, and searches for the
//! best one within the memory budget.
//! `sweep` lists designs that the tuner's choice is compared with.

pub mod candidates;
pub mod choose;
pub mod compare;
pub mod partition;
pub mod sweep;
