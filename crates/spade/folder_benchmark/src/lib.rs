//! Workload folders as benchmarks: their tables are made and loaded as they say, and their procedures are called as they
//! say, by generated code or by the executor of plans.
//!
//! ```text
//! folder     a workload folder as a benchmark
//! design     how its tables are stored
//! terminal   the calls of one thread
//! code       who carries them out
//! empty      plans that were made for no rows
//! linked     code of workloads of one's own
//! callers    procedures by name, for programs that bind arguments themselves
//! check      what holds when nobody calls
//! names      names that last as long as the process
//! prepared   arguments as generated code takes them
//! residence  calls that are made where their rows are
//! rows       whether tables have as many rows as calls have left them
//! rules      by which errors calls end as their procedures say
//! shipping   calls that the owner of their rows carries out
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
pub use terminal::{Callee, Terminal};
