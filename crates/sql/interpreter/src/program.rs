//! Procedures as lists of steps.
//!
//! Blocks, branches and loops of PL/pgSQL are compiled to jumps, so that nested blocks do not nest
//! futures.

use crate::ahead::Ahead;
use crate::plan::Statement;
use sql::cursors::MovementKind;
use sql::procedure::{Condition, Diagnostic, Level, Parameter, Returns, Variable};
use sql::{Field, SqlType};
use sql_value::Formula;

/// A compiled procedure.
#[derive(Debug)]
pub(crate) struct Program {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub variables: Vec<Variable>,
    pub returns: Returns,
    pub is_strict: bool,
    pub width: usize,
    pub statements: Vec<Statement>,
    pub steps: Vec<Step>,
    /// The step of each label.
    pub labels: Vec<usize>,
    /// Number of loops; each has a state.
    pub loops: usize,
    /// The variable `found`, in PL/pgSQL.
    pub found: Option<usize>,
    pub outputs: Vec<usize>,
    /// The rows to read ahead.
    pub ahead: Ahead,
    /// Whether a statement has a computed text.
    pub has_texts: bool,
    /// Whether a block has handlers of errors.
    pub has_handlers: bool,
    /// Whether a step opens or moves a cursor.
    pub has_cursors: bool,
    /// Whether a statement is `ROLLBACK`.
    pub rolls_back: bool,
    /// Whether a statement changes or locks rows.
    pub writes: bool,
    /// Whether reads must be validated, because the procedure changes rows that reference others or
    /// are referenced.
    pub is_guarded: bool,
}

#[derive(Debug)]
pub(crate) enum Expression {
    Formula(Formula),
    /// It contains sub-selects, and is the only column of this statement.
    Statement(usize),
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Variable(usize),
    Field { variable: usize, field: usize },
    Element { variable: usize, index: Expression },
}

/// The cast of a column of a row.
#[derive(Debug)]
pub(crate) enum Conversion {
    Same(usize),
    Formula(Formula),
    /// The column goes into a record with this many columns.
    Record(Formula, usize),
}

/// The targets of a row.
#[derive(Debug)]
pub(crate) struct Into {
    pub is_strict: bool,
    pub targets: Vec<(Target, Conversion)>,
    /// Variables with their columns, if the statement's row can be read directly into them: nothing
    /// is cast, and no output depends on an assigned variable.
    pub direct: Option<Vec<(usize, usize)>>,
}

/// A statement with a computed text.
#[derive(Debug)]
pub(crate) struct Dynamic {
    pub text: Expression,
    /// With their types.
    pub values: Vec<Expression>,
    pub types: Vec<SqlType>,
    pub is_result: bool,
}

/// The targets of its row, whose columns are cast to these types before.
#[derive(Debug)]
pub(crate) struct DynamicInto {
    pub types: Vec<SqlType>,
    pub into: Into,
}

/// A cursor that is opened.
#[derive(Debug)]
pub(crate) struct CursorOpen {
    /// The variable with its name.
    pub cursor: usize,
    pub rows: OpenedRows,
    pub only_forward: bool,
}

/// The rows of a cursor that is opened.
#[derive(Debug)]
pub(crate) enum OpenedRows {
    Query {
        number: usize,
        fields: Vec<Field>,
        /// The table whose key is behind the columns.
        table: Option<usize>,
    },
    Text(Dynamic),
}

/// A step with a cursor.
#[derive(Debug)]
pub(crate) enum CursorStep {
    Open(CursorOpen),
    Fetch {
        cursor: usize,
        kind: MovementKind,
        count: Option<Expression>,
        into: Option<DynamicInto>,
    },
    Close(usize),
    /// Assigns the key of the row on which a cursor is.
    Locate {
        cursor: usize,
        table: usize,
        key: Vec<usize>,
    },
}

/// The values that a loop iterates over.
#[derive(Debug)]
pub(crate) enum Over {
    Range {
        from: Expression,
        to: Expression,
        by: Option<Expression>,
        reverse: bool,
    },
    Rows(usize),
    /// The rows of a computed text, cast to these types.
    Text(Dynamic, Vec<SqlType>),
    Cursor(Box<CursorOpen>),
    Elements(Expression),
}

#[derive(Debug)]
pub(crate) struct Raise {
    pub level: Level,
    pub sqlstate: String,
    /// A computed code or name of a condition.
    pub code: Option<Expression>,
    pub message: Vec<String>,
    pub values: Vec<Expression>,
    pub detail: Option<Expression>,
    pub hint: Option<Expression>,
}

/// A handler of errors.
#[derive(Debug)]
pub(crate) struct Handler {
    pub conditions: Vec<Condition>,
    /// The variables with the error's code and message.
    pub sqlstate: usize,
    pub sqlerrm: usize,
}

/// A step. Jump targets are labels.
#[derive(Debug)]
pub(crate) enum Step {
    Assign {
        target: Target,
        value: Expression,
    },
    Declare {
        variable: usize,
        value: Option<Expression>,
    },
    Statement {
        number: usize,
        into: Option<Into>,
    },
    /// A loop over the rows of a statement that appends the values of variables to arrays.
    Collect {
        number: usize,
        into: Into,
        /// The arrays with these variables.
        arrays: Vec<(usize, usize)>,
    },
    Jump(usize),
    /// Jumps to a label unless a condition holds.
    Unless(Expression, usize),
    Start {
        place: usize,
        over: Over,
    },
    /// Assigns the next value, or jumps to a label at the end of the loop.
    Next {
        place: usize,
        into: Into,
        end: usize,
    },
    /// As `Next`, for a loop over a cursor.
    NextRow {
        place: usize,
        into: DynamicInto,
        end: usize,
    },
    End(usize),
    Return(Option<Expression>),
    ReturnNext(Option<Expression>),
    ReturnQuery {
        number: usize,
        conversions: Vec<Conversion>,
    },
    /// Reads ahead, see [`crate::ahead`].
    ReadAhead,
    /// Returns the rows of the last statement of a body in `sql`.
    Deliver {
        number: usize,
        conversions: Vec<Conversion>,
    },
    /// Begins the body of a called routine: keeps `FOUND` and `ROW_COUNT`.
    Enter,
    /// Ends it: they are as before.
    Leave,
    Execute(Dynamic, Option<DynamicInto>),
    ReturnText(Dynamic, Vec<SqlType>),
    Cursor(CursorStep),
    /// Begins the statements of a block with handlers, which are at a label.
    Protect {
        handlers: usize,
        /// The label behind the handlers.
        end: usize,
    },
    /// Ends them without an error.
    Unprotect,
    /// Begins a handler, or jumps to a label if it does not catch the error.
    Catch {
        handler: Handler,
        next: usize,
    },
    /// Ends a handler.
    EndHandler,
    /// No handler has caught the error.
    Uncaught,
    /// `RAISE` without arguments.
    RaiseAgain,
    RollBack,
    Diagnose(Vec<(Diagnostic, Target, Conversion)>),
    Raise(Raise),
    RowCount(Vec<(Target, Conversion)>),
    NoCase,
    NoReturn,
}

impl Program {
    /// Whether a returned value is a row of several columns.
    pub fn returns_rows(&self) -> bool {
        match &self.returns {
            Returns::Row(_) => true,
            Returns::Rows(fields) => !matches!(&fields[..], [single] if single.name.is_empty()),
            Returns::Nothing | Returns::Value(_) => false,
        }
    }
}
