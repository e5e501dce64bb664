//! Expressions as PostgreSQL prints them in plans: conditions, outputs, sort keys.
//!
//! PostgreSQL parenthesizes every operation, so that parsing needs no precedence. It adds another
//! pair of parentheses around a value that a node takes from another node
//! ([`Expression::Computed`]). It does not print conversions that it inserts by itself, nor the
//! columns that an `UPDATE` sets.

mod atom;
mod lexer;
mod parser;
mod print;

use std::fmt;

/// A text that is not a supported expression.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}, at character {position} of `{text}`")]
pub struct ExpressionError {
    pub text: String,
    /// Position of the problem in characters, from 1.
    pub position: usize,
    /// The problem.
    pub sentence: String,
}

/// An expression of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// A column of a relation in the plan.
    Column {
        /// The relation's alias. `None` only if the plan has a single relation and the parser does
        /// not know it.
        relation: Option<String>,
        /// The column; `ctid` and `tableoid` are PostgreSQL's system columns.
        column: String,
    },
    /// A whole row as one value.
    WholeRow {
        relation: String,
    },
    /// `$n`, a parameter of the statement, from 1.
    Parameter(u32),
    /// `$n`, an output column of an init plan, see [`crate::SubPlan::delivers`].
    InitPlanOutput(u32),
    /// The result of a sub plan for the current row. Only the statement says whether this is a
    /// value or the existence of a row.
    SubPlan {
        /// The name, as `SubPlan 1`.
        name: String,
    },
    /// A value that this node takes from the output of another node.
    Computed(Box<Expression>),
    Constant {
        value: Literal,
        /// The type, if it differs from the literal's default type.
        type_name: Option<String>,
    },
    /// An operator before its operand.
    Unary {
        operator: String,
        operand: Box<Expression>,
    },
    /// An operator between two operands.
    Binary {
        /// The operator, such as `=`, `+`, or `~~` for `LIKE`.
        operator: String,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// `left operator ANY (array)` or `ALL`.
    Quantified {
        operator: String,
        left: Box<Expression>,
        array: Box<Expression>,
        all: bool,
    },
    /// Conjunction.
    And(Vec<Expression>),
    /// Disjunction.
    Or(Vec<Expression>),
    Not(Box<Expression>),
    /// `IS NULL`, `IS NOT TRUE` and similar tests.
    Is {
        operand: Box<Expression>,
        negated: bool,
        state: State,
    },
    Distinct {
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// A call of a function or aggregate.
    Call(FunctionCall),
    /// `CURRENT_DATE`, `LOCALTIMESTAMP` and similar keywords, with the precision of seconds if
    /// given.
    Moment {
        name: String,
        precision: Option<u32>,
    },
    /// An explicit conversion.
    Cast {
        operand: Box<Expression>,
        type_name: String,
    },
    Collate {
        operand: Box<Expression>,
        collation: String,
    },
    AtTimeZone {
        operand: Box<Expression>,
        zone: Box<Expression>,
    },
    /// An element of an array.
    Element {
        array: Box<Expression>,
        /// One subscript for each dimension.
        positions: Vec<Expression>,
    },
    /// A field of a record.
    Field {
        record: Box<Expression>,
        field: String,
    },
    Case {
        /// The operand of a simple `CASE`.
        operand: Option<Box<Expression>>,
        /// Conditions with their results.
        branches: Vec<(Expression, Expression)>,
        /// The result of `ELSE`; PostgreSQL adds a null if it is absent.
        otherwise: Option<Box<Expression>>,
    },
    /// `ARRAY[...]`.
    Array(Vec<Expression>),
    /// `ROW(...)`.
    Row(Vec<Expression>),
}

/// A literal as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    Null,
    Boolean(bool),
    /// A number, possibly with a point and an exponent.
    Number(String),
    /// The characters between the quotes.
    Text(String),
}

/// The argument of `IS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Null,
    True,
    False,
    Unknown,
}

/// A call of a function or an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionCall {
    /// The name, qualified by a schema if necessary. `COALESCE`, `GREATEST`, `LEAST`, `NULLIF`, and
    /// functions with special syntax (`EXTRACT`, `POSITION`, `SUBSTRING`, `TRIM`) are in capitals.
    pub function: String,
    /// The arguments in textual order.
    pub arguments: Vec<Expression>,
    /// Whether the argument is `*`.
    pub star: bool,
    /// Whether an aggregate has `DISTINCT`.
    pub distinct: bool,
    /// The order of an aggregate's input.
    pub order_by: Vec<SortKey>,
    /// `FILTER (WHERE ...)` of an aggregate.
    pub filter: Option<Box<Expression>>,
}

/// A key of a sort.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The key's value, with its collation.
    pub value: Expression,
    pub descending: bool,
    pub nulls_first: bool,
}

impl Expression {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        parser::expression(text)
    }

    /// Calls `visit` with this expression and every expression inside it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expression)) {
        visit(self);
        self.parts().into_iter().for_each(|part| part.walk(visit));
    }

    /// The direct operands.
    fn parts(&self) -> Vec<&Expression> {
        match self {
            Self::Column { .. } | Self::WholeRow { .. } | Self::Parameter(_) => vec![],
            Self::InitPlanOutput(_) | Self::SubPlan { .. } | Self::Constant { .. } => vec![],
            Self::Moment { .. } => vec![],
            Self::Computed(operand) | Self::Not(operand) => vec![operand],
            Self::Unary { operand, .. } | Self::Is { operand, .. } => vec![operand],
            Self::Cast { operand, .. } | Self::Collate { operand, .. } => vec![operand],
            Self::Field { record, .. } => vec![record],
            Self::Binary { left, right, .. } | Self::Distinct { left, right } => vec![left, right],
            Self::Quantified { left, array, .. } => vec![left, array],
            Self::AtTimeZone { operand, zone } => vec![operand, zone],
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Array(parts) | Self::Row(parts) => parts.iter().collect(),
            Self::Call(call) => call.parts(),
            Self::Element { array, positions } => {
                [&**array].into_iter().chain(positions.iter()).collect()
            }
            Self::Case { operand, branches, otherwise } => {
                let branches = branches.iter().flat_map(|(condition, result)| [condition, result]);
                let otherwise = otherwise.as_deref().into_iter();
                operand.as_deref().into_iter().chain(branches).chain(otherwise).collect()
            }
        }
    }

    /// Applies `change` to every operand, then to the whole, bottom up.
    pub fn change<E>(
        &mut self,
        change: &mut dyn FnMut(&mut Expression) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in self.parts_mut() {
            part.change(change)?;
        }
        change(self)
    }

    /// The direct operands, mutable.
    pub fn parts_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Self::Column { .. } | Self::WholeRow { .. } | Self::Parameter(_) => vec![],
            Self::InitPlanOutput(_) | Self::SubPlan { .. } | Self::Constant { .. } => vec![],
            Self::Moment { .. } => vec![],
            Self::Computed(operand) | Self::Not(operand) => vec![operand],
            Self::Unary { operand, .. } | Self::Is { operand, .. } => vec![operand],
            Self::Cast { operand, .. } | Self::Collate { operand, .. } => vec![operand],
            Self::Field { record, .. } => vec![record],
            Self::Binary { left, right, .. } | Self::Distinct { left, right } => vec![left, right],
            Self::Quantified { left, array, .. } => vec![left, array],
            Self::AtTimeZone { operand, zone } => vec![operand, zone],
            Self::And(parts) | Self::Or(parts) => parts.iter_mut().collect(),
            Self::Array(parts) | Self::Row(parts) => parts.iter_mut().collect(),
            Self::Call(call) => call.parts_mut(),
            Self::Element { array, positions } => {
                [&mut **array].into_iter().chain(positions.iter_mut()).collect()
            }
            Self::Case { operand, branches, otherwise } => {
                let branches =
                    branches.iter_mut().flat_map(|(condition, result)| [condition, result]);
                let otherwise = otherwise.as_deref_mut().into_iter();
                operand.as_deref_mut().into_iter().chain(branches).chain(otherwise).collect()
            }
        }
    }
}

impl FunctionCall {
    fn parts(&self) -> Vec<&Expression> {
        let keys = self.order_by.iter().map(|key| &key.value);
        self.arguments.iter().chain(keys).chain(self.filter.as_deref()).collect()
    }

    fn parts_mut(&mut self) -> Vec<&mut Expression> {
        let keys = self.order_by.iter_mut().map(|key| &mut key.value);
        self.arguments.iter_mut().chain(keys).chain(self.filter.as_deref_mut()).collect()
    }
}

impl SortKey {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        parser::sort_key(text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::expression(self, formatter)
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::sort_key(self, formatter)
    }
}

#[cfg(test)]
mod tests;
