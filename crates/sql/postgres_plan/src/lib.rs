//! PostgreSQL's plans for the statements of a workload: collected from a PostgreSQL server, and
//! parsed.
//!
//! SPADE takes logical plans from PostgreSQL and chooses the physical design [SPADE 3.1, 5.1]. A
//! plan is the output of `EXPLAIN (VERBOSE, FORMAT XML)` for a statement with parameters (a generic
//! plan). It is stored beside the workload, so that only a user who changes a workload needs
//! PostgreSQL.
//!
//! ```text
//! expression  conditions, outputs and sort keys
//! node        the types of a plan
//! read        parses XML into these types
//! server      a running or a private PostgreSQL server
//! statistics  the table sizes that the planner sees
//! collect     collects plans from PostgreSQL
//! spread      derives table statistics from a workload
//! folder      the stored plans of a workload
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
