//! Expressions with every name resolved and every conversion written out.

use crate::query::Select;
use crate::types::SqlType;

/// An expression and its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What is computed.
    pub kind: ExprKind,
    /// The type of the result. A literal that nothing gave a type is `Unknown` only while it is resolved.
    pub sql_type: SqlType,
}

/// What an expression computes.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// Null.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A decimal as written, or a float.
    Number(String),
    /// Text as it stands between its quotes, doubled quotes made single. A `Cast` around it says what it is read as.
    Text(String),
    /// A variable of the procedure by its position in [`crate::Procedure::variables`].
    Variable(usize),
    /// A field of a record variable.
    Field {
        /// The variable.
        variable: usize,
        /// The field's position.
        field: usize,
    },
    /// A column of a source of the query.
    Column(ColumnRef),
    /// `-a`, `NOT a`.
    Unary {
        /// The operator.
        operator: UnaryOperator,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// `a + b`; both operands have the type that the operator works on.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// What stands before it.
        left: Box<Expr>,
        /// What stands behind it.
        right: Box<Expr>,
    },
    /// A predicate on one value; `negated` for the one with `NOT`.
    Is {
        /// The value.
        operand: Box<Expr>,
        /// What it is tested for.
        test: Test,
        /// Whether the answer is turned round.
        negated: bool,
    },
    /// `a BETWEEN low AND high`.
    Between {
        /// The value.
        operand: Box<Expr>,
        /// The lower bound, included.
        low: Box<Expr>,
        /// The upper bound, included.
        high: Box<Expr>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `a IN (b, c)`.
    InList {
        /// The value.
        operand: Box<Expr>,
        /// What it is compared to.
        list: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `a = ANY (array)`, `a <> ALL (array)`.
    AnyElement {
        /// The value.
        operand: Box<Expr>,
        /// The comparison.
        operator: BinaryOperator,
        /// The array.
        array: Box<Expr>,
        /// `ALL` instead of `ANY`.
        all: bool,
    },
    /// `a LIKE pattern`.
    Like {
        /// The text.
        operand: Box<Expr>,
        /// The pattern; a backslash escapes.
        pattern: Box<Expr>,
        /// `ILIKE`.
        ignores_case: bool,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `CASE`: the searched one, or the simple one with each condition written as a comparison.
    Case {
        /// Conditions and what is taken if they hold.
        branches: Vec<(Expr, Expr)>,
        /// What is taken if none does; null if nothing is written.
        otherwise: Option<Box<Expr>>,
    },
    /// A conversion to this expression's type.
    Cast {
        /// What is converted.
        operand: Box<Expr>,
        /// How strictly.
        kind: CastKind,
    },
    /// A function of values.
    Function {
        /// Which.
        function: crate::function::Function,
        /// With what, of the types that it works on.
        arguments: Vec<Expr>,
    },
    /// A function of the rows of a group.
    Aggregate {
        /// Which.
        aggregate: Aggregate,
        /// Of what; none for `count(*)`.
        argument: Option<Box<Expr>>,
        /// Whether equal values count once.
        distinct: bool,
        /// Which rows count.
        filter: Option<Box<Expr>>,
    },
    /// `a[i]`, null beyond the bounds.
    Subscript {
        /// The array.
        array: Box<Expr>,
        /// The position, from 1.
        index: Box<Expr>,
    },
    /// `ARRAY[a, b]`.
    Array(Vec<Expr>),
    /// A row of values: `RETURN (a, b)`.
    Row(Vec<Expr>),
    /// A sub-select.
    Subquery {
        /// What is made of its rows.
        kind: SubqueryKind,
        /// The query.
        query: Box<Select>,
    },
    /// A sub-select that has a plan, which is not of this crate's making.
    SubPlan {
        /// What is made of its rows.
        kind: SubqueryKind,
        /// Its position among the plans.
        plan: usize,
    },
    /// The element at hand of an array that a plan goes through, which is not of this crate's making either.
    Element,
}

/// A column in the scope of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnRef {
    /// How many queries further out the source is; 0 is the query itself.
    pub level: u32,
    /// The source's position in that query.
    pub source: usize,
    /// The column's position in the source.
    pub column: usize,
}

/// What is made of a sub-select's rows.
#[derive(Clone, PartialEq, Debug)]
pub enum SubqueryKind {
    /// The value of its only row; null if there is none, an error if there are more.
    Scalar,
    /// Whether there is a row.
    Exists {
        /// `NOT EXISTS` is written as `NOT` around; this is for plans.
        negated: bool,
    },
    /// Whether a value is among them.
    In {
        /// The value.
        operand: Box<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `ARRAY(SELECT ...)`.
    Array,
}

/// An operator with one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `NOT`
    Not,
}

/// An operator with two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; of integers it drops the fraction.
    Divide,
    /// `%`, with the sign of the dividend.
    Modulo,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS DISTINCT FROM`
    Distinct,
    /// `IS NOT DISTINCT FROM`
    NotDistinct,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `||`
    Concatenate,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

impl BinaryOperator {
    /// Whether the result is a truth value of two comparable operands.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
                | Self::Distinct
                | Self::NotDistinct
        )
    }

    /// The operator as it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Distinct => "IS DISTINCT FROM",
            Self::NotDistinct => "IS NOT DISTINCT FROM",
            Self::And => "AND",
            Self::Or => "OR",
            Self::Concatenate => "||",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "#",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

/// What `IS` tests for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// `IS NULL`
    Null,
    /// `IS TRUE`
    True,
    /// `IS FALSE`
    False,
}

/// How a conversion treats what does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastKind {
    /// Loses nothing but digits of a float.
    Implicit,
    /// Of a value that is stored: too long text is an error unless only blanks are too many.
    Assignment,
    /// Written out: too long text is cut.
    Explicit,
    /// Of a value that is stored in a variable, through its text, since the types know no conversion.
    ThroughText,
}

/// A function of the rows of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// Rows, or values that are not null.
    Count,
    /// `bigint` of `integer` and `smallint`, `numeric` of `bigint`.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The mean, `numeric` unless of floats.
    Avg,
    /// Whether all are true.
    BoolAnd,
    /// Whether one is true.
    BoolOr,
    /// All values as an array.
    ArrayAgg,
}

impl Aggregate {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
            Self::BoolAnd => "bool_and",
            Self::BoolOr => "bool_or",
            Self::ArrayAgg => "array_agg",
        }
    }
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, sql_type: SqlType) -> Self {
        Self { kind, sql_type }
    }

    pub(crate) fn boolean(kind: ExprKind) -> Self {
        Self::new(kind, SqlType::Bool)
    }

    /// The same value, of a type that takes it as it is. A conversion keeps the type by which it cuts.
    pub(crate) fn relabelled(self, sql_type: SqlType) -> Self {
        if self.sql_type == sql_type || !matches!(self.kind, ExprKind::Cast { .. }) {
            return Self { sql_type, ..self };
        }
        let operand = Box::new(self);
        Self::new(ExprKind::Cast { operand, kind: CastKind::Implicit }, sql_type)
    }

    /// Calls `visit` with the expression and all within it, sub-selects left out.
    pub fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.for_each_child(&mut |child| child.visit(visit));
    }

    /// Whether there is a sub-select in it.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Subquery { .. }));
        found
    }

    /// Whether there is an aggregate of the query itself in it.
    pub fn has_aggregate(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Aggregate { .. }));
        found
    }

    /// Calls `visit` with what the expression is made of, in the order in which it is written.
    pub fn for_each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Integer(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Variable(_)
            | ExprKind::Field { .. }
            | ExprKind::Column(_) => {}
            ExprKind::Unary { operand, .. }
            | ExprKind::Is { operand, .. }
            | ExprKind::Cast { operand, .. } => visit(operand),
            ExprKind::Binary { left, right, .. } => {
                [left, right].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Between { operand, low, high, .. } => {
                [operand, low, high].into_iter().for_each(|e| visit(e));
            }
            ExprKind::InList { operand, list, .. } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            ExprKind::AnyElement { operand, array, .. } => {
                [operand, array].into_iter().for_each(|e| visit(e));
            }
            ExprKind::Like { operand, pattern, .. } => {
                [operand, pattern].into_iter().for_each(|e| visit(e));
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    visit(condition);
                    visit(value);
                }
                otherwise.iter().for_each(|e| visit(e));
            }
            ExprKind::Function { arguments, .. } => arguments.iter().for_each(visit),
            ExprKind::Aggregate { argument, filter, .. } => {
                argument.iter().chain(filter).for_each(|e| visit(e));
            }
            ExprKind::Subscript { array, index } => {
                [array, index].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Array(elements) | ExprKind::Row(elements) => elements.iter().for_each(visit),
            ExprKind::Subquery { kind: SubqueryKind::In { operand, .. }, .. }
            | ExprKind::SubPlan { kind: SubqueryKind::In { operand, .. }, .. } => visit(operand),
            ExprKind::Subquery { .. } | ExprKind::SubPlan { .. } | ExprKind::Element => {}
        }
    }

    /// As [`Self::for_each_child`], of parts that may be changed.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Integer(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Variable(_)
            | ExprKind::Field { .. }
            | ExprKind::Column(_) => {}
            ExprKind::Unary { operand, .. }
            | ExprKind::Is { operand, .. }
            | ExprKind::Cast { operand, .. } => visit(operand),
            ExprKind::Binary { left, right, .. } => {
                [left, right].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Between { operand, low, high, .. } => {
                [operand, low, high].into_iter().for_each(|e| visit(e));
            }
            ExprKind::InList { operand, list, .. } => {
                visit(operand);
                list.iter_mut().for_each(visit);
            }
            ExprKind::AnyElement { operand, array, .. } => {
                [operand, array].into_iter().for_each(|e| visit(e));
            }
            ExprKind::Like { operand, pattern, .. } => {
                [operand, pattern].into_iter().for_each(|e| visit(e));
            }
            ExprKind::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    visit(condition);
                    visit(value);
                }
                otherwise.iter_mut().for_each(|e| visit(e));
            }
            ExprKind::Function { arguments, .. } => arguments.iter_mut().for_each(visit),
            ExprKind::Aggregate { argument, filter, .. } => {
                argument.iter_mut().chain(filter).for_each(|e| visit(e));
            }
            ExprKind::Subscript { array, index } => {
                [array, index].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Array(elements) | ExprKind::Row(elements) => {
                elements.iter_mut().for_each(visit)
            }
            ExprKind::Subquery { kind: SubqueryKind::In { operand, .. }, .. }
            | ExprKind::SubPlan { kind: SubqueryKind::In { operand, .. }, .. } => visit(operand),
            ExprKind::Subquery { .. } | ExprKind::SubPlan { .. } | ExprKind::Element => {}
        }
    }
}
