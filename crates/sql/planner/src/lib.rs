//! Plans SQL statements by cost: from resolved statements ([`sql::query::Query`]) to the nodes that
//! the interpreter executes ([`procedure::node`]). No PostgreSQL is needed.
//!
//! [`plan`] plans a statement, [`plan_program`] the statements of stored procedures.
//!
//! ```text
//! convert      from the statement to blocks of numbered relations (block)
//! outer_join   outer joins that a condition makes inner
//! subquery     EXISTS and IN as semi- and anti-joins
//! extreme      min and max at the end of an index
//! problem      units to be joined, and classes of equal columns
//! access       ways to read a table (term: comparisons with its columns)
//! join_order   the order of joins; join: one join of two sets
//! query        groups, order and limit: the plan of a block
//! cost, statistics, selectivity
//! build        nodes of the chosen paths; place: expressions over their rows
//! upper        nodes above the joins; write: INSERT, UPDATE, DELETE
//! program      the statements of stored procedures; folder: a workload folder with its plans
//! ```
//!
//! # Conditions that fail
//!
//! As in PostgreSQL, a condition is evaluated as soon as its relations are known, below joins and
//! before conditions on other relations, and a value that is searched for in an index is evaluated
//! when the scan begins. At one node, cheap conditions come first, and equally cheap ones in the
//! order of the statement. Conditions that must hold only for joined rows stay above an outer join
//! whose added rows they see. `CASE` is the only way to fix an order of evaluation.
#![forbid(unsafe_code)]

mod access;
mod block;
mod build;
mod convert;
mod cost;
mod error;
mod expression;
mod extreme;
mod folder;
mod implied;
mod join;
mod join_order;
mod node_cost;
mod outer_join;
mod path;
mod place;
mod planner;
mod problem;
mod program;
mod query;
mod selectivity;
mod set;
mod statement;
mod statistics;
mod subquery;
mod term;
mod upper;
mod window;
mod write;

pub use cost::Costs;
pub use error::PlanError;
pub use folder::{FolderError, PlanSource, read_folder};
pub use node_cost::{NodeCost, node_costs};
pub use program::{ProgramError, plan_program};
pub use statement::{Knowledge, Planned, plan, plan_expression};
pub use statistics::{ColumnStatistics, Constant, Statistics, TableOrder, TableStatistics};
