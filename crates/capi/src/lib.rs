//! The functions of `include/namdb.h`: stored procedures, called by name with bound arguments, from C and C++ [SPADE 3.1, listing 3].
//!
//! Everything is [`namdb::procedures`]; what is added here is a boundary that no panic crosses, that takes null pointers and wrong types
//! for the errors that they are, and that keeps what C reads alive for as long as the header says.
//!
//! ```text
//! options   how a database is opened
//! called    a call: what its functions do and what they keep
//! failure   sentences of what went wrong
//! raw       the functions themselves; the only unsafe code
//! ```
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod called;
mod failure;
mod options;
mod raw;

pub use raw::*;
