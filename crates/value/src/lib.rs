//! Values of SQL, and what expressions make of them, as PostgreSQL does: results, errors and their codes.
//!
//! ```text
//! value   a value
//! ```
#![forbid(unsafe_code)]

pub mod value;

pub use value::{Decimal, Interval, Value};
