//! SQL sessions over the engine: what a server for SQL clients, or a prompt, needs beside the
//! network.
//!
//! [`SqlDatabase`] is shared by all sessions of a process. [`SqlSession`] is the state of one
//! connection: [`SqlSession::prepare`] resolves and plans a statement, [`SqlSession::execute`] runs
//! it. [`Host`] connects both to a database.
//!
//! ```text
//! lexer      tokens with their places
//! statement  splits a text into statements
//! command    recognises the commands that are no queries
//! error      errors as PostgreSQL reports them; parse_error: those of the parser
//! oid        numbers of types, as clients know them
//! host       where lanes come from
//! catalog    definitions, stored in the database, and the tables that they make
//! planned    statements with their plans
//! constants  functions whose values belong to a session
//! access     roles and privileges
//! database   the state that sessions share
//! locks      locks of whole tables; advisory: locks of numbers; waiting: waits for them
//! row_locks  locks of rows
//! session    the state of a connection
//! copy       COPY; cursor: the syntax of cursors
//! outcome    results: rows, command tags, copies
//! ```
#![forbid(unsafe_code)]

pub mod access;
mod advisory;
mod catalog;
mod command;
mod constants;
mod copy;
mod cursor;
mod database;
mod error;
mod host;
mod lexer;
mod locks;
pub mod oid;
mod outcome;
mod parse_error;
mod planned;
mod row_locks;
mod session;
mod statement;
mod waiting;

pub use access::login::{Login, wrong_password};
pub use access::role::{Membership, Role};
pub use catalog::described::{RoutineFacts, SequenceFacts};
pub use catalog::secured::{Secured, TablePrivilege};
pub use catalog::snapshot::{CatalogSnapshot, CatalogTable};
pub use database::SqlDatabase;
pub use error::{ErrorFields, Severity, SqlError};
pub use host::{Committed, Host, LocalHost};
pub use interpreter::Interrupt;
pub use outcome::{ColumnDescription, CopyDirection, CopyFormat, Notice, Outcome, RowSet};
pub use planner::{ColumnStatistics, Constant, TableStatistics};
pub use session::{
    CommentPart, Fetched, OpenQuery, Prepared, ROWS_AT_A_TIME, SessionOptions, SilenceLimit,
    SqlSession, StatementKind, TransactionStatus, is_for_superusers, prepared_text,
};
pub use statement::{StatementText, statements, without_passwords};
