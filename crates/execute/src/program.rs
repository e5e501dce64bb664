//! Procedures as lists of steps.
//!
//! Blocks, branches and loops of PL/pgSQL are jumps here, so that no nesting of a procedure is one of futures.

use crate::ahead::Ahead;
use crate::plan::Statement;
use sql::procedure::{Level, Parameter, Returns, Variable};
use value::Formula;

/// A procedure that is ready to be called.
#[derive(Debug)]
pub(crate) struct Program {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub variables: Vec<Variable>,
    pub returns: Returns,
    pub is_strict: bool,
    /// Columns of the result.
    pub width: usize,
    pub statements: Vec<Statement>,
    pub steps: Vec<Step>,
    /// The step at which each label stands.
    pub labels: Vec<usize>,
    /// Loops over something, each of which has a place for where it stands.
    pub loops: usize,
    /// The variable `found`, if the language has it.
    pub found: Option<usize>,
    /// Output parameters.
    pub outputs: Vec<usize>,
    /// What is read before the statements that ask for it.
    pub ahead: Ahead,
    /// Whether a statement changes or locks rows.
    pub writes: bool,
    /// Whether somebody has to see to it that what was read stays so: it changes rows that refer to others, or others to them.
    pub is_guarded: bool,
}

/// An expression of PL/pgSQL.
#[derive(Debug)]
pub(crate) enum Ask {
    Formula(Formula),
    /// It has sub-selects, and is the only column of this statement.
    Statement(usize),
}

/// Where a value goes.
#[derive(Debug)]
pub(crate) enum Target {
    Variable(usize),
    Field { variable: usize, field: usize },
    Element { variable: usize, index: Ask },
}

/// What becomes of a column of a row.
#[derive(Debug)]
pub(crate) enum Conversion {
    Same(usize),
    Formula(Formula),
    /// It is one of a record, which has so many.
    Record(Formula, usize),
}

/// Where a row goes.
#[derive(Debug)]
pub(crate) struct Into {
    pub is_strict: bool,
    pub targets: Vec<(Target, Conversion)>,
    /// Variables and the columns that they get, if the row of the statement may go into them at once: nothing of it is
    /// converted, and nothing that is delivered depends on what is assigned.
    pub direct: Option<Vec<(usize, usize)>>,
}

/// What a loop goes through.
#[derive(Debug)]
pub(crate) enum Over {
    Range { from: Ask, to: Ask, by: Option<Ask>, reverse: bool },
    Rows(usize),
    Elements(Ask),
}

/// A message or an error.
#[derive(Debug)]
pub(crate) struct Raise {
    pub level: Level,
    pub sqlstate: String,
    pub message: Vec<String>,
    pub values: Vec<Ask>,
    pub detail: Option<Ask>,
    pub hint: Option<Ask>,
}

/// A step. Places to go on at are labels.
#[derive(Debug)]
pub(crate) enum Step {
    Assign {
        target: Target,
        value: Ask,
    },
    Declare {
        variable: usize,
        value: Option<Ask>,
    },
    /// Carries out a statement of SQL.
    Statement {
        number: usize,
        into: Option<Into>,
    },
    Jump(usize),
    /// Goes on at a label unless a condition holds.
    Unless(Ask, usize),
    /// Begins a loop.
    Start {
        place: usize,
        over: Over,
    },
    /// Assigns what is next, or goes on at a label if there is nothing.
    Next {
        place: usize,
        into: Into,
        end: usize,
    },
    /// Ends a loop.
    End(usize),
    Return(Option<Ask>),
    ReturnNext(Option<Ask>),
    ReturnQuery {
        number: usize,
        conversions: Vec<Conversion>,
    },
    /// Reads the rows that are known early, see [`crate::ahead`].
    ReadAhead,
    /// The last statement of a body in `sql`.
    Deliver {
        number: usize,
        conversions: Vec<Conversion>,
    },
    Raise(Raise),
    RowCount(Vec<(Target, Conversion)>),
    NoCase,
    NoReturn,
}

impl Program {
    /// Whether a value that is given back is a row of several columns.
    pub fn returns_rows(&self) -> bool {
        match &self.returns {
            Returns::Row(_) => true,
            Returns::Rows(fields) => !matches!(&fields[..], [single] if single.name.is_empty()),
            Returns::Nothing | Returns::Value(_) => false,
        }
    }
}
