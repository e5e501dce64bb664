//! Stored procedures with every name resolved.
//!
//! Decision: docs/decisions/0157-stricter-than-create-function.md

use crate::embedded::EmbeddedStatement;
use crate::expression::Expr;
use crate::query::Query;
use crate::types::{Field, SqlType};

/// A function or procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// The line of `procedures.sql` at which it begins.
    pub line: u32,
    /// How it is called.
    pub kind: RoutineKind,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// What a call gives back.
    pub returns: Returns,
    /// What it promises.
    pub volatility: Volatility,
    /// Whether a null argument makes the result null without a call.
    pub is_strict: bool,
    /// Parameters first, as in `parameters`, then `found` if the language has it, then what is declared, and the
    /// variables of loops.
    pub variables: Vec<Variable>,
    /// What it does.
    pub body: Body,
    /// The statements in it that PostgreSQL plans, see [`crate::embedded`].
    pub statements: Vec<EmbeddedStatement>,
}

impl Procedure {
    /// The parameters that a caller gives, with their variables.
    pub fn inputs(&self) -> impl Iterator<Item = (&Parameter, &Variable)> {
        let pairs = self
            .parameters
            .iter()
            .map(|parameter| (parameter, &self.variables[parameter.variable]));
        pairs.filter(|(parameter, _)| parameter.mode != ParameterMode::Out)
    }
}

/// How a routine is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    /// In a query.
    Function,
    /// By `CALL`.
    Procedure,
}

/// What a function promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Volatility {
    /// Nothing.
    Volatile,
    /// It writes nothing.
    Stable,
    /// Its result depends on its arguments alone.
    Immutable,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its variable by position; parameters without a name are called `$1` and so on.
    pub variable: usize,
    /// Its direction.
    pub mode: ParameterMode,
    /// What it is if the caller leaves it out.
    pub default: Option<Expr>,
}

/// The direction of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterMode {
    /// Given by the caller.
    In,
    /// Given back; also the columns of `RETURNS TABLE`.
    Out,
    /// Both.
    InOut,
}

/// What a call gives back.
#[derive(Clone, PartialEq, Debug)]
pub enum Returns {
    /// Nothing.
    Nothing,
    /// One value, which `RETURN` gives; or the value of the only output parameter.
    Value(SqlType),
    /// One row of the output parameters.
    Row(Vec<Field>),
    /// Rows; of a single column without a name if it is `SETOF` a type.
    Rows(Vec<Field>),
}

/// A variable of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name; several may have the same one.
    pub name: String,
    /// Its type. A `record` has the columns of what is assigned to it.
    pub sql_type: SqlType,
    /// The line where it is declared.
    pub line: u32,
    /// Whether it cannot be assigned.
    pub is_constant: bool,
    /// Whether it refuses null.
    pub is_not_null: bool,
}

/// What a procedure does.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// PL/pgSQL.
    Block(Block),
    /// Statements of SQL; the rows of the last are the result, or its first row.
    Statements {
        /// The statements.
        statements: Vec<Sql>,
        /// The conversions of the result's columns: column n of the last statement is source 0, column n.
        results: Vec<Expr>,
    },
}

/// `DECLARE ... BEGIN ... END`
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// The label in front.
    pub label: Option<String>,
    /// The variables that it declares, in order, with what they begin as: null if nothing is said. They begin anew each time
    /// the block is entered.
    pub declarations: Vec<(usize, Option<Formula>)>,
    /// What it does.
    pub statements: Vec<Statement>,
}

/// A statement of PL/pgSQL.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The line at which it begins.
    pub line: u32,
    /// What it does.
    pub kind: StatementKind,
}

/// A statement of SQL inside a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Sql {
    /// Its number in [`Procedure::statements`], from 1.
    pub number: u32,
    /// What it does.
    pub query: Query,
}

/// An expression that PL/pgSQL evaluates.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    /// The expression.
    pub expr: Expr,
    /// Its number in [`Procedure::statements`] if it has a sub-select.
    pub number: Option<u32>,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    /// A variable.
    Variable(usize),
    /// A field of a record variable.
    Field {
        /// The variable.
        variable: usize,
        /// The field's position.
        field: usize,
    },
    /// An element of an array variable, which grows with nulls up to it.
    Element {
        /// The variable.
        variable: usize,
        /// The position, from 1.
        index: Formula,
    },
}

/// Where the columns of a row go.
#[derive(Clone, PartialEq, Debug)]
pub struct Into {
    /// Whether it is an error if there is not exactly one row.
    pub is_strict: bool,
    /// The targets, with the conversion of each column: column n of the row is source 0, column n. A target beyond the
    /// row's columns becomes null. A single record variable takes the whole row.
    pub targets: Vec<(Target, Expr)>,
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    /// A block.
    Block(Block),
    /// `target := value`; the value has the target's type.
    Assign {
        /// Where it goes.
        target: Target,
        /// The value.
        value: Formula,
    },
    /// `SELECT ... INTO`, `INSERT`, `UPDATE`, `DELETE`
    Sql {
        /// The statement.
        sql: Sql,
        /// Where the first row goes; all null if there is none.
        into: Option<Into>,
    },
    /// `PERFORM`: a query for its effects and for `FOUND`.
    Perform(Sql),
    /// `IF`
    If {
        /// Conditions and what is done if they hold.
        branches: Vec<(Formula, Vec<Statement>)>,
        /// What is done if none does.
        otherwise: Vec<Statement>,
    },
    /// `CASE`
    Case {
        /// What is compared: a variable that has no other use, and its value. None for a searched `CASE`.
        operand: Option<(usize, Formula)>,
        /// Conditions and what is done if they hold.
        branches: Vec<(Formula, Vec<Statement>)>,
        /// What is done if none does; without it that is an error.
        otherwise: Option<Vec<Statement>>,
    },
    /// `LOOP`, `WHILE` and the kinds of `FOR`.
    Loop {
        /// The label in front.
        label: Option<String>,
        /// What is gone through.
        over: Over,
        /// What is done each time.
        body: Vec<Statement>,
    },
    /// `EXIT` and `CONTINUE`
    Leave {
        /// The loop or block that is meant; the innermost loop if there is none.
        label: Option<String>,
        /// `CONTINUE`
        continues: bool,
        /// Only if this holds.
        when: Option<Formula>,
    },
    /// `RETURN`
    Return(Option<Formula>),
    /// `RETURN NEXT`; without a value, a row of the output parameters.
    ReturnNext(Option<Formula>),
    /// `RETURN QUERY`, with the conversions of its columns: column n of the query is source 0, column n.
    ReturnQuery(Sql, Vec<Expr>),
    /// `RAISE`
    Raise(Raise),
    /// `GET DIAGNOSTICS`: the number of rows of the last statement of SQL.
    GetRowCount(Vec<(Target, Expr)>),
    /// `NULL`
    Nothing,
}

/// What a loop goes through.
#[derive(Clone, PartialEq, Debug)]
pub enum Over {
    /// Nothing: it ends by `EXIT` or `RETURN`.
    Forever,
    /// As long as this holds.
    While(Formula),
    /// `FOR i IN low .. high`
    Range {
        /// An integer variable of the loop's own.
        variable: usize,
        /// Where it begins, an integer.
        from: Formula,
        /// Where it ends, included.
        to: Formula,
        /// The step, which must be positive; 1 if nothing is said.
        by: Option<Formula>,
        /// Downwards.
        reverse: bool,
    },
    /// `FOR row IN query`
    Rows {
        /// Where each row goes.
        into: Into,
        /// The query.
        sql: Sql,
    },
    /// `FOREACH element IN ARRAY array`
    Elements {
        /// Where each element goes.
        target: Target,
        /// The conversion of an element, which is source 0, column 0.
        element: Expr,
        /// The array.
        array: Formula,
    },
}

/// A message or an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Raise {
    /// How serious it is.
    pub level: Level,
    /// The error's code.
    pub sqlstate: String,
    /// The pieces of the message; between two of them stands a value as text.
    pub message: Vec<String>,
    /// One fewer than there are pieces.
    pub values: Vec<Formula>,
    /// `DETAIL`
    pub detail: Option<Formula>,
    /// `HINT`
    pub hint: Option<Formula>,
}

/// How serious a message is.
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
    /// `EXCEPTION`: ends the procedure and undoes its effects.
    Exception,
}
