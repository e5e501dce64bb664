//! Reads a workload folder and returns a typed program with resolved names, for planners,
//! executors of plans and code generators.
//!
//! A folder has three files: `schema.sql` (tables, keys and indexes), `procedures.sql` (stored
//! procedures in `plpgsql` or `sql`) and `workload.toml` (frequency and arguments of the calls, see
//! [`load`]). PostgreSQL 15 runs the first two unchanged.
#![forbid(unsafe_code)]

mod blame;
mod built_in;
mod casts;
pub mod catalog;
mod changing_statement;
mod conflict;
pub mod cursors;
mod depth;
mod dumped;
pub mod embedded;
mod enumeration;
pub mod error;
mod errors;
pub mod expression;
pub mod file;
pub mod function;
pub mod json_function;
mod keyword;
mod lenient;
pub mod load;
mod lock_words;
pub mod namespace;
pub mod near;
mod overriding;
mod parse;
mod plpgsql;
pub mod procedure;
mod program;
pub mod query;
mod reserved;
mod resolve;
mod routine;
mod row_changes;
mod schema;
mod single;
pub mod source;
mod spelling;
mod token;
mod type_name;
pub mod types;
pub mod typing;
mod view;
pub mod walk;
pub mod window;

pub use casts::variable_casts;
pub use catalog::{Catalog, Table, View};
pub use changing_statement::{ChangingStatement, read_changing_statement};
pub use embedded::{EmbeddedStatement, VariableName};
pub use enumeration::{EnumType, Types};
pub use error::{Error, ErrorKind, PostgresError, Result};
pub use errors::{ERRORS_SHOWN_MAX, Errors};
pub use load::{Load, read_load};
pub use namespace::{Schemas, SearchPath};
pub use plpgsql::condition::{is_sqlstate, sqlstate};
pub use procedure::Procedure;
pub use program::{CHECKS, Program, WorkloadFolder};
pub use reserved::{is_reserved, needs_quotes};
pub use routine::{Routines, read_procedures, read_routines, read_signature};
pub use schema::{IDENTITY, read_definitions, read_schema};
pub use single::{
    Action, Call, CallForm, Constants, SingleStatement, Surroundings, read_statement, read_type,
};
pub use source::Source;
pub use types::{Field, Numeric, SqlType};
pub use view::read_view;
