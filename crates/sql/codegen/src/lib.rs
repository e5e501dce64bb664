//! Prints stored procedures as Rust code that reads as if written by hand [SPADE 3.1].
//!
//! Each procedure becomes one `async fn` over the transaction API: PL/pgSQL statements become Rust
//! statements, plans become loops around reads, columns have slots that are compile-time constants,
//! and integers, decimals and texts are values without heap memory. Generated code handles the
//! common case and leaves the rest to the executor of plans, see `procedure_runtime`. A procedure
//! with an unsupported construct is left to the executor as a whole, and the module says why.
//!
//! ```text
//! code        fragments of Rust code, with the properties of their values
//! expression  expressions
//! called      functions
//! truth       conditions over nullable values
//! cast        casts
//! variable    variables, and what is known about them
//! flow        which variables are read, and may be unassigned then
//! found       tests of FOUND
//! access      keys and ranges
//! again       rows that the next statement reads again
//! ahead       read-ahead
//! needs       the columns that read-ahead fetches
//! rounds      loops whose iterations can run in lockstep
//! steps       printing such loops
//! texts       texts that stay in their rows
//! nulls       variables that are null
//! hint        prefetch hints
//! inserts     batched inserts
//! chain       plans over a single table
//! node        plans
//! aggregate   aggregates over a plan
//! groups      aggregates over groups
//! change      inserts, updates and deletes
//! unique      unique indexes, as SQL checks them
//! satisfied   constraints of a table's rows
//! references  foreign keys
//! body        statements
//! assign      assignments
//! loops       loops
//! results     rows of results
//! whole       rows of results that are most of a table's row
//! tables      the module of the tables
//! workload    all modules of a workload
//! format      formats with rustfmt
//! folder      writes files
//! project     writes a cargo project that links them
//! ```
//!
//! Decision: docs/decisions/0197-generated-code-does-the-common-case-and-leaves-the-rest.md
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
