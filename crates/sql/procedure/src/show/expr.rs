//! Prints expressions.

use sql::expression::{Aggregate, CastKind, Expr, ExprKind, SubqueryKind, Test, UnaryOperator};
use sql::{Procedure, SqlType};

/// Column names: for each level, innermost first, the columns of each source.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) levels: Vec<Vec<Vec<String>>>,
}

impl Names {
    /// Adds an innermost level with these sources.
    pub(super) fn within(&self, sources: Vec<Vec<String>>) -> Self {
        let levels = std::iter::once(sources).chain(self.levels.iter().cloned()).collect();
        Self { levels }
    }
}

/// The context for printing an expression.
pub(super) struct Text<'w> {
    pub(super) routine: &'w Procedure,
    pub(super) names: &'w Names,
    pub(super) style: Style,
}

/// The current element of an array, which the printer of the access replaces.
pub(super) const ELEMENT: &str = "<element>";

/// How expressions are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// With the kinds of casts, for tests.
    Exact,
    /// As PostgreSQL's `EXPLAIN` does.
    Explain,
    /// As PostgreSQL prints the query of a view, with syntax that can be read again.
    Definition,
    /// As PostgreSQL prints the query of a view.
    View,
}

impl Style {
    fn is_of_view(self) -> bool {
        matches!(self, Self::Definition | Self::View)
    }
}

impl Text<'_> {
    pub(super) fn list(&self, exprs: &[Expr]) -> String {
        let texts: Vec<String> = exprs.iter().map(|expr| self.expr(expr)).collect();
        texts.join(", ")
    }

    pub(super) fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Null => "NULL".to_owned(),
            ExprKind::Bool(truth) => truth.to_string(),
            ExprKind::Integer(number) => number.to_string(),
            ExprKind::Number(digits) => digits.clone(),
            ExprKind::Text(text) if self.style.is_of_view() => {
                format!("'{}'::text", text.replace('\'', "''"))
            }
            ExprKind::Text(text) => format!("'{}'", text.replace('\'', "''")),
            ExprKind::Variable(variable) => self.variable(*variable),
            ExprKind::Field { variable, field } => self.field(*variable, *field),
            ExprKind::Column(column) => {
                let level = self.names.levels.get(column.level as usize);
                let source = level.and_then(|level| level.get(column.source));
                let name = source.and_then(|source| source.get(column.column));
                name.cloned().unwrap_or_else(|| {
                    format!("?{}.{}.{}", column.level, column.source, column.column)
                })
            }
            ExprKind::Unary { operator: UnaryOperator::Negate, operand } => {
                format!("(- {})", self.expr(operand))
            }
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
                format!("(NOT {})", self.expr(operand))
            }
            ExprKind::Binary { operator, left, right } => {
                format!("({} {} {})", self.operand(left), operator.sign(), self.operand(right))
            }
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            ExprKind::Cast { operand, kind } => self.cast(operand, *kind, &expr.sql_type),
            ExprKind::Function { function, arguments } => {
                format!("{}({})", snake(&format!("{function:?}")), self.list(arguments))
            }
            ExprKind::Aggregate { aggregate, argument, distinct, filter } => {
                self.aggregate(*aggregate, argument.as_deref(), *distinct, filter.as_deref())
            }
            ExprKind::Subscript { array, index } => {
                format!("{}[{}]", self.expr(array), self.expr(index))
            }
            ExprKind::Array(elements) => format!("ARRAY[{}]", self.list(elements)),
            ExprKind::Row(values) => format!("ROW({})", self.list(values)),
            ExprKind::Subquery { .. } => "(SELECT ...)".to_owned(),
            ExprKind::SubPlan { kind, plan } => self.sub_plan(kind, *plan),
            ExprKind::Element => match self.style {
                Style::Exact => "element".to_owned(),
                Style::Explain | Style::Definition | Style::View => ELEMENT.to_owned(),
            },
            _ => self.predicate(expr),
        }
    }

    /// An operand of an operator. Those of texts take `text`, and PostgreSQL says so.
    fn operand(&self, expr: &Expr) -> String {
        let is_varchar = matches!(expr.kind, ExprKind::Column(_))
            && matches!(expr.sql_type, SqlType::Varchar(_));
        let text = self.expr(expr);
        if self.style.is_of_view() && is_varchar { format!("{text}::text") } else { text }
    }

    fn predicate(&self, expr: &Expr) -> String {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match &expr.kind {
            ExprKind::Is { operand, test, negated } => {
                let test = match test {
                    Test::Null => "NULL",
                    Test::True => "TRUE",
                    Test::False => "FALSE",
                };
                format!("({} IS {}{test})", self.expr(operand), not(negated))
            }
            ExprKind::Between { operand, low, high, negated } => {
                let (operand, low, high) = (self.expr(operand), self.expr(low), self.expr(high));
                format!("({operand} {}BETWEEN {low} AND {high})", not(negated))
            }
            ExprKind::InList { operand, list, negated } => {
                format!("({} {}IN ({}))", self.expr(operand), not(negated), self.list(list))
            }
            ExprKind::AnyElement { operand, operator, array, all } => {
                let quantifier = if *all { "ALL" } else { "ANY" };
                let (operand, array) = (self.expr(operand), self.expr(array));
                format!("({operand} {} {quantifier} ({array}))", operator.sign())
            }
            ExprKind::Like { operand, pattern, ignores_case, negated } => {
                if matches!(self.style, Style::Explain | Style::View) {
                    let sign = if *negated { "!~~" } else { "~~" };
                    let sign = if *ignores_case { format!("{sign}*") } else { sign.to_owned() };
                    return format!("({} {sign} {})", self.operand(operand), self.operand(pattern));
                }
                let like = if *ignores_case { "ILIKE" } else { "LIKE" };
                format!("({} {}{like} {})", self.expr(operand), not(negated), self.expr(pattern))
            }
            other => format!("{other:?}"),
        }
    }

    fn variable(&self, variable: usize) -> String {
        let found = self.routine.variables.get(variable);
        found.map_or_else(
            || format!("?{variable}"),
            |found| format!("${}", found.name.trim_start_matches('$')),
        )
    }

    fn field(&self, variable: usize, field: usize) -> String {
        let found = self.routine.variables.get(variable);
        let name = found.and_then(|found| match &found.sql_type {
            SqlType::Record(fields) => fields.get(field).map(|field| field.name.clone()),
            _ => None,
        });
        format!("{}.{}", self.variable(variable), name.unwrap_or_else(|| format!("?{field}")))
    }

    fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> String {
        let branch = |(condition, value): &(Expr, Expr)| {
            format!(" WHEN {} THEN {}", self.expr(condition), self.expr(value))
        };
        let branches: String = branches.iter().map(branch).collect();
        let otherwise =
            otherwise.map(|value| format!(" ELSE {}", self.expr(value))).unwrap_or_default();
        format!("CASE{branches}{otherwise} END")
    }

    fn cast(&self, operand: &Expr, kind: CastKind, sql_type: &SqlType) -> String {
        if self.style.is_of_view() {
            let text = self.expr(operand);
            let is_integer = sql_type.is_integer();
            let sql_type = match self.style {
                Style::Definition => sql_type.written(),
                _ => sql_type.to_string(),
            };
            return match &operand.kind {
                ExprKind::Text(text) => format!("'{}'::{sql_type}", text.replace('\'', "''")),
                // Integers of all sizes are compared with each other.
                ExprKind::Integer(_) if kind == CastKind::Implicit && is_integer => text,
                ExprKind::Integer(_) | ExprKind::Number(_) | ExprKind::Column(_) => {
                    format!("{text}::{sql_type}")
                }
                _ => format!("({text})::{sql_type}"),
            };
        }
        let operand = self.expr(operand);
        if self.style == Style::Explain {
            return format!("({operand})::{sql_type}");
        }
        let kind = match kind {
            CastKind::Implicit => "",
            CastKind::Assignment => " stored",
            CastKind::Explicit => " written",
            CastKind::ThroughText => " by text",
        };
        format!(
            "{operand}::{}{}",
            sql_type,
            if kind.is_empty() { String::new() } else { format!("[{}]", kind.trim()) }
        )
    }

    fn aggregate(
        &self,
        aggregate: Aggregate,
        argument: Option<&Expr>,
        distinct: bool,
        filter: Option<&Expr>,
    ) -> String {
        let argument = argument.map_or_else(|| "*".to_owned(), |argument| self.expr(argument));
        let distinct = if distinct { "DISTINCT " } else { "" };
        let filter =
            filter.map(|filter| format!(" FILTER {}", self.expr(filter))).unwrap_or_default();
        format!("{}({distinct}{argument}){filter}", snake(&format!("{aggregate:?}")))
    }

    fn sub_plan(&self, kind: &SubqueryKind, plan: usize) -> String {
        if self.style == Style::Explain {
            let plan = format!("(SubPlan {})", plan + 1);
            return match kind {
                SubqueryKind::In { negated: true, .. } | SubqueryKind::Exists { negated: true } => {
                    format!("(NOT {plan})")
                }
                SubqueryKind::Array => format!("ARRAY{plan}"),
                _ => plan,
            };
        }
        match kind {
            SubqueryKind::Scalar => format!("(plan {plan})"),
            SubqueryKind::Exists { negated } => {
                format!("{}EXISTS (plan {plan})", if *negated { "NOT " } else { "" })
            }
            SubqueryKind::In { operand, negated } => {
                let not = if *negated { "NOT " } else { "" };
                format!("({} {not}IN (plan {plan}))", self.expr(operand))
            }
            SubqueryKind::Array => format!("ARRAY (plan {plan})"),
        }
    }
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for (at, character) in name.chars().enumerate() {
        if character.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}
