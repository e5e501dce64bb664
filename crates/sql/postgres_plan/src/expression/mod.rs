//! Expressions as PostgreSQL prints them in plans: conditions, outputs, sort keys.
//!
//! PostgreSQL prints every operation in parentheses of its own, so that no precedence is needed to read it, and a
//! parenthesis more where the value is not computed but taken from another node ([`Expression::Computed`]). What it does
//! not print is lost: conversions that it has inserted by itself, and the columns that an `UPDATE` sets.

mod atom;
mod lexer;
mod parser;
mod print;

use std::fmt;

/// Why a text is no expression that this crate understands.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}, at character {position} of `{text}`")]
pub struct ExpressionError {
    /// The whole expression.
    pub text: String,
    /// Where in it, in characters from 1.
    pub position: usize,
    /// What is wrong there.
    pub sentence: String,
}

/// An expression of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expression {
    /// A column of a relation in the plan.
    Column {
        /// The relation's alias. None only where the plan has a single relation and the reader could not tell it.
        relation: Option<String>,
        /// The column; `ctid` and `tableoid` are PostgreSQL's own.
        column: String,
    },
    /// A row of a relation as one value.
    WholeRow {
        /// The relation's alias.
        relation: String,
    },
    /// `$n`, a parameter of the statement, from 1.
    Parameter(u32),
    /// `$n`, a column that an init plan delivers, see [`crate::SubPlan::delivers`].
    InitPlanOutput(u32),
    /// What a sub plan delivers for the values at hand. Whether it is the value or whether there is a row, only the
    /// statement tells.
    SubPlan {
        /// Its name, such as `SubPlan 1`.
        name: String,
    },
    /// A value that another node computes and this one takes: it is among that one's outputs.
    Computed(Box<Expression>),
    /// A constant.
    Constant {
        /// Its value.
        value: Literal,
        /// Its type, where it is not the one that the value suggests.
        type_name: Option<String>,
    },
    /// An operator before its operand.
    Unary {
        /// Such as `-`.
        operator: String,
        /// What it applies to.
        operand: Box<Expression>,
    },
    /// An operator between two operands.
    Binary {
        /// Such as `=`, `+`, or `~~` for `LIKE`.
        operator: String,
        /// The operand before it.
        left: Box<Expression>,
        /// The one behind it.
        right: Box<Expression>,
    },
    /// `left operator ANY (array)` or `ALL`.
    Quantified {
        /// The operator.
        operator: String,
        /// What is compared.
        left: Box<Expression>,
        /// With the elements of this.
        array: Box<Expression>,
        /// With all of them instead of any.
        all: bool,
    },
    /// All of several.
    And(Vec<Expression>),
    /// Any of several.
    Or(Vec<Expression>),
    /// The opposite.
    Not(Box<Expression>),
    /// `IS NULL`, `IS NOT TRUE` and their like.
    Is {
        /// What is asked about.
        operand: Box<Expression>,
        /// Whether it is not so.
        negated: bool,
        /// What is asked.
        state: State,
    },
    /// `IS DISTINCT FROM`.
    Distinct {
        /// One value.
        left: Box<Expression>,
        /// The other.
        right: Box<Expression>,
    },
    /// A function or an aggregate.
    Call(Call),
    /// `CURRENT_DATE`, `LOCALTIMESTAMP` and their like, with the digits behind the second if they are given.
    Moment {
        /// The keyword.
        name: String,
        /// Digits.
        precision: Option<u32>,
    },
    /// A conversion that somebody has written.
    Cast {
        /// What is converted.
        operand: Box<Expression>,
        /// To which type.
        type_name: String,
    },
    /// `COLLATE`.
    Collate {
        /// What is compared.
        operand: Box<Expression>,
        /// By which collation.
        collation: String,
    },
    /// `AT TIME ZONE`.
    AtTimeZone {
        /// The time.
        operand: Box<Expression>,
        /// The zone.
        zone: Box<Expression>,
    },
    /// An element of an array.
    Element {
        /// The array.
        array: Box<Expression>,
        /// One position for each dimension.
        positions: Vec<Expression>,
    },
    /// A field of a record.
    Field {
        /// The record.
        record: Box<Expression>,
        /// The field.
        field: String,
    },
    /// `CASE`.
    Case {
        /// What is compared with the conditions, if they are values.
        operand: Option<Box<Expression>>,
        /// Conditions and results.
        branches: Vec<(Expression, Expression)>,
        /// What `ELSE` says; PostgreSQL adds a null where nothing is written.
        otherwise: Option<Box<Expression>>,
    },
    /// `ARRAY[...]`.
    Array(Vec<Expression>),
    /// `ROW(...)`.
    Row(Vec<Expression>),
}

/// A value as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// No value.
    Null,
    /// A truth value.
    Boolean(bool),
    /// Digits, perhaps with a point and an exponent.
    Number(String),
    /// What stands between quotes.
    Text(String),
}

/// What `IS` asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Null,
    True,
    False,
    Unknown,
}

/// A function or an aggregate with its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Its name, with a schema in front if it has to have one. `COALESCE`, `GREATEST`, `LEAST` and `NULLIF` are in capitals,
    /// as are functions with a syntax of their own: `EXTRACT`, `POSITION`, `SUBSTRING`, `TRIM`.
    pub function: String,
    /// Its arguments in the order in which they are written.
    pub arguments: Vec<Expression>,
    /// `*` instead of arguments.
    pub star: bool,
    /// An aggregate of values that differ.
    pub distinct: bool,
    /// The order in which an aggregate takes them.
    pub order_by: Vec<SortKey>,
    /// What an aggregate leaves out.
    pub filter: Option<Box<Expression>>,
}

/// What rows are sorted by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The value, with its collation.
    pub value: Expression,
    /// From the largest to the smallest.
    pub descending: bool,
    /// Nulls before everything else.
    pub nulls_first: bool,
}

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        parser::expression(text)
    }

    /// Calls `visit` with this expression and everything inside it.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expression)) {
        visit(self);
        self.parts().into_iter().for_each(|part| part.walk(visit));
    }

    /// The expressions directly inside.
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

    /// Has `change` change every part and then the whole, from the inside to the outside.
    pub fn change<E>(
        &mut self,
        change: &mut dyn FnMut(&mut Expression) -> Result<(), E>,
    ) -> Result<(), E> {
        for part in self.parts_mut() {
            part.change(change)?;
        }
        change(self)
    }

    /// The expressions directly inside, to be changed.
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

impl Call {
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
    /// Reads a sort key.
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
