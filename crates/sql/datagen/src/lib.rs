//! Generates the rows of a workload's tables and the arguments of its calls, as `workload.toml`
//! describes them.
//!
//! Everything follows from the load, its scale and a seed: a row from its table and number, a call
//! from its client and number. So several loaders can share a table, each starting at its part, and
//! two engines that are loaded and called alike can be compared.
//!
//! ```text
//! draw         compiled distributions: names are positions, amounts are numbers
//! compile      compiles `sql::load` to these
//! number       integers as values of a type, and comparisons with them
//! order        values in random permutations, for `distinct`
//! sample       draws one value
//! rows         the rows of a table, part by part
//! arguments    the arguments of a call
//! calls        the calls of a client
//! range        the smallest and largest integer of a column
//! rules        checks rows against the constraints of the schema
//! postgresql   loads rows into PostgreSQL
//! loading      loads rows into namdb
//! references   checks foreign keys after loading
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
pub use rows::TableRows;
