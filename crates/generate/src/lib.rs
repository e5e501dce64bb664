//! Prints stored procedures as Rust that reads as if written by hand [SPADE 3.1].
//!
//! Each procedure becomes one `async fn` over the transaction API: PL/pgSQL's statements are Rust's, plans are loops around
//! reads, columns are at places that the compiler knows, and integers, decimals and texts are values without memory of their
//! own. Generated code does what usually happens and leaves the rest to the executor of plans, see `runtime`. A procedure
//! that has something in it which no code is generated for is left to the executor as a whole, and the module says why.
//!
//! ```text
//! code        pieces of Rust with what is known of their values
//! expression  expressions
//! called      functions
//! truth       conditions over values that may be null
//! cast        conversions between types
//! variable    variables, and what is found out of them
//! flow        which of them are asked for, and may be null then
//! found       tests of FOUND
//! access      keys and ranges
//! again       rows that the next statement wants again
//! ahead       rows that are read together
//! needs       what of them is needed
//! rounds      loops whose rounds can go side by side
//! steps       their printing
//! texts       texts that stay in their rows
//! nulls       variables that are null
//! hint        what a call will look for first
//! inserts     rows that are inserted together
//! chain       plans that end in one table
//! node        plans
//! aggregate   aggregates over them
//! groups      those of groups of rows
//! change      inserts, updates and deletes
//! unique      unique keys, as SQL looks at them
//! satisfied   conditions that every row of a table satisfies
//! references  rows that others refer to
//! body        statements
//! assign      what goes into variables
//! loops       loops
//! results     rows of results
//! whole       rows of results that are most of a row of a table
//! tables      the module of the tables
//! workload    all modules of a workload
//! format      as rustfmt writes them
//! folder      as files
//! project     as a cargo project that links them
//! ```
#![forbid(unsafe_code)]

mod access;
mod again;
mod aggregate;
mod ahead;
mod assign;
mod body;
mod called;
mod cast;
mod chain;
mod change;
mod code;
mod expression;
mod flow;
pub mod folder;
pub mod format;
mod found;
mod function;
mod groups;
mod hint;
mod inserts;
mod loops;
mod names;
mod needs;
mod node;
mod nulls;
pub mod project;
mod references;
mod results;
mod rounds;
mod satisfied;
mod steps;
mod tables;
mod texts;
mod truth;
mod unique;
mod unsupported;
mod variable;
mod whole;
mod workload;

pub use unsupported::Unsupported;
pub use workload::{File, Generated, generate};
