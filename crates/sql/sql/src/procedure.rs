//! Stored procedures with resolved names.
//!
//! Decision: docs/decisions/0157-stricter-than-create-function.md

use crate::cursors::{CursorOpen, CursorStatement};
use crate::embedded::EmbeddedStatement;
use crate::expression::Expr;
use crate::query::Query;
use crate::types::{Field, SqlType};

/// A function or procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Procedure {
    pub name: String,
    /// The line of `procedures.sql` where it begins.
    pub line: u32,
    pub kind: RoutineKind,
    pub parameters: Vec<Parameter>,
    pub returns: Returns,
    pub volatility: Volatility,
    /// Whether a null argument makes the result null without a call.
    pub is_strict: bool,
    /// The parameters in the order of `parameters`, then `found` in PL/pgSQL, then declared
    /// variables and loop variables.
    pub variables: Vec<Variable>,
    pub body: Body,
    /// The statements that PostgreSQL plans, see [`crate::embedded`].
    pub statements: Vec<EmbeddedStatement>,
}

impl Procedure {
    /// The parameters that a caller passes, with their variables.
    pub fn inputs(&self) -> impl Iterator<Item = (&Parameter, &Variable)> {
        let pairs = self
            .parameters
            .iter()
            .map(|parameter| (parameter, &self.variables[parameter.variable]));
        pairs.filter(|(parameter, _)| parameter.mode != ParameterMode::Out)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    /// Called in a query.
    Function,
    /// Called by `CALL`.
    Procedure,
}

/// The volatility category of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// May write, and may return different results for the same arguments.
    Volatile,
    /// Writes nothing.
    Stable,
    /// The result depends only on the arguments.
    Immutable,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Position of its variable; unnamed parameters are called `$1` and so on.
    pub variable: usize,
    pub mode: ParameterMode,
    /// The value if the caller omits the argument.
    pub default: Option<Expr>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterMode {
    /// Passed by the caller.
    In,
    /// Returned; also the columns of `RETURNS TABLE`.
    Out,
    InOut,
}

/// The result of a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Returns {
    Nothing,
    /// One value, from `RETURN` or from the only output parameter.
    Value(SqlType),
    /// One row of the output parameters.
    Row(Vec<Field>),
    /// Several rows. `SETOF type` is a single column without a name.
    Rows(Vec<Field>),
}

/// A variable of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// The name; several variables may have the same one.
    pub name: String,
    /// The type. A `record` has the columns of the row that is assigned to it.
    pub sql_type: SqlType,
    /// The line of the declaration.
    pub line: u32,
    pub is_constant: bool,
    pub is_not_null: bool,
}

/// The body of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    Block(Block),
    /// SQL statements. The rows of the last one, or its first row, are the result.
    Statements {
        statements: Vec<Sql>,
        /// The casts of the result's columns; column n of the last statement is source 0, column n.
        results: Vec<Expr>,
    },
}

/// `DECLARE ... BEGIN ... END`
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub label: Option<String>,
    /// The declared variables in order, with their initial values (null if there is none). Each
    /// entry into the block initializes them again.
    pub declarations: Vec<(usize, Option<Formula>)>,
    pub statements: Vec<Statement>,
}

/// A statement of PL/pgSQL.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The line where it begins.
    pub line: u32,
    pub kind: StatementKind,
}

/// An SQL statement inside a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Sql {
    /// Number in [`Procedure::statements`], from 1.
    pub number: u32,
    pub query: Query,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    pub expr: Expr,
    /// Number in [`Procedure::statements`] if the expression contains a sub-select.
    pub number: Option<u32>,
}

/// The target of an assignment.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    Variable(usize),
    /// A field of a record variable.
    Field {
        variable: usize,
        /// Position of the field.
        field: usize,
    },
    /// An element of an array variable; the array is extended with nulls up to it.
    Element {
        variable: usize,
        /// Position, from 1.
        index: Formula,
    },
}

/// The targets for the columns of a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Into {
    /// Whether anything but exactly one row is an error.
    pub is_strict: bool,
    /// The targets, each with the cast of its column: column n of the row is source 0, column n. A
    /// target beyond the row's columns becomes null. A single record variable takes the whole row.
    pub targets: Vec<(Target, Expr)>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    Block(Block),
    /// `target := value`; the value has the target's type.
    Assign {
        target: Target,
        value: Formula,
    },
    /// `SELECT ... INTO`, `INSERT`, `UPDATE`, `DELETE`
    Sql {
        sql: Sql,
        /// The targets for the first row; they become null if there is no row.
        into: Option<Into>,
    },
    /// `PERFORM`: executes a query for its effects and sets `FOUND`.
    Perform(Sql),
    /// `IF`
    If {
        /// Conditions with their statements.
        branches: Vec<(Formula, Vec<Statement>)>,
        /// `ELSE`.
        otherwise: Vec<Statement>,
    },
    /// `CASE`
    Case {
        /// A hidden variable and the compared value that it holds; `None` for a searched `CASE`.
        operand: Option<(usize, Formula)>,
        /// Conditions with their statements.
        branches: Vec<(Formula, Vec<Statement>)>,
        /// `ELSE`; if it is absent and no condition is true, the statement fails.
        otherwise: Option<Vec<Statement>>,
    },
    /// `LOOP`, `WHILE` and the kinds of `FOR`.
    Loop {
        label: Option<String>,
        over: Over,
        body: Vec<Statement>,
    },
    /// `EXIT` and `CONTINUE`
    Leave {
        /// The label of the loop or block; `None` means the innermost loop.
        label: Option<String>,
        /// `CONTINUE`
        continues: bool,
        when: Option<Formula>,
    },
    /// `RETURN`
    Return(Option<Formula>),
    /// `RETURN NEXT`; without a value it adds a row of the output parameters.
    ReturnNext(Option<Formula>),
    /// `RETURN QUERY`, with the casts of its columns: column n of the query is source 0, column n.
    ReturnQuery(Sql, Vec<Expr>),
    /// `RAISE`
    Raise(Raise),
    /// `EXECUTE`
    Execute(Dynamic, Option<DynamicInto>),
    /// `RETURN QUERY EXECUTE`; the rows have these types.
    ReturnExecute(Dynamic, Vec<SqlType>),
    /// `OPEN`, `FETCH`, `MOVE`, `CLOSE`
    Cursor(CursorStatement),
    /// `RAISE` without arguments: the error that the running handler has caught.
    Reraise,
    /// `ROLLBACK` in a procedure.
    RollBack,
    /// The statements of a block with `EXCEPTION`, and its handlers.
    Protected(Protected),
    /// `GET DIAGNOSTICS`: the number of rows of the last SQL statement.
    GetRowCount(Vec<(Target, Expr)>),
    /// `GET STACKED DIAGNOSTICS`: parts of the error that the running handler has caught. Each is
    /// source 0, column 0 of its cast.
    GetDiagnostics(Vec<(Diagnostic, Target, Expr)>),
    /// `NULL`
    Nothing,
    /// The body of a called routine.
    Called(Called),
}

/// A routine that another one calls, in the place of the call.
#[derive(Clone, PartialEq, Debug)]
pub struct Called {
    pub routine: String,
    /// The routine's body; its declarations are the parameters with their values. `FOUND` is false
    /// behind the declarations. Behind the block, `FOUND` and `ROW_COUNT` are those from before it.
    pub block: Block,
}

/// A statement whose text is computed when the routine runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Dynamic {
    pub text: Formula,
    /// The values of `$1`, `$2`, ...
    pub values: Vec<Formula>,
    /// Whether its rows must have the types of the function's rows.
    pub is_result: bool,
}

impl Dynamic {
    /// Its expressions.
    pub fn formulas(&self) -> impl Iterator<Item = &Formula> {
        std::iter::once(&self.text).chain(&self.values)
    }
}

/// The targets of the row of such a statement, with their types.
#[derive(Clone, PartialEq, Debug)]
pub struct DynamicInto {
    pub is_strict: bool,
    pub targets: Vec<(Target, SqlType)>,
}

/// Statements whose errors have handlers. An error undoes what they have changed in the database.
/// The first handler with a condition that holds runs; without one, the error goes on.
#[derive(Clone, PartialEq, Debug)]
pub struct Protected {
    pub body: Vec<Statement>,
    /// The variable with the code of the error, for the handlers.
    pub sqlstate: usize,
    /// The variable with its message.
    pub sqlerrm: usize,
    pub handlers: Vec<Handler>,
}

impl Protected {
    /// The lists of its statements.
    pub fn parts(&self) -> impl Iterator<Item = &Vec<Statement>> {
        std::iter::once(&self.body).chain(self.handlers.iter().map(|one| &one.statements))
    }
}

/// `WHEN ... THEN`
#[derive(Clone, PartialEq, Debug)]
pub struct Handler {
    /// One of them holds.
    pub conditions: Vec<Condition>,
    pub statements: Vec<Statement>,
}

/// The errors that a handler catches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// All errors except a request to end the statement, and a failed assertion.
    Others,
    /// The errors with this code, or of its class if it ends with three zeros.
    Code(String),
}

impl Condition {
    /// Whether it holds for an error with this code.
    pub fn holds(&self, sqlstate: &str) -> bool {
        match self {
            Self::Others => !matches!(sqlstate, "57014" | "P0004"),
            Self::Code(code) => {
                let is_class = code.ends_with("000") && code.get(..2) == sqlstate.get(..2);
                code == sqlstate || is_class
            }
        }
    }
}

/// A part of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Diagnostic {
    /// `RETURNED_SQLSTATE`
    Sqlstate,
    /// `MESSAGE_TEXT`
    Message,
    /// `PG_EXCEPTION_DETAIL`
    Detail,
    /// `PG_EXCEPTION_HINT`
    Hint,
    /// `PG_EXCEPTION_CONTEXT`
    Context,
    /// `CONSTRAINT_NAME`
    Constraint,
    /// `TABLE_NAME`
    Table,
    /// `SCHEMA_NAME`
    Schema,
    /// `COLUMN_NAME`
    Column,
    /// `PG_DATATYPE_NAME`
    Datatype,
}

/// The values that a loop iterates over.
#[derive(Clone, PartialEq, Debug)]
pub enum Over {
    /// `LOOP`, which only `EXIT` or `RETURN` ends.
    Forever,
    /// `WHILE condition`
    While(Formula),
    /// `FOR i IN low .. high`
    Range {
        /// The loop's own integer variable.
        variable: usize,
        /// The first value.
        from: Formula,
        /// The last value, inclusive.
        to: Formula,
        /// The step, which must be positive; 1 if absent.
        by: Option<Formula>,
        reverse: bool,
    },
    /// `FOR row IN query`
    Rows { into: Into, sql: Sql },
    /// `FOR row IN EXECUTE text`
    Dynamic(Dynamic, DynamicInto),
    /// `FOR row IN cursor`
    Cursor(CursorOpen, DynamicInto),
    /// `FOREACH element IN ARRAY array`
    Elements {
        target: Target,
        /// The cast of an element, which is source 0, column 0.
        element: Expr,
        array: Formula,
    },
}

/// `RAISE`: a message or an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Raise {
    pub level: Level,
    pub sqlstate: String,
    /// A computed `ERRCODE`: a code, or the name of a condition.
    pub code: Option<Formula>,
    /// The pieces of the message; a value goes between every two. Without any, the message is the
    /// text of `code`.
    pub message: Vec<String>,
    /// One fewer than there are pieces.
    pub values: Vec<Formula>,
    /// `DETAIL`
    pub detail: Option<Formula>,
    /// `HINT`
    pub hint: Option<Formula>,
}

/// Severity of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// `DEBUG`
    Debug,
    /// `LOG`
    Log,
    /// `INFO`
    Info,
    /// `NOTICE`
    Notice,
    /// `WARNING`
    Warning,
    /// `EXCEPTION`: aborts the procedure and rolls back its changes.
    Exception,
}
