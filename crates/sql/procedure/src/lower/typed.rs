//! Gives the expressions of plans their types.
//!
//! Each operation is typed bottom-up by the code that typed the statement.
//!
//! Decision: docs/decisions/0176-a-plan-is-typed-by-the-code-that-typed-its-statement.md

use super::Lowering;
use super::error::LowerError;
use super::scope::Scope;
use postgres_plan::Expression;
use postgres_plan::expression::{FunctionCall, Literal};
use sql::expression::{BinaryOperator, Expr, ExprKind};
use sql::types::Numeric;
use sql::{SqlType, typing};

impl Lowering<'_> {
    /// Types an expression of the plan in `scope`.
    pub(super) fn typed(
        &mut self,
        scope: &Scope<'_>,
        shown: &Expression,
    ) -> Result<Expr, LowerError> {
        match shown {
            Expression::Column { .. } | Expression::Computed(_) if scope.is_ambiguous(shown) => {
                self.ambiguous()
            }
            Expression::Column { column, .. } => match scope.find(shown) {
                Some(found) => Ok(found),
                None => self.error(format!("it uses `{column}`, which none of its inputs returns; split the statement in two")),
            },
            Expression::Computed(inner) => match scope.find(shown) {
                Some(found) => Ok(found),
                None => self.typed(scope, inner),
            },
            Expression::Parameter(number) => self.parameter(*number),
            Expression::InitPlanOutput(number) => self.init_plan_output(*number),
            Expression::SubPlan { name } => self.sub_plan_value(scope, name),
            Expression::Constant { value, type_name } => self.constant(value, type_name.as_deref()),
            Expression::WholeRow { relation } => {
                self.error(format!("it uses a whole row of `{relation}` as one value; name its columns"))
            }
            _ => self.operation(scope, shown),
        }
    }

    /// Types an operation whose operands are replaced by parameters. Constants stay in place, since
    /// some functions accept only constants.
    fn operation(&mut self, scope: &Scope<'_>, shown: &Expression) -> Result<Expr, LowerError> {
        let mut form = shown.clone();
        let mut operands = Vec::new();
        for part in form.parts_mut() {
            if let Expression::Constant { type_name, .. } = part
                && type_name.as_deref() == Some("unknown")
            {
                *type_name = None;
            }
            if is_plain_constant(part) {
                continue;
            }
            operands.push(self.typed(scope, part)?);
            *part = Expression::Parameter(operands.len() as u32);
        }
        match &mut form {
            Expression::Binary { operator, .. } => *operator = written(operator).to_owned(),
            Expression::Call(call) if call.function == "TRIM" => as_function(call),
            _ => {}
        }
        self.applied(&form.to_string(), operands)
    }

    /// Applies `form` to its operands.
    pub(super) fn applied(&self, form: &str, operands: Vec<Expr>) -> Result<Expr, LowerError> {
        let error = match typing::apply(form, operands) {
            Ok(expr) => return Ok(expr),
            Err(error) => error,
        };
        let advice =
            if error.advice.is_empty() { String::new() } else { format!("; {}", error.advice) };
        self.error(format!("`{form}` of the plan is not supported: {}{advice}", error.sentence))
    }

    fn parameter(&self, number: u32) -> Result<Expr, LowerError> {
        let name = number.checked_sub(1).and_then(|at| self.embedded.variables.get(at as usize));
        let variable =
            name.and_then(|name| Some((name, self.routine.variables.get(name.variable)?)));
        let Some((name, variable)) = variable else {
            return self.error(format!("the statement has no parameter ${number}"));
        };
        let Some(wanted) = &name.field else {
            let kind = ExprKind::Variable(name.variable);
            return Ok(Expr { kind, sql_type: variable.sql_type.clone() });
        };
        let field = match &variable.sql_type {
            SqlType::Record(fields) => {
                fields.iter().enumerate().find(|(_, field)| field.name == *wanted)
            }
            _ => None,
        };
        match field {
            Some((at, field)) => {
                let kind = ExprKind::Field { variable: name.variable, field: at };
                Ok(Expr { kind, sql_type: field.sql_type.clone() })
            }
            None => self.error(format!("the record `{}` has no field `{wanted}`", name.name)),
        }
    }

    /// Turns a constant into a literal of its type if the type has literals.
    fn constant(&self, value: &Literal, type_name: Option<&str>) -> Result<Expr, LowerError> {
        // PostgreSQL prints this for a value that no other node uses.
        if matches!((value, type_name), (Literal::Null, Some("unknown"))) {
            return Ok(Expr { kind: ExprKind::Null, sql_type: SqlType::Text });
        }
        let general = || {
            let value = Expression::Constant {
                value: value.clone(),
                type_name: type_name.map(str::to_owned),
            };
            self.applied(&value.to_string(), Vec::new())
        };
        let (Literal::Text(text), Some(type_name)) = (value, type_name) else { return general() };
        let sql_type = match typing::type_named(type_name) {
            Ok(sql_type) => sql_type,
            Err(error) => {
                return self
                    .error(format!("a constant has the type {type_name}: {}", error.sentence));
            }
        };
        match literal(text, &sql_type) {
            Some(kind) => Ok(kind),
            None => match &sql_type {
                SqlType::Array(element) => self.array_constant(text, element, type_name),
                _ => general(),
            },
        }
    }

    fn array_constant(
        &self,
        text: &str,
        element: &SqlType,
        type_name: &str,
    ) -> Result<Expr, LowerError> {
        let Some(parts) = elements(text) else {
            return self.error(format!("'{text}' is not a one-dimensional array"));
        };
        let name = type_name.trim_end_matches("[]");
        let value = |part: Option<String>| {
            let value = part.map_or(Literal::Null, Literal::Text);
            self.constant(&value, Some(name))
        };
        let parts = parts.into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
        let sql_type = SqlType::Array(Box::new(element.clone()));
        Ok(Expr { kind: ExprKind::Array(parts), sql_type })
    }

    /// Returns the conjunction of all conditions; `None` if there are no conditions.
    pub(super) fn all_of(
        &mut self,
        scope: &Scope<'_>,
        conditions: &[&Expression],
    ) -> Result<Option<Expr>, LowerError> {
        let mut all: Option<Expr> = None;
        for condition in conditions {
            let next = self.truth(scope, condition)?;
            all = Some(match all {
                None => next,
                Some(before) => both(before, next),
            });
        }
        Ok(all)
    }

    /// Types a condition, if there is one.
    pub(super) fn condition(
        &mut self,
        scope: &Scope<'_>,
        condition: Option<&Expression>,
    ) -> Result<Option<Expr>, LowerError> {
        condition.map(|condition| self.truth(scope, condition)).transpose()
    }

    fn truth(&mut self, scope: &Scope<'_>, condition: &Expression) -> Result<Expr, LowerError> {
        let expr = self.typed(scope, condition)?;
        if expr.sql_type == SqlType::Bool {
            return Ok(expr);
        }
        self.error(format!("the condition `{condition}` is not boolean"))
    }
}

fn both(left: Expr, right: Expr) -> Expr {
    let kind = ExprKind::Binary {
        operator: BinaryOperator::And,
        left: Box::new(left),
        right: Box::new(right),
    };
    Expr { kind, sql_type: SqlType::Bool }
}

/// Whether the constant means the same inside another expression.
fn is_plain_constant(part: &Expression) -> bool {
    match part {
        Expression::Constant { value: Literal::Text(_), type_name } => {
            matches!(type_name.as_deref(), None | Some("text"))
        }
        Expression::Constant { type_name, .. } => type_name.is_none(),
        _ => false,
    }
}

/// Translates operators that plans print differently from the statement.
fn written(operator: &str) -> &str {
    match operator {
        "~~" => "LIKE",
        "!~~" => "NOT LIKE",
        "~~*" => "ILIKE",
        "!~~*" => "NOT ILIKE",
        other => other,
    }
}

/// Turns `TRIM(LEADING 'x' FROM value)` into the equivalent function call.
fn as_function(trim: &mut FunctionCall) {
    let side = (!trim.arguments.is_empty()).then(|| trim.arguments.remove(0));
    let name = match side {
        Some(Expression::Constant { value: Literal::Text(side), .. }) => match &*side {
            "LEADING" => "ltrim",
            "TRAILING" => "rtrim",
            _ => "btrim",
        },
        _ => "btrim",
    };
    name.clone_into(&mut trim.function);
}

/// Parses a constant of a type that has literals.
fn literal(text: &str, sql_type: &SqlType) -> Option<Expr> {
    let (kind, sql_type) = match sql_type {
        SqlType::Int2 => (ExprKind::Integer(text.parse::<i16>().ok()?.into()), SqlType::Int2),
        SqlType::Int4 => (ExprKind::Integer(text.parse::<i32>().ok()?.into()), SqlType::Int4),
        SqlType::Int8 => (ExprKind::Integer(text.parse::<i64>().ok()?), SqlType::Int8),
        SqlType::Numeric(Numeric::Open) => {
            let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
            let is_plain = text
                .trim_start_matches('-')
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            let scale =
                u8::try_from(fraction.len()).ok().filter(|scale| is_plain && *scale < 100)?;
            (ExprKind::Number(text.to_owned()), SqlType::Numeric(Numeric::Exact { scale }))
        }
        SqlType::Bool if text == "t" || text == "f" => (ExprKind::Bool(text == "t"), SqlType::Bool),
        _ => return None,
    };
    Some(Expr { kind, sql_type })
}

/// Parses the elements of an array literal: `{1,NULL,"a b"}`.
fn elements(text: &str) -> Option<Vec<Option<String>>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    if inside.is_empty() {
        return Some(elements);
    }
    let mut element = String::new();
    let (mut is_quoted, mut was_quoted) = (false, false);
    let mut characters = inside.chars();
    loop {
        match characters.next() {
            Some('\\') => element.push(characters.next()?),
            Some('"') => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            Some('{' | '}') if !is_quoted => return None,
            Some(character) if is_quoted || character != ',' => element.push(character),
            end => {
                let is_null = !was_quoted && element.eq_ignore_ascii_case("null");
                let value = std::mem::take(&mut element);
                elements.push((!is_null).then_some(value));
                was_quoted = false;
                if end.is_none() {
                    return (!is_quoted).then_some(elements);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn arrays_are_taken_apart() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(elements("{}"), Some(vec![]));
        assert_eq!(elements("{1,-2,NULL}"), Some(vec![some("1"), some("-2"), None]));
        assert_eq!(
            elements(r#"{"a,b","c\"d",NULL,"NULL",""}"#),
            Some(vec![some("a,b"), some("c\"d"), None, some("NULL"), some("")])
        );
        for wrong in ["", "{", "1", "{{1},{2}}", r#"{"a}"#] {
            assert_eq!(elements(wrong), None, "{wrong}");
        }
    }
}
