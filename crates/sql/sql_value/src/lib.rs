//! SQL values and expression evaluation with PostgreSQL's results, errors and SQLSTATEs.
//!
//! ```text
//! value             a value                    error        PostgreSQL's SQLSTATEs and messages
//! formula           a compiled expression      scope        the values that an evaluation reads
//! aggregate         aggregate functions        conversion   casts
//! order             comparisons, hashes        row          values of columns and keys
//! integer, numeric, float, text, like, format, date, timestamp, interval
//!                   functions and operators, also called by generated code
//! input, output     values from text and as text; time_input, interval_input
//! quoting           texts as parts of SQL
//! style, zone       how a session writes values, and its time zone
//! ```
#![forbid(unsafe_code)]

pub mod aggregate;
pub mod array;
pub mod bytes;
pub mod conversion;
pub mod date;
pub mod error;
pub mod float;
pub mod format;
pub mod formula;
pub mod input;
pub mod integer;
pub mod interval;
mod interval_input;
pub mod json;
pub mod like;
pub mod numeric;
pub mod order;
pub mod output;
pub mod quoting;
pub mod real;
pub mod row;
pub mod scope;
pub mod style;
pub mod text;
pub mod time_format;
mod time_input;
pub mod time_of_day;
pub mod timestamp;
pub mod uuid;
pub mod value;
pub mod zone;

pub use aggregate::Accumulator;
pub use conversion::Conversion;
pub use error::{Error, Result};
pub use formula::{AggregateCall, Formula};
pub use json::Json;
pub use order::GroupKey;
pub use scope::{Nothing, Scope, Stop};
pub use value::{Decimal, Interval, Value};
