//! Plans of PostgreSQL for the statements of a workload: collected from a real one, and read into types.
//!
//! SPADE takes physical plans as they come, and decides on the rest [SPADE 3.1, 5.1]. A plan is what `EXPLAIN (VERBOSE,
//! FORMAT XML)` says of a statement with its parameters still open (a generic plan); it is kept beside the workload, so that
//! only who changes a workload needs a PostgreSQL.
//!
//! ```text
//! expression  conditions, outputs and sort keys
//! node        the types of a plan
//! read        from XML to those
//! server      a PostgreSQL to ask
//! statistics  how tables look to its planner
//! collect     questions and answers
//! spread      what a workload says of its tables
//! folder      the plans beside a workload
//! ```
#![forbid(unsafe_code)]

mod collect;
pub mod expression;
pub mod folder;
pub mod node;
mod read;
mod server;
mod spread;
mod statistics;

pub use collect::{Answer, Question, Statement, collect, run_files};
pub use expression::{Expression, SortKey};
pub use node::{Node, Operator, Plan, SubPlan};
pub use read::{Origin, PlanError, read};
pub use server::{CollectError, Database, Server, ServerChoice};
pub use server::{clear_away, interrupt, is_interrupted};
pub use statistics::{ColumnSpread, TableSize};
