//! Expressions that are ready to be evaluated: constants are parsed, and functions chosen by the types of their operands.

mod apply;
mod call;
mod compile;
mod evaluate;
mod fast;
mod known;

use crate::conversion::Conversion;
use crate::error::{Error, Result};
use crate::integer::Width;
use crate::like::Simple;
use crate::scope::{Scope, Stop};
use crate::value::{Decimal, Value};
use sql::expression::{Aggregate, BinaryOperator, ColumnRef, Expr, Test};
use sql::types::SqlType;
use std::borrow::Cow;

/// An expression that is ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Formula {
    node: Node,
}

/// An aggregate of a group, whose argument and filter are over the rows of the group.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub aggregate: Aggregate,
    /// Of what; none for `count(*)`.
    pub argument: Option<Formula>,
    /// The type of that.
    pub argument_type: SqlType,
    /// Whether equal values count once.
    pub distinct: bool,
    /// Which rows count.
    pub filter: Option<Formula>,
}

impl Formula {
    /// Makes an expression ready. What is wrong in it, such as a constant beyond its type, is an error of each evaluation
    /// that comes to it; so are aggregates and sub-selects without plan, which have no place here.
    pub fn compile(expr: &Expr) -> Self {
        Self { node: compile::Compiler::default().node(expr) }
    }

    /// The same for an expression over a group: its aggregates are appended to `aggregates`, equal ones of one expression
    /// as often as they are written, and read by [`Scope::aggregate`].
    pub fn of_group(expr: &Expr, aggregates: &mut Vec<AggregateCall>) -> Self {
        let mut compiler = compile::Compiler { aggregates: Some(aggregates) };
        Self { node: compiler.node(expr) }
    }

    /// The value in `scope`.
    ///
    /// # Errors
    /// [`Stop::Error`] with PostgreSQL's code and message; [`Stop::Needs`] if a sub plan has to be carried out first.
    #[inline]
    pub fn evaluate<S: Scope + ?Sized>(&self, scope: &S) -> std::result::Result<Value, Stop> {
        self.node.evaluate(scope).map_err(|stop| *stop)
    }

    /// Appends the value to a list.
    ///
    /// # Errors
    /// As [`Formula::evaluate`].
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

    /// The same, where it is if it is a constant, a variable or an element of one: nothing is copied then.
    ///
    /// # Errors
    /// As [`Formula::evaluate`].
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
    /// As [`Formula::evaluate`].
    #[inline]
    pub fn condition<S: Scope + ?Sized>(&self, scope: &S) -> std::result::Result<bool, Stop> {
        Ok(self.node.truth(scope).map_err(|stop| *stop)? == Some(true))
    }

    /// The value of an integer expression, none if it is null.
    ///
    /// # Errors
    /// As [`Formula::evaluate`].
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

    /// The variable, if the expression is nothing else.
    pub fn variable(&self) -> Option<usize> {
        match self.node {
            Node::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// The column, if the expression is nothing else.
    pub fn column(&self) -> Option<ColumnRef> {
        match self.node {
            Node::Column(column) => Some(column),
            _ => None,
        }
    }
}

/// A function of one value that is not null.
type Unary = fn(&Value) -> Result<Value>;
/// A function of two values that are not null.
type Binary = fn(&Value, &Value) -> Result<Value>;
/// A function of any number of values.
type Many = fn(&[Value]) -> Result<Value>;

/// Two operands.
type Pair = Box<[Node; 2]>;

/// A step of an evaluation.
#[derive(Clone, Debug)]
enum Node {
    Constant(Value),
    /// An error that is certain.
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
    /// A function that is null if an argument is.
    Strict {
        apply: Many,
        arguments: Box<[Node]>,
    },
    /// A function that sees nulls.
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
        /// The value, the lower and the upper bound.
        operands: Box<[Node; 3]>,
        negated: bool,
    },
    InList {
        operand: Box<Node>,
        /// What is evaluated in any case: PostgreSQL makes an array of it.
        eager: Box<[Node]>,
        /// What is evaluated until the value is found: what has columns in it.
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
        /// Characters to which blanks fill the text.
        width: u32,
        /// The pattern, if it is constant and simple.
        simple: Option<Simple>,
    },
    Case {
        branches: Box<[(Node, Node)]>,
        otherwise: Box<Node>,
    },
    Coalesce(Box<[Node]>),
    /// The greatest or least of what is not null.
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

/// What is made of the rows of a sub plan.
#[derive(Clone, Debug)]
enum Wanted {
    Scalar,
    Exists { negated: bool },
    In { operand: Box<Node>, negated: bool },
    Array,
}

/// What the scope knows of time and chance.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Transaction,
    Clock,
    Today,
    Random,
}
