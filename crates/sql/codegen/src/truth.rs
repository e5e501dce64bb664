//! Conditions over nullable values, in SQL's three-valued logic.
//!
//! `WHERE` tests whether a condition is true, `CHECK` whether it is not false. Neither needs the
//! third truth value: for each part of the condition it is known which of the two tests applies,
//! and so which result null leads to.

use crate::cast::rescaled;
use crate::code::{Code, Kind};
use crate::expression::{Scope, atom, comparison};
use crate::unsupported::Unsupported;
use sql::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};

type Result<T> = std::result::Result<T, Unsupported>;

/// The test applied to a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TruthTest {
    /// Is it true?
    True,
    /// Is it true or null?
    NotFalse,
}

impl TruthTest {
    /// Returns the test for the operand of a negation.
    fn negated(self) -> Self {
        match self {
            Self::True => Self::NotFalse,
            Self::NotFalse => Self::True,
        }
    }

    /// Returns the result if the value is null.
    fn of_null(self) -> Code {
        Code::new((self == Self::NotFalse).to_string(), Kind::Bool)
    }
}

impl Scope<'_> {
    /// Returns the result of testing a condition, which is never null. If a part of it may fail,
    /// null deviates, as everywhere else, because the evaluation order would depend on it.
    pub fn truth(self, expr: &Expr, test: TruthTest) -> Result<Code> {
        let answer = self.answer(expr, test).ok();
        if let Some(code) = answer.as_ref().filter(|code| !code.can_stop()) {
            return Ok(code.clone());
        }
        let code = self.code(expr)?;
        // Without nulls both are the same.
        let has_null = code.is_nullable || code.text.contains("known(");
        if let Some(answer) = answer.filter(|_| !has_null) {
            return Ok(answer);
        }
        match code.kind {
            Kind::Bool => Ok(Code { text: code.known(), is_nullable: false, ..code }),
            _ => Err(Unsupported::new("a condition that is not boolean")),
        }
    }

    fn answer(self, expr: &Expr, test: TruthTest) -> Result<Code> {
        use BinaryOperator as B;
        match &expr.kind {
            ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
                Ok(both(&self.answer(left, test)?, &self.answer(right, test)?))
            }
            ExprKind::Binary { operator: BinaryOperator::Or, left, right } => {
                Ok(either(&self.answer(left, test)?, &self.answer(right, test)?))
            }
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
                Ok(negation(&self.answer(operand, test.negated())?))
            }
            ExprKind::Binary { operator, left, right }
                if operator.is_comparison()
                    && !matches!(
                        operator,
                        BinaryOperator::Distinct | BinaryOperator::NotDistinct
                    ) =>
            {
                compared(*operator, &self.code(left)?, &self.code(right)?, test)
            }
            ExprKind::Between { operand, low, high, negated } => {
                let (value, low, high) = (self.code(operand)?, self.code(low)?, self.code(high)?);
                match negated {
                    false => Ok(both(
                        &compared(B::GreaterOrEqual, &value, &low, test)?,
                        &compared(B::LessOrEqual, &value, &high, test)?,
                    )),
                    true => Ok(either(
                        &compared(B::Less, &value, &low, test)?,
                        &compared(B::Greater, &value, &high, test)?,
                    )),
                }
            }
            ExprKind::Like { operand, pattern, ignores_case: false, negated } => {
                let value = self.code(operand)?;
                if !value.is_nullable || value.text == "None" {
                    return plain(self.code(expr)?, test);
                }
                let of = &operand.sql_type;
                let inner = |value: &Code| self.like_of(value, of, pattern, *negated);
                let text = one_nullable(&value, test, &|value| Ok(inner(value)?.text))?;
                Ok(Code::from_parts(text, Kind::Bool, &[&value]))
            }
            ExprKind::InList { operand, list, negated } => {
                self.in_list_answer(operand, list, *negated, test)
            }
            _ => plain(self.code(expr)?, test),
        }
    }

    fn in_list_answer(
        self,
        operand: &Expr,
        list: &[Expr],
        negated: bool,
        test: TruthTest,
    ) -> Result<Code> {
        let value = self.code(operand)?;
        let (equal, join): (_, fn(&Code, &Code) -> Code) = match negated {
            false => (BinaryOperator::Equal, either),
            true => (BinaryOperator::NotEqual, both),
        };
        let mut answers =
            list.iter().map(|element| compared(equal, &value, &self.code(element)?, test));
        let first = answers.next().ok_or_else(|| Unsupported::new("an empty list"))??;
        answers.try_fold(first, |all, answer| Ok(join(&all, &answer?)))
    }
}

/// Returns the test of any other boolean expression.
fn plain(code: Code, test: TruthTest) -> Result<Code> {
    if code.kind != Kind::Bool {
        return Err(Unsupported::new("a condition that is not boolean"));
    }
    let text = match (code.is_nullable, test) {
        _ if code.text == "None" => return Ok(test.of_null()),
        (false, _) => return Ok(code),
        _ if column_apart(&code.text).is_some() => {
            one_nullable(&code, test, &|value| Ok(value.text.clone()))?
        }
        (true, TruthTest::True) => format!("{} == Some(true)", atom(&code.text)),
        (true, TruthTest::NotFalse) => format!("{} != Some(false)", atom(&code.text)),
    };
    Ok(Code { text, is_nullable: false, ..code })
}

/// Returns `IS NOT DISTINCT FROM` of two values.
pub fn same(a: &Code, b: &Code) -> Result<String> {
    if a.is_nullable == b.is_nullable && a.is_nullable {
        return match a.kind == b.kind {
            true => Ok(format!("{} == {}", receiver(&a.text), receiver(&b.text))),
            false => Err(Unsupported::new("a comparison of different types")),
        };
    }
    comparison(BinaryOperator::Equal, a, b).map(|code| code.text)
}

/// Returns `AND` of two tests.
fn both(a: &Code, b: &Code) -> Code {
    match (a.text.as_str(), b.text.as_str()) {
        ("true", _) => b.clone(),
        (_, "true") | ("false", _) => a.clone(),
        (_, "false") => b.clone(),
        _ => {
            let text = format!("{} && {}", operand(&a.text, " || "), operand(&b.text, " || "));
            Code::from_parts(text, Kind::Bool, &[a, b])
        }
    }
}

/// Returns `OR` of two tests.
fn either(a: &Code, b: &Code) -> Code {
    match (a.text.as_str(), b.text.as_str()) {
        ("false", _) => b.clone(),
        (_, "false") | ("true", _) => a.clone(),
        (_, "true") => b.clone(),
        _ => {
            let text = format!("{} || {}", operand(&a.text, " && "), operand(&b.text, " && "));
            Code::from_parts(text, Kind::Bool, &[a, b])
        }
    }
}

/// Returns an operand of `&&` or `||`, in parentheses if it contains the other operator.
fn operand(text: &str, other: &str) -> String {
    if text.contains(other) { format!("({text})") } else { text.to_owned() }
}

fn negation(code: &Code) -> Code {
    let text = match code.text.as_str() {
        "true" => "false".to_owned(),
        "false" => "true".to_owned(),
        text => match text.strip_prefix('!') {
            Some(plain) if atom(plain) == plain => plain.to_owned(),
            _ => format!("!{}", atom(text)),
        },
    };
    Code { text, ..code.clone() }
}

/// Returns a comparison of nullable values.
fn compared(operator: BinaryOperator, a: &Code, b: &Code, test: TruthTest) -> Result<Code> {
    if a.text == "None" || b.text == "None" {
        return Ok(test.of_null());
    }
    if let Some(answer) = of_literals(operator, a, b) {
        return Ok(Code::new(answer.to_string(), Kind::Bool));
    }
    let inner = |a: &Code, b: &Code| comparison(operator, a, b).map(|code| code.text);
    let text = match (a.is_nullable, b.is_nullable) {
        (false, false) => return comparison(operator, a, b),
        (true, true) => {
            let (left, right) = (named("left", a), named("right", b));
            let pair = format!("{}.zip({})", receiver(&a.text), b.text);
            tested(&pair, "(left, right)", &inner(&left, &right)?, test)
        }
        (true, false) => one_nullable(a, test, &|value| inner(value, b))?,
        (false, true) => one_nullable(b, test, &|value| inner(a, value))?,
    };
    Ok(Code::from_parts(text, Kind::Bool, &[a, b]))
}

/// Returns a test of a nullable value, given the test of its value.
fn one_nullable(
    code: &Code,
    test: TruthTest,
    inner: &dyn Fn(&Code) -> Result<String>,
) -> Result<String> {
    // Testing the null flag of a row's column is cheaper than building an option.
    if let Some((is_null, value)) = column_apart(&code.text) {
        let value = Code { text: value.to_owned(), is_nullable: false, ..code.clone() };
        let inner = inner(&value)?;
        return Ok(match test {
            TruthTest::True => format!("!{is_null} && {inner}"),
            TruthTest::NotFalse => format!("{is_null} || {inner}"),
        });
    }
    let inner = inner(&named("value", code))?;
    Ok(tested(&receiver(&code.text), "value", &inner, test))
}

fn tested(option: &str, name: &str, inner: &str, test: TruthTest) -> String {
    match test {
        TruthTest::True => format!("{option}.is_some_and(|{name}| {inner})"),
        TruthTest::NotFalse => format!("{option}.is_none_or(|{name}| {inner})"),
    }
}

/// Returns the receiver of a method call.
pub fn receiver(text: &str) -> String {
    match text.strip_prefix('&') {
        Some(owned) if atom(owned) == owned => owned.to_owned(),
        _ if text.ends_with(".as_deref()") => text.to_owned(),
        _ => atom(text),
    }
}

/// Returns the value inside an option, under a name.
fn named(name: &str, code: &Code) -> Code {
    Code { text: name.to_owned(), is_nullable: false, ..code.clone() }
}

/// Splits the code of a nullable column into null test and value, see
/// [`crate::function::Function::columns`].
pub fn column_apart(text: &str) -> Option<(&str, &str)> {
    let (is_null, value) = text.strip_prefix("(!")?.split_once(").then(|| ")?;
    Some((is_null, value.strip_suffix(')')?))
}

/// Evaluates a comparison of two literals.
fn of_literals(operator: BinaryOperator, a: &Code, b: &Code) -> Option<bool> {
    use BinaryOperator as B;
    let is_literal = |code: &Code| code.text.starts_with("b\"");
    if is_literal(a) && is_literal(b) {
        return match operator {
            B::Equal => Some(a.text == b.text),
            B::NotEqual => Some(a.text != b.text),
            _ => None,
        };
    }
    let scale = a.kind.scale().max(b.kind.scale())?;
    let number = |code: &Code| -> Option<i64> {
        rescaled(code.text.clone(), code.kind.scale()?, scale).parse().ok()
    };
    let (left, right) = (number(a)?, number(b)?);
    Some(match operator {
        B::Equal => left == right,
        B::NotEqual => left != right,
        B::Less => left < right,
        B::LessOrEqual => left <= right,
        B::Greater => left > right,
        B::GreaterOrEqual => left >= right,
        _ => return None,
    })
}
