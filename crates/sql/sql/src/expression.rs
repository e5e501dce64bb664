//! Expressions with resolved names and explicit conversions.

use crate::query::Select;
use crate::types::SqlType;
use crate::window::WindowCall;

/// An expression and its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    /// The type of the result. `Unknown`, the type of an untyped literal, occurs only during
    /// resolution.
    pub sql_type: SqlType,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Null,
    Bool(bool),
    Integer(i64),
    /// A decimal as written, or a float.
    Number(String),
    /// The characters between the quotes, with doubled quotes made single. A `Cast` around it gives
    /// the type as which the text is read.
    Text(String),
    /// A variable of the procedure by its position in [`crate::Procedure::variables`].
    Variable(usize),
    /// A field of a record variable.
    Field {
        variable: usize,
        /// Position of the field.
        field: usize,
    },
    /// A column of a source of the query.
    Column(ColumnRef),
    /// `-a`, `NOT a`.
    Unary {
        operator: UnaryOperator,
        operand: Box<Expr>,
    },
    /// `a + b`; both operands have the operator's type.
    Binary {
        operator: BinaryOperator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// A predicate on one value; `negated` for its form with `NOT`.
    Is {
        operand: Box<Expr>,
        test: Test,
        negated: bool,
    },
    /// `a BETWEEN low AND high`.
    Between {
        operand: Box<Expr>,
        /// The lower bound, inclusive.
        low: Box<Expr>,
        /// The upper bound, inclusive.
        high: Box<Expr>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `a IN (b, c)`.
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `a = ANY (array)`, `a <> ALL (array)`.
    AnyElement {
        operand: Box<Expr>,
        operator: BinaryOperator,
        array: Box<Expr>,
        /// `ALL` instead of `ANY`.
        all: bool,
    },
    /// `a LIKE pattern`.
    Like {
        operand: Box<Expr>,
        /// A backslash in the pattern escapes the next character.
        pattern: Box<Expr>,
        /// `ILIKE`.
        ignores_case: bool,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `CASE`. In a simple `CASE` each condition is written as a comparison.
    Case {
        /// Conditions with their results.
        branches: Vec<(Expr, Expr)>,
        /// The result if no condition is true; null if it is absent.
        otherwise: Option<Box<Expr>>,
    },
    /// A conversion to this expression's type.
    Cast {
        operand: Box<Expr>,
        kind: CastKind,
    },
    Function {
        function: crate::function::Function,
        /// Arguments, converted to the types that the function works on.
        arguments: Vec<Expr>,
    },
    Aggregate {
        aggregate: Aggregate,
        /// `None` for `count(*)`.
        argument: Option<Box<Expr>>,
        /// Whether it aggregates each distinct value once.
        distinct: bool,
        /// `FILTER (WHERE ...)`.
        filter: Option<Box<Expr>>,
    },
    /// A window function. The resolver replaces it by a column of
    /// [`crate::query::FromKind::Windows`].
    Window(Box<WindowCall>),
    /// `a[i]`; null outside the bounds.
    Subscript {
        array: Box<Expr>,
        index: Box<Expr>,
    },
    /// `ARRAY[a, b]`.
    Array(Vec<Expr>),
    /// A row: `RETURN (a, b)`.
    Row(Vec<Expr>),
    Subquery {
        /// How the sub-select's rows become a value.
        kind: SubqueryKind,
        query: Box<Select>,
    },
    /// A sub-select replaced by its plan. Only other crates build this.
    SubPlan {
        /// How the plan's rows become a value.
        kind: SubqueryKind,
        /// Position among the plans.
        plan: usize,
    },
    /// The current element of an array that a plan iterates over. Only other crates build this.
    Element,
}

/// A column in the scope of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnRef {
    /// How many query levels outward the source is; 0 is the query itself.
    pub level: u32,
    /// Position of the source in that query.
    pub source: usize,
    /// Position of the column in the source.
    pub column: usize,
}

/// How the rows of a sub-select become a value.
#[derive(Clone, PartialEq, Debug)]
pub enum SubqueryKind {
    /// The value of the only row: null if there is no row, an error if there are several.
    Scalar,
    /// Whether there is a row.
    Exists {
        /// Only plans set this; the resolver writes `NOT EXISTS` as `NOT` around `EXISTS`.
        negated: bool,
    },
    /// Whether a value is among the rows.
    In {
        operand: Box<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `ARRAY(SELECT ...)`.
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `NOT`
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; integer division truncates.
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
    /// `->`
    Get,
    /// `->>`
    GetText,
    /// `#>`
    GetPath,
    /// `#>>`
    GetPathText,
    /// `@>`
    Contains,
    /// `<@`
    Contained,
    /// `&&`
    Overlaps,
    /// `?`
    HasKey,
    /// `?|`
    HasAny,
    /// `?&`
    HasAll,
    /// `#-`
    DeletePath,
}

impl BinaryOperator {
    /// Whether it compares two operands and gives a boolean.
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

    /// The operator's SQL spelling.
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
            Self::Get => "->",
            Self::GetText => "->>",
            Self::GetPath => "#>",
            Self::GetPathText => "#>>",
            Self::Contains => "@>",
            Self::Contained => "<@",
            Self::Overlaps => "&&",
            Self::HasKey => "?",
            Self::HasAny => "?|",
            Self::HasAll => "?&",
            Self::DeletePath => "#-",
        }
    }
}

/// The argument of `IS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// `IS NULL`
    Null,
    /// `IS TRUE`
    True,
    /// `IS FALSE`
    False,
}

/// How a conversion treats values that do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastKind {
    /// Lossless, except for digits of a float.
    Implicit,
    /// For a stored value: text that is too long is an error unless only blanks exceed the length.
    Assignment,
    /// Written in the text: text that is too long is truncated.
    Explicit,
    /// For a value assigned to a variable if no cast between the types exists: through its text.
    ThroughText,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    /// Counts rows, or values that are not null.
    Count,
    /// `bigint` for `integer` and `smallint`, `numeric` for `bigint`.
    Sum,
    Min,
    Max,
    /// The mean; `numeric` except for floats.
    Avg,
    BoolAnd,
    BoolOr,
    ArrayAgg,
    /// An array of `jsonb` values.
    JsonbAgg,
    /// An array of `json` texts.
    JsonAgg,
    /// An array of `json` texts of rows or arrays, one in a line.
    JsonAggLines,
    /// An object of rows of keys and `jsonb` values.
    JsonbObjectAgg,
    /// An object of rows of keys and `json` texts.
    JsonObjectAgg,
}

impl Aggregate {
    /// Whether it adds nulls, too.
    pub const fn takes_nulls(self) -> bool {
        matches!(
            self,
            Self::ArrayAgg
                | Self::JsonbAgg
                | Self::JsonAgg
                | Self::JsonAggLines
                | Self::JsonbObjectAgg
                | Self::JsonObjectAgg
        )
    }

    /// The name in SQL.
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
            Self::JsonbAgg => "jsonb_agg",
            Self::JsonAgg | Self::JsonAggLines => "json_agg",
            Self::JsonbObjectAgg => "jsonb_object_agg",
            Self::JsonObjectAgg => "json_object_agg",
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

    /// The same value with a type that needs no conversion. A cast keeps its own type, because that
    /// type decides where text is truncated.
    pub(crate) fn relabelled(self, sql_type: SqlType) -> Self {
        if self.sql_type == sql_type || !matches!(self.kind, ExprKind::Cast { .. }) {
            return Self { sql_type, ..self };
        }
        let operand = Box::new(self);
        Self::new(ExprKind::Cast { operand, kind: CastKind::Implicit }, sql_type)
    }

    /// Calls `visit` with the expression and every expression in it, without sub-selects.
    pub fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.for_each_child(&mut |child| child.visit(visit));
    }

    /// Whether it contains a sub-select.
    pub fn has_subquery(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Subquery { .. }));
        found
    }

    /// Whether it contains an aggregate of this query level.
    pub fn has_aggregate(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Aggregate { .. }));
        found
    }

    /// Whether it contains a window function of this query level.
    pub(crate) fn has_window(&self) -> bool {
        let mut found = false;
        self.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Window(_)));
        found
    }

    /// Calls `visit` with each direct operand, in text order.
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
            ExprKind::Window(call) => call.for_each_expr(visit),
            ExprKind::Subscript { array, index } => {
                [array, index].into_iter().for_each(|e| visit(e))
            }
            ExprKind::Array(elements) | ExprKind::Row(elements) => elements.iter().for_each(visit),
            ExprKind::Subquery { kind: SubqueryKind::In { operand, .. }, .. }
            | ExprKind::SubPlan { kind: SubqueryKind::In { operand, .. }, .. } => visit(operand),
            ExprKind::Subquery { .. } | ExprKind::SubPlan { .. } | ExprKind::Element => {}
        }
    }

    /// As [`Self::for_each_child`], with mutable operands.
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
            ExprKind::Window(call) => call.for_each_expr_mut(visit),
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
