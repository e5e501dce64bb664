//! What generated procedures stand on.
//!
//! Generated code does what usually happens. Whatever else may happen in SQL, such as a null where none was expected, a
//! number out of range, or a row that is missing where a value is taken from it, it leaves alone: it stops with
//! [`Stop::Deviates`], its transaction is rolled back, and the executor of plans, which knows all of SQL, carries out the
//! call from its beginning. So there is one place that knows PostgreSQL's errors, and generated code reads as if written by
//! hand.
//!
//! ```text
//! argument what a call is given
//! bind     tables by their names
//! stop     why a procedure ends early
//! number   arithmetic that stops where a number is out of range
//! text     texts of a known greatest length, which need no memory of their own
//! results  the rows that a call gives
//! call     what a procedure is given for a call
//! caller   calls, by generated code where there is some, and by the executor
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
