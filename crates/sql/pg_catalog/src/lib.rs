//! PostgreSQL's system catalog, `pg_catalog` and `information_schema`, for tools that look into it.
//!
//! Clients such as psql and drivers send long queries on the catalog, in more SQL than the planner
//! has. They read small relations, so an evaluator of its own runs them directly on the syntax
//! tree: it is slow for many rows and knows much syntax. It does not read user tables.
//!
//! ```text
//! route      which statements are catalog queries    relations  names and columns
//! world      the user's tables, as the catalog needs fill       rows of the relations
//! from       FROM and WHERE, joins                   select     GROUP BY, ORDER BY, set operations
//! evaluate   expressions                             functions  PostgreSQL's functions
//! types      types of expressions                    statistics pg_stats
//! names      names and numbers of relations          enums      enumerated types
//! ```
//!
//! Decision: docs/decisions/0331-catalog-queries-have-an-evaluator-of-their-own.md
#![forbid(unsafe_code)]

mod aggregate;
mod comments;
mod enums;
mod evaluate;
mod fill;
mod from;
mod functions;
mod names;
mod operators;
mod privileges;
mod relations;
mod roles;
mod route;
mod routines;
mod schema_columns;
mod select;
mod sequences;
mod statistics;
mod types;
mod window;
mod with;
mod world;

pub use route::{CatalogQuery, OutputColumn};
pub use world::{TableInfo, ViewInfo, World};
