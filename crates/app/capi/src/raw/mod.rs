//! The functions of `namdb.h`; the only `unsafe` of this crate.
//!
//! # Safety rules
//! 1. The header states what a program must guarantee: a handle is null, or was created by this
//!    library and is not closed; a text is null or ends with a NUL; an array has as many elements
//!    as its count says; and output pointers are writable. The library cannot check these.
//! 2. Everything else is checked: null, invalid UTF-8, positions, types, and the thread that owns a
//!    handle.
//! 3. The owner of a handle is checked before its content is accessed: [`Handle`] gives the content
//!    only to its owner, for the duration of one function, and no function calls back into the
//!    program.
//! 4. No panic escapes: each function runs inside [`guarded`].
//! 5. Returned pointers point into handles, and stay valid until the next call of the functions
//!    that the header names.
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
