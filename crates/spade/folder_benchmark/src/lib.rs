//! Workload folders as benchmarks: creates and loads the tables, and calls the procedures with the
//! frequencies and arguments of `workload.toml`, by generated code or by the interpreter.
//!
//! ```text
//! folder     a workload folder as a benchmark
//! design     how its tables are stored
//! terminal   the calls of one thread
//! code       selects generated code or the interpreter
//! empty      warnings about plans that were made for empty tables
//! linked     generated code behind one type
//! callers    calls by name, for programs that supply arguments
//! check      checks after a run
//! names      names with static lifetime
//! prepared   arguments as generated code accepts them
//! residence  draws calls near their rows
//! rows       checks that row counts match the calls
//! rules      errors that procedures raise on purpose
//! shipped_folder  a folder as files that travel with an order or a call
//! shipping   calls executed by the owner of their rows
//! ```
#![forbid(unsafe_code)]

mod callers;
mod check;
mod code;
mod design;
mod empty;
mod folder;
mod linked;
mod names;
mod prepared;
mod residence;
mod rows;
mod rules;
mod shipped_folder;
pub mod shipping;
mod terminal;

pub use callers::Callers;
pub use check::own_words;
pub use code::{Code, Ready};
pub use design::{Division, Home};
pub use empty::empty_table_warnings;
pub use folder::{DesignOrigin, FolderError, Options, Stored, default_design, ensure_fits};
pub use linked::LinkedCode;
pub use prepared::{Arguments, Prepared};
pub use rules::Rules;
pub use shipped_folder::{ShippedFolder, ShippedFolderError, UnpackedFolder};
pub use terminal::{Callee, Terminal};
