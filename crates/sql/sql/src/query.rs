//! Statements of SQL with every name resolved.

use crate::expression::Expr;
use crate::types::{Field, SqlType};

/// A statement that reads or writes tables.
#[derive(Clone, PartialEq, Debug)]
pub enum Query {
    /// `SELECT`, also `VALUES` and `UNION`.
    Select(Box<Select>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
}

impl Query {
    /// The columns of the rows that it gives; none if it gives no rows.
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

/// A query with what orders and bounds its rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// Where the rows come from.
    pub body: SelectBody,
    /// The order, most significant first.
    pub order: Vec<OrderKey>,
    /// Most rows.
    pub limit: Option<Expr>,
    /// Rows left out at the beginning.
    pub offset: Option<Expr>,
    /// Whether rows are locked.
    pub lock: Option<RowLock>,
}

impl Select {
    /// The columns of its rows.
    pub fn fields(&self) -> Vec<Field> {
        match &self.body {
            SelectBody::Plain(plain) => fields(&plain.outputs),
            SelectBody::Values { columns, .. } | SelectBody::Union { columns, .. } => {
                columns.clone()
            }
        }
    }
}

/// Where the rows of a query come from.
#[derive(Clone, PartialEq, Debug)]
pub enum SelectBody {
    /// `SELECT ... FROM ...`
    Plain(Plain),
    /// `VALUES (...), (...)`
    Values {
        /// Names `column1`, ..., and the types common to all rows.
        columns: Vec<Field>,
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// `UNION`
    Union {
        /// Names of the left side, types common to both.
        columns: Vec<Field>,
        /// Whether equal rows are kept.
        all: bool,
        /// The first rows.
        left: Box<Select>,
        /// The others.
        right: Box<Select>,
    },
}

/// One `SELECT`.
#[derive(Clone, PartialEq, Debug)]
pub struct Plain {
    /// What stands behind `FROM`, in the order of the text. Columns refer to it by position.
    pub sources: Vec<From>,
    /// How the sources are joined; those that stand beside each other are multiplied.
    pub joins: Vec<Join>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// `GROUP BY`
    pub group: Vec<Expr>,
    /// Whether rows are grouped, if only to a single group.
    pub is_grouped: bool,
    /// `HAVING`
    pub having: Option<Expr>,
    /// Whether equal rows are left out.
    pub distinct: bool,
    /// The columns.
    pub outputs: Vec<Output>,
}

/// A source of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct From {
    /// The name by which the query knows it.
    pub alias: String,
    /// Its columns.
    pub columns: Vec<Field>,
    /// What it is.
    pub kind: FromKind,
}

/// What a source of rows is.
#[derive(Clone, PartialEq, Debug)]
pub enum FromKind {
    /// A table of the catalog by position.
    Table(usize),
    /// A query in parentheses.
    Query(Box<Select>),
    /// `unnest(array)`, one or several in step.
    Unnest(Vec<Expr>),
    /// `generate_series(low, high, step)`
    Series(Vec<Expr>),
}

/// How two sets of sources are joined.
#[derive(Clone, PartialEq, Debug)]
pub enum Join {
    /// One source.
    Source(usize),
    /// `JOIN`
    Pair {
        /// What stands before it.
        left: Box<Join>,
        /// What stands behind it.
        right: Box<Join>,
        /// Which rows are kept.
        kind: JoinKind,
        /// `ON`, or what `USING` means; none for `CROSS JOIN`.
        condition: Option<Expr>,
    },
}

/// Which rows a join keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Those that match.
    Inner,
    /// And those of the left side that match nothing.
    Left,
    /// And those of the right side that match nothing.
    Right,
    /// And those of both.
    Full,
}

/// A column of a query's rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Its name, `?column?` if it has none.
    pub name: String,
    /// Its value.
    pub expr: Expr,
}

/// What rows are ordered by.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderKey {
    /// An expression over the sources, or one of the outputs.
    pub by: OrderBy,
    /// Greatest first.
    pub descending: bool,
    /// Where nulls stand.
    pub nulls_first: bool,
}

/// What an order refers to.
#[derive(Clone, PartialEq, Debug)]
pub enum OrderBy {
    /// A column of the result by position.
    Output(usize),
    /// Something else.
    Expr(Expr),
}

/// `FOR UPDATE` and its kin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowLock {
    /// `FOR UPDATE`, `FOR NO KEY UPDATE`
    Update,
    /// `FOR SHARE`, `FOR KEY SHARE`
    Share,
}

/// New rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// The table by position in the catalog.
    pub table: usize,
    /// The columns that the source gives, by position; the others have their defaults.
    pub columns: Vec<usize>,
    /// The values, in the order of `columns`.
    pub source: InsertSource,
    /// `ON CONFLICT`
    pub on_conflict: Option<OnConflict>,
    /// What is returned of each row.
    pub returning: Vec<Output>,
}

/// Where new rows come from.
#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// Values, none where `DEFAULT` is written.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query, and the conversions of its columns: column n of the query is source 0, column n.
    Select(Box<Select>, Vec<Expr>),
}

/// What happens if a row with the same key exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnConflict {
    /// Nothing.
    DoNothing {
        /// The columns of the unique key that is meant; all keys if there are none.
        columns: Vec<usize>,
    },
}

/// Changes to rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The table by position in the catalog; it is source 0.
    pub table: usize,
    /// The table first, then what stands behind `FROM`.
    pub sources: Vec<From>,
    /// How the sources behind `FROM` are joined.
    pub joins: Vec<Join>,
    /// Columns and their new values, none where `DEFAULT` is written.
    pub assignments: Vec<(usize, Option<Expr>)>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// What is returned of each row, as it is afterwards.
    pub returning: Vec<Output>,
}

/// Rows to go.
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// The table by position in the catalog; it is source 0.
    pub table: usize,
    /// The table first, then what stands behind `USING`.
    pub sources: Vec<From>,
    /// How the sources behind `USING` are joined.
    pub joins: Vec<Join>,
    /// `WHERE`
    pub filter: Option<Expr>,
    /// What is returned of each row, as it was.
    pub returning: Vec<Output>,
}

/// A column named `name` of type `sql_type`.
pub(crate) fn field(name: &str, sql_type: SqlType) -> Field {
    Field { name: name.to_owned(), sql_type }
}
