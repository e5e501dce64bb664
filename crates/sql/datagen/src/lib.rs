//! The rows of a workload's tables and the arguments of its calls, as `workload.toml` says that they are drawn.
//!
//! Everything follows from the load, its units of scale and a seed: a row from its table and its number, a call from its
//! client and its number. So several loaders can share a table, each from where its part begins, and two engines that
//! are loaded and called alike can be compared.
//!
//! ```text
//! draw         a distribution made ready: names are positions, amounts are numbers
//! compile      from `sql::load` to those
//! number       numbers in the form of their type, and comparisons with them
//! order        values in random orders, for `distinct`
//! sample       one value
//! rows         the rows of a table, part by part
//! arguments    the arguments of a call
//! calls        the calls of a client
//! range        which numbers the values of a column are among
//! rules        what each row has to satisfy
//! postgresql   rows into a PostgreSQL
//! loading      rows into a database of our own
//! references   that the rows are there which others refer to
//! ```
#![forbid(unsafe_code)]

mod arguments;
mod calls;
mod compile;
mod draw;
mod error;
mod loading;
mod number;
mod order;
mod population;
mod postgresql;
mod range;
mod references;
mod rows;
mod rules;
mod sample;
mod text;

pub use arguments::Arguments;
pub use calls::{Call, Calls, Judgement, Mix};
pub use error::PopulationError;
pub use loading::{Batches, LoadError, load_part, read_row};
pub use population::{Population, Scale};
pub use postgresql::{call_text, copy_line, copy_table, load_postgresql};
pub use references::check_references;
pub use rows::Rows;
