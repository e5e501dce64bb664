//! The functions of `include/namdb.h`: stored procedures for C and C++, called by name with bound
//! arguments [SPADE 3.1, listing 3].
//!
//! All functionality is in [`namdb::procedures`]. This crate adds the boundary: no panic crosses
//! it, null pointers and wrong types are errors, and the memory that C reads lives as long as the
//! header says.
//!
//! ```text
//! options   how a database is opened
//! called    a call: what its functions do, and the memory that they keep
//! failure   error messages
//! raw       the functions themselves; the only unsafe code
//! ```
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod called;
mod failure;
mod options;
mod raw;

pub use raw::*;
