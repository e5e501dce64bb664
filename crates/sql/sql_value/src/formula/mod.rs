//! Compiled expressions: constants are parsed, and functions chosen by the types of their operands.
//!
//! Decision: docs/decisions/0175-functions-are-judged-by-random-expressions.md

mod apply;
mod call;
mod compile;
mod evaluate;
mod fast;
pub(crate) mod json;
mod known;

use crate::conversion::Conversion;
use crate::error::{Error, Result};
use crate::integer::Width;
use crate::like::Simple;
use crate::scope::{Scope, Stop};
use crate::value::{Decimal, Value};
use sql::expression::{Aggregate, BinaryOperator, ColumnRef, Expr, Test};
use sql::function::Function;
use sql::types::SqlType;
use std::borrow::Cow;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Formula {
    node: Node,
}

/// An aggregate call; its argument and filter are evaluated over the rows of the group.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    pub aggregate: Aggregate,
    /// `None` for `count(*)`.
    pub argument: Option<Formula>,
    pub argument_type: SqlType,
    pub distinct: bool,
    pub filter: Option<Formula>,
}

impl Formula {
    /// Compiles an expression. An error in it, such as a constant that is out of range, is raised
    /// by each evaluation that reaches it; so are aggregates and sub-selects without a plan, which
    /// are not allowed here.
    pub fn compile(expr: &Expr) -> Self {
        Self { node: compile::Compiler::default().node(expr) }
    }

    /// Compiles an expression over a group. Its aggregates are appended to `aggregates`, without
    /// merging equal ones, and evaluation reads their results with [`Scope::aggregate`].
    pub fn of_group(expr: &Expr, aggregates: &mut Vec<AggregateCall>) -> Self {
        let mut compiler = compile::Compiler { aggregates: Some(aggregates) };
        Self { node: compiler.node(expr) }
    }

    /// Evaluates the expression in `scope`.
    ///
    /// # Errors
    /// [`Stop::Error`] with PostgreSQL's code and message; [`Stop::Needs`] if a sub plan must be
    /// executed first.
    #[inline]
    pub fn evaluate<S: Scope + ?Sized>(&self, scope: &S) -> std::result::Result<Value, Stop> {
        self.node.evaluate(scope).map_err(|stop| *stop)
    }

    /// Evaluates and appends the value to a list.
    ///
    /// # Errors
    /// Those of [`Formula::evaluate`].
    #[inline]
    pub fn append<S: Scope + ?Sized>(
        &self,
        scope: &S,
        list: &mut Vec<Value>,
    ) -> std::result::Result<(), Stop> {
        match &self.node {
            Node::Variable(variable) => list.push(scope.variable(*variable).clone()),
            Node::Constant(value) => list.push(value.clone()),
            node => node.evaluate(scope).map_err(|stop| *stop)?.append_to(list),
        }
        Ok(())
    }

    /// Evaluates without copying: constants, variables and elements of variables are borrowed.
    ///
    /// # Errors
    /// Those of [`Formula::evaluate`].
    #[inline]
    pub fn look<'v, S: Scope + ?Sized>(
        &'v self,
        scope: &'v S,
    ) -> std::result::Result<Cow<'v, Value>, Stop> {
        self.node.look(scope).map_err(|stop| *stop)
    }

    /// Whether the value is true; null is not.
    ///
    /// # Errors
    /// Those of [`Formula::evaluate`].
    #[inline]
    pub fn condition<S: Scope + ?Sized>(&self, scope: &S) -> std::result::Result<bool, Stop> {
        Ok(self.node.truth(scope).map_err(|stop| *stop)? == Some(true))
    }

    /// Evaluates an integer expression; `None` if it is null.
    ///
    /// # Errors
    /// Those of [`Formula::evaluate`].
    #[inline]
    pub fn int<S: Scope + ?Sized>(&self, scope: &S) -> std::result::Result<Option<i64>, Stop> {
        self.node.int(scope).map_err(|stop| *stop)
    }

    /// The value, if it is a constant.
    pub fn constant(&self) -> Option<&Value> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The variable, if the expression is a single variable.
    pub fn variable(&self) -> Option<usize> {
        match self.node {
            Node::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// The column, if the expression is a single column.
    pub fn column(&self) -> Option<ColumnRef> {
        match self.node {
            Node::Column(column) => Some(column),
            _ => None,
        }
    }
}

/// A function of one value, never called with null.
type Unary = fn(&Value) -> Result<Value>;
/// A function of two values, never called with null.
type Binary = fn(&Value, &Value) -> Result<Value>;
/// A function of any number of values.
type Many = fn(&[Value]) -> Result<Value>;

type Pair = Box<[Node; 2]>;

/// A node of a compiled expression.
#[derive(Clone, Debug)]
enum Node {
    Constant(Value),
    Fail(Box<Error>),
    Variable(usize),
    Field {
        variable: usize,
        field: usize,
    },
    Column(ColumnRef),
    Element,
    Aggregate(usize),
    Moment(Moment),
    /// A function that the session computes.
    Sequence {
        function: Function,
        arguments: Box<[Node]>,
    },
    Not(Box<Node>),
    And(Pair),
    Or(Pair),
    Integer {
        operator: BinaryOperator,
        width: Width,
        operands: Pair,
    },
    Numeric {
        apply: fn(Decimal, Decimal) -> Result<Decimal>,
        operands: Pair,
    },
    Unary {
        apply: Unary,
        operand: Box<Node>,
    },
    Binary {
        apply: Binary,
        operands: Pair,
    },
    /// Null if any argument is null.
    Strict {
        apply: Many,
        arguments: Box<[Node]>,
    },
    /// Called with nulls, too.
    Lenient {
        apply: Many,
        arguments: Box<[Node]>,
    },
    CompareIntegers {
        operator: BinaryOperator,
        operands: Pair,
    },
    CompareNumerics {
        operator: BinaryOperator,
        operands: Pair,
    },
    Compare {
        operator: BinaryOperator,
        operands: Pair,
    },
    Distinct {
        negated: bool,
        operands: Pair,
    },
    Is {
        test: Test,
        negated: bool,
        of_row: bool,
        operand: Box<Node>,
    },
    Between {
        /// The value, the lower bound and the upper bound.
        operands: Box<[Node; 3]>,
        negated: bool,
    },
    InList {
        operand: Box<Node>,
        /// Elements without columns; all are evaluated, since PostgreSQL makes an array of them.
        eager: Box<[Node]>,
        /// Elements with columns, evaluated until the value is found.
        lazy: Box<[Node]>,
        negated: bool,
    },
    AnyElement {
        operator: BinaryOperator,
        operands: Pair,
        all: bool,
    },
    Like {
        operands: Pair,
        ignores_case: bool,
        negated: bool,
        /// The text is padded with blanks to this number of characters.
        width: u32,
        /// The pattern, if it is constant and simple.
        simple: Option<Simple>,
    },
    Case {
        branches: Box<[(Node, Node)]>,
        otherwise: Box<Node>,
    },
    Coalesce(Box<[Node]>),
    /// `greatest` or `least`, ignoring nulls.
    Extreme {
        operands: Box<[Node]>,
        greatest: bool,
    },
    NullIf(Pair),
    Convert {
        conversion: Conversion,
        operand: Box<Node>,
    },
    Subscript(Pair),
    Array(Box<[Node]>),
    Row(Box<[Node]>),
    SubPlan {
        plan: usize,
        wanted: Wanted,
    },
}

/// The use of a sub plan's rows.
#[derive(Clone, Debug)]
enum Wanted {
    Scalar,
    Exists { negated: bool },
    In { operand: Box<Node>, negated: bool },
    Array,
}

/// The values that come from clock and random generator of the scope.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Transaction,
    Clock,
    /// The transaction's start, as the local time of the session.
    Local,
    Today,
    /// The time of day of the transaction's start.
    TimeOfDay,
    Random,
}
