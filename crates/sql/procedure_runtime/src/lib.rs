//! The runtime of generated procedures.
//!
//! Generated code handles the common case. Everything else that SQL allows, such as an unexpected
//! null, a number out of range, or a missing row whose value is used, stops it with
//! [`Stop::Deviates`]: its transaction is rolled back, and the executor of plans, which implements
//! all of SQL, executes the call from its beginning. So PostgreSQL's errors are in one place, and
//! generated code reads as if written by hand.
//!
//! ```text
//! argument arguments of calls
//! bind     finds tables by name
//! stop     why a procedure stops early
//! number   arithmetic that stops when a number is out of range
//! text     texts of a known maximum length, without heap memory
//! results  the rows that a call returns
//! call     the context of a call
//! caller   calls: generated code if there is any, and the executor
//! ```
#![forbid(unsafe_code)]

mod argument;
pub mod bind;
mod call;
mod caller;
pub mod number;
mod results;
mod stop;
pub mod text;

pub use argument::Argument;
pub use bind::BindError;
pub use call::{Call, Scratch};
pub use caller::{Caller, Counts, Generated, NoCode, OpenError, ProcedureId};
pub use results::{Cell, Column, Results};
pub use stop::{Raised, Stop, check, count, duplicate, element, known};
pub use text::Text;
