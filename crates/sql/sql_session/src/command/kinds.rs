//! Statements by their kind, and the parts of commands.

use super::{
    AdvisoryCall, Commented, GrantCommand, OwnedKind, RoleCommand, RoleSpec, SleepCall, TypeChange,
};
use crate::copy::CopyStatement;
use txn::Isolation;

/// The treatment of tables that refer to a truncated one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Referrers {
    /// The command is refused if there are any.
    Refuse,
    /// They are truncated, too.
    Truncate,
    /// They stay: the table is empty anyway.
    Keep,
}

/// A statement by its kind.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Command {
    Empty,
    /// `SELECT`, `VALUES`, `INSERT`, `UPDATE`, `DELETE`.
    Query,
    Begin(Characteristics),
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    SetTransaction(Characteristics),
    SetSessionCharacteristics(Characteristics),
    Set {
        is_local: bool,
        name: String,
        value: Option<String>,
    },
    /// `SELECT set_config(name, value, is_local)`
    SetConfig {
        name: String,
        value: String,
        is_local: bool,
    },
    Show(String),
    Reset(Option<String>),
    DiscardAll,
    Prepare {
        name: String,
        types: Vec<String>,
        text: String,
    },
    /// The arguments as a list of expressions.
    Execute {
        name: String,
        arguments: String,
    },
    /// `None` for all.
    Deallocate(Option<String>),
    CreateTable {
        name: String,
        if_not_exists: bool,
    },
    CreateTableAs(TableOfQuery),
    CreateIndex {
        name: Option<String>,
        table: String,
        if_not_exists: bool,
    },
    CreateRoutine {
        name: String,
        replaces: bool,
    },
    Comment {
        on: Commented,
        /// `None` removes the comment.
        text: Option<String>,
    },
    CreateSequence {
        name: String,
        if_not_exists: bool,
    },
    CreateSchema {
        /// `None` for the name of the owner.
        name: Option<String>,
        if_not_exists: bool,
        owner: Option<RoleSpec>,
    },
    DropSchemas {
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    RenameSchema {
        name: String,
        to: String,
    },
    /// `ALTER ... SET SCHEMA`
    SetSchema {
        kind: OwnedKind,
        name: String,
        if_exists: bool,
        schema: String,
        tag: &'static str,
    },
    CreateView {
        name: String,
        replaces: bool,
        /// The names of its first columns.
        columns: Vec<String>,
        query: String,
    },
    /// `CREATE TYPE ... AS ENUM`
    CreateEnum {
        name: String,
        labels: Vec<String>,
    },
    /// `ALTER TYPE`
    AlterType {
        name: String,
        change: TypeChange,
    },
    AlterTable {
        table: String,
        if_exists: bool,
        change: TableChange,
    },
    AlterIndex {
        index: String,
        if_exists: bool,
        /// The new name.
        to: String,
    },
    Drop {
        kind: DropKind,
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    Truncate {
        tables: Vec<String>,
        referrers: Referrers,
    },
    Copy(Box<CopyStatement>),
    Declare {
        name: String,
        text: String,
        at: usize,
    },
    /// `None` for all rows.
    Fetch {
        name: String,
        count: Option<usize>,
    },
    /// `None` for all cursors.
    Close(Option<String>),
    Explain {
        options: ExplainOptions,
        text: String,
        at: usize,
    },
    /// `CALL`; a call of a function in a query is found by the resolver.
    Call,
    /// The tables; empty means all.
    Analyze {
        tables: Vec<String>,
        tag: &'static str,
    },
    /// A call of a function of advisory locks.
    Advisory(AdvisoryCall),
    /// `SELECT pg_sleep(...)`
    Sleep(SleepCall),
    LockTable {
        tables: Vec<String>,
        mode: LockMode,
        waits: bool,
    },
    Role(RoleCommand),
    Grant(GrantCommand),
    /// `ALTER ... OWNER TO`
    SetOwner {
        kind: OwnedKind,
        name: String,
        if_exists: bool,
        role: RoleSpec,
        tag: &'static str,
    },
    /// `SET ROLE`; `None` for the role of the session.
    SetRole {
        is_local: bool,
        name: Option<String>,
    },
    /// `SET SESSION AUTHORIZATION`; `None` for the user that has connected.
    SetSessionUser {
        is_local: bool,
        name: Option<String>,
    },
    /// A command without effect, with its tag.
    Ignored(String),
}

/// The parts of `ALTER TABLE` that the reader of definitions does not keep.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TableChange {
    /// The new name of the table.
    pub renamed: Option<String>,
    /// Columns that are dropped, and whether with `CASCADE`.
    pub dropped: Vec<(String, bool)>,
    /// The values of columns with a new type, by the column's name: the texts behind `USING`.
    pub values: Vec<(String, String)>,
}

/// The kinds of locks of a table that differ here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockMode {
    /// Others may do all but replace the table.
    Reads,
    /// As for a change of rows.
    Writes,
    /// Nobody else changes rows.
    Alone,
}

/// The kind of a dropped object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DropKind {
    Table,
    Index,
    Routine,
    Sequence,
    View,
    Type,
}

/// The characteristics of a transaction that `BEGIN` and `SET TRANSACTION` give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Characteristics {
    pub isolation: Option<IsolationLevel>,
    pub is_read_only: Option<bool>,
}

/// The isolation levels of SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl IsolationLevel {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// The level with this name.
    pub fn named(name: &str) -> Option<Self> {
        let all =
            [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];
        all.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// Whether programs expect no serialization failures at this level.
    pub const fn hides_conflicts(self) -> bool {
        matches!(self, Self::ReadUncommitted | Self::ReadCommitted)
    }

    pub const fn of_engine(self) -> Isolation {
        match self {
            Self::Serializable => Isolation::Serializable,
            _ => Isolation::Snapshot,
        }
    }
}

/// The options of `EXPLAIN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExplainOptions {
    pub analyze: bool,
    pub costs: bool,
    pub timing: bool,
    pub summary: bool,
    pub verbose: bool,
    pub is_json: bool,
}

/// `CREATE TABLE ... AS`
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TableOfQuery {
    pub name: String,
    pub if_not_exists: bool,
    /// Names of its first columns, in place of those of the query.
    pub columns: Vec<String>,
    pub query: String,
    /// False for `WITH NO DATA`.
    pub has_rows: bool,
}
