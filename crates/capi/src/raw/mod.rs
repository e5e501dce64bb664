//! The functions of `namdb.h`; the only `unsafe` of this crate.
//!
//! # Safety rules
//! 1. What a program promises stands in the header: a handle is null or was given by this library and is not closed, a text is null or ends
//!    with a zero, an array has as many elements as is said, and what a function writes to is there to be written. Nothing here can check that.
//! 2. Everything else is checked: null, text that is no UTF-8, positions, types, and the thread that a handle belongs to.
//! 3. A handle of a thread is looked at before its content is: [`Handle`] gives the content to its owner only, for the time of one function,
//!    and no function calls back into the program.
//! 4. No panic leaves: each function runs inside [`guarded`].
//! 5. Pointers that are given out point into handles, and stay until the next call of the functions that the header names.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "rule 1 is what all of them promise")]

mod bind;
mod call;
mod database;
mod handle;
mod rows;
mod session;
mod text;

pub use bind::*;
pub use call::*;
pub use database::*;
pub use rows::*;
pub use session::*;
