//! SQL statements with resolved names.

use crate::expression::Expr;
use crate::types::{Field, SqlType};
use crate::window::Windows;

#[derive(Clone, PartialEq, Debug)]
pub enum Query {
    /// `SELECT`, including `VALUES` and operations on sets.
    Select(Box<Select>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
}

impl Query {
    /// The columns of the returned rows; empty if it returns no rows.
    pub fn outputs(&self) -> Vec<Field> {
        match self {
            Self::Select(select) => select.fields(),
            Self::Insert(insert) => fields(&insert.returning),
            Self::Update(update) => fields(&update.returning),
            Self::Delete(delete) => fields(&delete.returning),
        }
    }
}

fn fields(outputs: &[Output]) -> Vec<Field> {
    let field = |output: &Output| Field {
        name: output.name.clone(),
        sql_type: output.expr.sql_type.clone(),
    };
    outputs.iter().map(field).collect()
}

/// A query with its ordering, limit and lock.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    pub body: SelectBody,
    /// `ORDER BY`, most significant key first.
    pub order: Vec<OrderKey>,
    /// `LIMIT`
    pub limit: Option<Expr>,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// The row lock that it takes.
    pub lock: Option<RowLock>,
    /// Positions of the sources whose rows are locked.
    pub locked: Vec<usize>,
}

impl Select {
    pub fn fields(&self) -> Vec<Field> {
        match &self.body {
            SelectBody::Plain(plain) => fields(&plain.outputs),
            SelectBody::Values { columns, .. } | SelectBody::Set { columns, .. } => columns.clone(),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum SelectBody {
    /// `SELECT ... FROM ...`
    Plain(Plain),
    /// `VALUES (...), (...)`
    Values {
        /// Columns `column1`, ..., with the types common to all rows.
        columns: Vec<Field>,
        rows: Vec<Vec<Expr>>,
    },
    /// `UNION`, `INTERSECT`, `EXCEPT`
    Set {
        operation: SetOperation,
        /// The column names of the left query, with the types common to both.
        columns: Vec<Field>,
        /// Whether duplicates are kept.
        all: bool,
        left: Box<Select>,
        right: Box<Select>,
    },
}

/// An operation on the rows of two queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// Rows of either query.
    Union,
    /// Rows of both queries; with duplicates as often as in the one that has fewer.
    Intersect,
    /// Rows of the left query only; with duplicates, one less for each in the right query.
    Except,
}

impl SetOperation {
    /// The name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Union => "UNION",
            Self::Intersect => "INTERSECT",
            Self::Except => "EXCEPT",
        }
    }
}

/// One `SELECT`.
#[derive(Clone, PartialEq, Debug)]
pub struct Plain {
    /// The items of `FROM` in text order. Columns refer to them by position.
    pub sources: Vec<From>,
    /// How the sources are joined; entries of this list form a cross product.
    pub joins: Vec<Join>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group: Vec<Expr>,
    /// Whether rows are grouped, even if only into a single group.
    pub is_grouped: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// `DISTINCT`
    pub distinct: bool,
    pub outputs: Vec<Output>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct From {
    /// The name by which the query refers to it.
    pub alias: String,
    pub columns: Vec<Field>,
    pub kind: FromKind,
    /// Whether it is a query of `WITH` or a call, whose rows are never locked.
    pub is_common: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FromKind {
    /// A table, by position in the catalog.
    Table(usize),
    /// A query in parentheses.
    Query(Box<Select>),
    /// `LATERAL` and a query, which sees the sources before it: they are those of level 1.
    Lateral(Box<Select>),
    /// `unnest(array)`; several arrays advance together.
    Unnest(Vec<Expr>),
    /// `generate_series(low, high, step)`
    Series(Vec<Expr>),
    /// A routine of the catalog, which runs when the rows are needed.
    Call(Box<RoutineCall>),
    /// A query of `WITH RECURSIVE` that names itself.
    Recursive(Box<Recursion>),
    /// The rows that the last step of the recursion with this number has added.
    WorkTable(usize),
    /// The rows of a query, with a further column for each window function. Only the resolver
    /// builds this.
    Windows(Box<Windows>),
}

/// A query that names itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Recursion {
    /// By which its step refers to it.
    pub number: usize,
    /// The rows with which it begins.
    pub first: Select,
    /// Gets the next rows from the last ones, until there are none.
    pub step: Select,
    /// `UNION ALL`
    pub keeps_all: bool,
}

/// A call of a routine of the catalog. Its arguments see what those of other functions in `FROM`
/// see.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutineCall {
    pub routine: String,
    /// The values of the input parameters.
    pub arguments: Vec<Expr>,
    pub is_volatile: bool,
    /// Whether it is a value of an expression. In `FROM` a call runs once for the same arguments.
    pub is_value: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Join {
    Source(usize),
    /// `JOIN`
    Pair {
        left: Box<Join>,
        right: Box<Join>,
        kind: JoinKind,
        /// The condition of `ON` or `USING`; `None` for `CROSS JOIN`.
        condition: Option<Expr>,
    },
}

/// The type of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Keeps matching pairs.
    Inner,
    /// Also keeps unmatched rows of the left side.
    Left,
    /// Also keeps unmatched rows of the right side.
    Right,
    /// Also keeps unmatched rows of both sides.
    Full,
}

/// An output column of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The name; `?column?` if there is none.
    pub name: String,
    pub expr: Expr,
}

/// A key of `ORDER BY`.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderKey {
    /// An expression over the sources, or an output column.
    pub by: OrderBy,
    pub descending: bool,
    pub nulls_first: bool,
}

/// The expression of an order key.
#[derive(Clone, PartialEq, Debug)]
pub enum OrderBy {
    /// An output column, by position.
    Output(usize),
    /// An expression over the sources.
    Expr(Expr),
}

/// Row locks of `SELECT`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLock {
    pub strength: LockStrength,
    pub if_locked: IfLocked,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockStrength {
    /// `FOR KEY SHARE`
    KeyShare,
    /// `FOR SHARE`
    Share,
    /// `FOR NO KEY UPDATE`
    NoKeyUpdate,
    /// `FOR UPDATE`
    Update,
}

impl LockStrength {
    /// Whether others may not share the rows.
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::NoKeyUpdate | Self::Update)
    }
}

/// The treatment of rows that another transaction has locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IfLocked {
    #[default]
    Wait,
    /// `NOWAIT`
    Fail,
    /// `SKIP LOCKED`
    Skip,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// Position of the table in the catalog.
    pub table: usize,
    /// Positions of the columns that the source provides; the others get their defaults.
    pub columns: Vec<usize>,
    pub source: InsertSource,
    /// `ON CONFLICT`
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`
    pub returning: Vec<Output>,
}

/// The source of inserted rows.
#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// Values; `None` for `DEFAULT`.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query, with the casts of its columns: column n of the query is source 0, column n.
    Select(Box<Select>, Vec<Expr>),
}

/// The action if a row with the same key exists.
#[derive(Clone, PartialEq, Debug)]
pub enum OnConflict {
    DoNothing {
        /// The columns of the unique key; all keys if empty.
        columns: Vec<usize>,
    },
    DoUpdate(Box<ConflictUpdate>),
}

/// `ON CONFLICT (key) DO UPDATE`: the row with the key is source 0, the row that was to be inserted
/// is source 1.
#[derive(Clone, PartialEq, Debug)]
pub struct ConflictUpdate {
    /// The columns of the unique key.
    pub columns: Vec<usize>,
    /// Columns and their new values; `None` for `DEFAULT`.
    pub assignments: Vec<(usize, Option<Expr>)>,
    /// `WHERE`: otherwise nothing happens.
    pub filter: Option<Expr>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// Position of the table in the catalog; the table is source 0.
    pub table: usize,
    /// The table, then the items of `FROM`.
    pub sources: Vec<From>,
    /// How the items of `FROM` are joined.
    pub joins: Vec<Join>,
    /// Columns and their new values; `None` for `DEFAULT`.
    pub assignments: Vec<(usize, Option<Expr>)>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`, over the new row.
    pub returning: Vec<Output>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// Position of the table in the catalog; the table is source 0.
    pub table: usize,
    /// The table, then the items of `USING`.
    pub sources: Vec<From>,
    /// How the items of `USING` are joined.
    pub joins: Vec<Join>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `RETURNING`, over the deleted row.
    pub returning: Vec<Output>,
}

pub(crate) fn field(name: &str, sql_type: SqlType) -> Field {
    Field { name: name.to_owned(), sql_type }
}
