//! Prints expressions.
//!
//! Operands of operators and functions must not be null: a nullable operand that is null deviates.
//! Null is preserved only where a value is moved unchanged, and where it is tested.
//!
//! Decision: docs/decisions/0260-generated-code-shows-a-decimal-with-postgresqls-digits.md

use crate::cast::{in_scale, in_type, rescaled, without_casts};
use crate::code::{Code, Kind, TEXT_BYTES_MAX};
use crate::truth::{TruthTest, column_apart, receiver};
use crate::unsupported::Unsupported;
use crate::variable::Variables;
use sql::SqlType;
use sql::expression::{BinaryOperator, ColumnRef, Expr, ExprKind, Test, UnaryOperator};

type Result<T> = std::result::Result<T, Unsupported>;

/// Maximum scale of a 64-bit number.
const SCALE_MAX: u8 = 18;

/// The variables and columns that expressions can use.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub variables: &'a Variables,
    /// The columns of the sources of level 0.
    pub sources: &'a [&'a [Code]],
    /// The columns of source 0 of the levels above.
    pub outer: &'a [Vec<Code>],
}

impl Scope<'_> {
    /// Returns the code of an expression.
    pub fn code(self, expr: &Expr) -> Result<Code> {
        match &expr.kind {
            ExprKind::Null => Ok(Code::null(Kind::of(&expr.sql_type).unwrap_or(Kind::Int))),
            ExprKind::Bool(value) => Ok(Code::new(value.to_string(), Kind::Bool)),
            ExprKind::Integer(value) => Ok(Code::new(value.to_string(), Kind::Int)),
            ExprKind::Number(digits) => number(digits),
            ExprKind::Text(text) => Ok(text_literal(text)),
            ExprKind::Variable(variable) => self.variables.code(*variable),
            ExprKind::Field { variable, field } => self.variables.field_code(*variable, *field),
            ExprKind::Column(column) => self.column(*column),
            ExprKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExprKind::Binary { operator, left, right } => self.binary(*operator, left, right),
            ExprKind::Is { operand, test, negated } => self.is(operand, *test, *negated),
            ExprKind::Between { operand, low, high, negated } => {
                self.between(operand, (low, high), *negated)
            }
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::Like { operand, pattern, ignores_case: false, negated } => {
                self.like(operand, pattern, *negated)
            }
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            ExprKind::Cast { operand, kind } => self.cast(operand, *kind, &expr.sql_type),
            ExprKind::Function { function, arguments } => self.function(*function, arguments),
            ExprKind::Subscript { array, index } => self.element(array, index),
            _ => Err(Unsupported::new("this kind of expression")),
        }
    }

    /// Returns the code of a condition that must be true.
    pub fn condition(self, expr: &Expr) -> Result<Code> {
        match self.code(expr) {
            Ok(code) if code.kind == Kind::Bool && !code.is_nullable && !code.can_stop() => {
                Ok(code)
            }
            _ => self.truth(expr, TruthTest::True),
        }
    }

    /// Whether a column exists, but cannot be read.
    pub fn is_unreadable(self, column: ColumnRef) -> bool {
        self.source(column).is_some_and(|code| code.kind == Kind::Unreadable)
    }

    fn source(&self, column: ColumnRef) -> Option<&Code> {
        let columns: Option<&[Code]> = match column.level {
            0 => self.sources.get(column.source).copied(),
            level => self.outer.get(level as usize - 1).map(Vec::as_slice),
        };
        columns.and_then(|columns| columns.get(column.column))
    }

    fn column(self, column: ColumnRef) -> Result<Code> {
        let code = self.source(column);
        if self.is_unreadable(column) {
            return Err(Unsupported::new("a column that is stored out of line"));
        }
        if code.is_some_and(|code| code.kind == Kind::Unknown) {
            return Err(Unsupported::new("an unsupported computed column"));
        }
        code.cloned().ok_or_else(|| Unsupported::new("a column that is not available here"))
    }

    fn unary(self, operator: UnaryOperator, operand: &Expr) -> Result<Code> {
        let code = self.code(operand)?;
        let text = match (operator, &code.kind) {
            (UnaryOperator::Negate, Kind::Int | Kind::Decimal(_)) => {
                match code.text.parse::<u32>() {
                    Ok(literal) => format!("-{literal}"),
                    Err(_) => {
                        in_type(format!("number::negate({})?", code.known()), &operand.sql_type)
                    }
                }
            }
            (UnaryOperator::Negate, Kind::Float) => format!("-{}", code.known()),
            (UnaryOperator::Not, Kind::Bool) => format!("!{}", atom(&code.known())),
            _ => return Err(Unsupported::new("a sign before a value that is not a number")),
        };
        Ok(Code::from_parts(text, code.kind.clone(), &[&code]))
    }

    fn binary(self, operator: BinaryOperator, left: &Expr, right: &Expr) -> Result<Code> {
        use BinaryOperator as B;
        let (a, b) = (self.code(left)?, self.code(right)?);
        match operator {
            B::And | B::Or => {
                let sign = if operator == B::And { "&&" } else { "||" };
                let text = format!("{} {sign} {}", atom(&a.known()), atom(&b.known()));
                Ok(Code::from_parts(text, Kind::Bool, &[&a, &b]))
            }
            B::Add | B::Subtract | B::Multiply | B::Divide | B::Modulo => {
                arithmetic(operator, &a, &b, left)
            }
            B::Concatenate => concatenation(&a, &b),
            B::Distinct | B::NotDistinct => distinct(operator == B::Distinct, &a, &b),
            _ if operator.is_comparison() => comparison(operator, &a, &b),
            _ => Err(Unsupported::new(format!("the operator {}", operator.sign()))),
        }
    }

    fn is(self, operand: &Expr, test: Test, negated: bool) -> Result<Code> {
        let code = self.code(operand)?;
        if let (Test::Null, Some((is_null, _))) = (test, column_apart(&code.text)) {
            let sign = if negated { "!" } else { "" };
            return Ok(Code::from_parts(format!("{sign}{is_null}"), Kind::Bool, &[&code]));
        }
        let text = match (test, code.is_nullable, negated) {
            (Test::Null, _, negated) if code.text == "None" => (!negated).to_string(),
            (Test::Null, true, false) => format!("{}.is_none()", atom(&code.text)),
            (Test::Null, true, true) => format!("{}.is_some()", atom(&code.text)),
            // A null inside deviates, so the value must be computed.
            (Test::Null, false, negated) if code.can_stop() => {
                format!("{{ let _ = {}; {negated} }}", code.text)
            }
            (Test::Null, false, negated) => negated.to_string(),
            (Test::True, true, negated) => {
                format!("{} {} Some(true)", atom(&code.text), if negated { "!=" } else { "==" })
            }
            (Test::False, true, negated) => {
                format!("{} {} Some(false)", atom(&code.text), if negated { "!=" } else { "==" })
            }
            (Test::True, false, negated) | (Test::False, false, negated) => {
                let is_plain = (test == Test::True) != negated;
                if is_plain { code.text.clone() } else { format!("!{}", atom(&code.text)) }
            }
        };
        Ok(Code::from_parts(text, Kind::Bool, &[&code]))
    }

    fn between(self, operand: &Expr, (low, high): (&Expr, &Expr), negated: bool) -> Result<Code> {
        let (value, low, high) = (self.code(operand)?, self.code(low)?, self.code(high)?);
        let from = comparison(BinaryOperator::GreaterOrEqual, &value, &low)?;
        let to = comparison(BinaryOperator::LessOrEqual, &value, &high)?;
        let sign = if negated { "!" } else { "" };
        let text = format!("{sign}({} && {})", from.text, to.text);
        Ok(Code::from_parts(text, Kind::Bool, &[&value, &low, &high]))
    }

    fn in_list(self, operand: &Expr, list: &[Expr], negated: bool) -> Result<Code> {
        let value = self.code(operand)?;
        let mut tests = Vec::new();
        let mut parts = vec![value.clone()];
        for element in list {
            let element = self.code(element)?;
            tests.push(comparison(BinaryOperator::Equal, &value, &element)?.text);
            parts.push(element);
        }
        let sign = if negated { "!" } else { "" };
        let parts: Vec<&Code> = parts.iter().collect();
        Ok(Code::from_parts(format!("{sign}({})", tests.join(" || ")), Kind::Bool, &parts))
    }

    fn like(self, operand: &Expr, pattern: &Expr, negated: bool) -> Result<Code> {
        self.like_of(&self.code(operand)?, &operand.sql_type, pattern, negated)
    }

    /// Returns `LIKE` of a value of a type.
    pub fn like_of(
        self,
        value: &Code,
        of: &SqlType,
        pattern: &Expr,
        negated: bool,
    ) -> Result<Code> {
        let ExprKind::Text(pattern) = &without_casts(pattern).kind else {
            return Err(Unsupported::new("LIKE with a computed pattern"));
        };
        let is_open = (pattern.starts_with('%'), pattern.len() > 1 && pattern.ends_with('%'));
        let part = pattern.strip_prefix('%').unwrap_or(pattern);
        let part = if is_open.1 { part.strip_suffix('%').unwrap_or(part) } else { part };
        if part.contains(['%', '_', '\\']) {
            return Err(Unsupported::new(format!("LIKE '{pattern}'")));
        }
        // In a text stored without trailing blanks, a pattern cannot match at the real end.
        let is_cut = matches!(of, SqlType::Char(_)) && (part.ends_with(' ') || !is_open.1);
        if is_cut {
            return Err(Unsupported::new("LIKE with blanks that the stored text lacks"));
        }
        let (value_text, literal) = (value.known(), text_literal(part).text);
        let test = match is_open {
            (true, true) => {
                format!("const {{ &text::Part::new({literal}) }}.is_in({value_text})")
            }
            (false, true) => format!("{}.starts_with({literal})", receiver(&value_text)),
            (true, false) => format!("{}.ends_with({literal})", receiver(&value_text)),
            (false, false) => return Err(Unsupported::new(format!("LIKE '{pattern}'"))),
        };
        let sign = if negated { "!" } else { "" };
        Ok(Code::from_parts(format!("{sign}{test}"), Kind::Bool, &[value]))
    }

    fn case(self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<Code> {
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        for (condition, value) in branches {
            conditions.push(self.condition(condition)?);
            values.push(self.code(value)?);
        }
        values.push(match otherwise {
            Some(otherwise) => self.code(otherwise)?,
            None => Code::null(Kind::Int),
        });
        let kind = values.iter().find(|value| value.text != "None").map(|value| value.kind.clone());
        let kind = kind.ok_or_else(|| Unsupported::new("a CASE of nulls"))?;
        let scale = values.iter().filter_map(|value| value.kind.scale()).max();
        let kind = match (kind.scale(), scale) {
            (Some(_), Some(scale)) if scale > 0 => Kind::Decimal(scale),
            _ => kind,
        };
        let is_nullable = values.iter().any(|value| value.is_nullable);
        let values: Vec<Code> =
            values.iter().map(|value| in_scale(value, &kind)).collect::<Result<_>>()?;
        let is_text = kind == Kind::Text;
        let is_computed =
            |value: &Code| value.text.starts_with("&text::") || value.text.starts_with("&Text::");
        if is_text && values.iter().any(is_computed) {
            return Err(Unsupported::new("a CASE of computed texts"));
        }
        let taken = |value: &Code| {
            let text = match is_text && !value.is_nullable {
                true => slice(&value.text),
                false => value.text.clone(),
            };
            if is_nullable && !value.is_nullable { format!("Some({text})") } else { text }
        };
        let arm = |(condition, value): (&Code, &Code)| {
            format!("if {} {{ {} }}", condition.text, taken(value))
        };
        let arms: Vec<String> = conditions.iter().zip(&values).map(arm).collect();
        let last = values.last().expect("ELSE was added");
        let text = format!("{} else {{ {} }}", arms.join(" else "), taken(last));
        let parts: Vec<&Code> = conditions.iter().chain(&values).collect();
        let bytes_max = values
            .iter()
            .map(|value| value.bytes_max)
            .try_fold(0, |most, bytes| bytes.map(|bytes| bytes.max(most)));
        Ok(Code { is_nullable, ..Code::from_parts(text, kind, &parts) }.at_most(bytes_max))
    }

    fn element(self, array: &Expr, index: &Expr) -> Result<Code> {
        let (list, index) = (self.code(array)?, self.code(index)?);
        let Kind::List(element) = &list.kind else {
            return Err(Unsupported::new("an element of a value that is not an array"));
        };
        let text = format!("element({}, {})?", list.known(), index.known());
        let text = of_array(text, &array.sql_type);
        Ok(Code::from_parts(text, (**element).clone(), &[&list, &index]))
    }
}

/// Whether the expression is null, possibly under a cast.
pub fn is_null(expr: &Expr) -> bool {
    matches!(without_casts(expr).kind, ExprKind::Null)
}

/// Returns the text in parentheses, unless it can precede a dot or follow an operator as it is.
pub fn atom(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_.:".contains(letter);
    let is_call = text.ends_with([')', '?']) && balanced_call(text);
    if text.chars().all(is_plain) || is_call { text.to_owned() } else { format!("({text})") }
}

/// Whether the text is a call with one pair of outer parentheses.
fn balanced_call(text: &str) -> bool {
    let Some(open) = text.find('(') else { return false };
    let is_plain = |letter: char| letter.is_alphanumeric() || "_.:".contains(letter);
    if open == 0 || !text[..open].chars().all(is_plain) {
        return false;
    }
    let inside = text.trim_end_matches('?');
    let mut depth = 0;
    for (at, letter) in inside.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at > open && at + 1 < inside.len() {
            return false;
        }
    }
    true
}

/// Returns a decimal literal.
fn number(digits: &str) -> Result<Code> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let units: i64 = format!("{whole}{fraction}")
        .parse()
        .map_err(|_| Unsupported::new(format!("the number {digits}")))?;
    let scale = u8::try_from(fraction.len()).unwrap_or(u8::MAX);
    if scale > SCALE_MAX {
        return Err(Unsupported::new(format!("the number {digits}")));
    }
    Ok(Code::new(units.to_string(), Kind::Decimal(scale)))
}

/// Returns an element of an array; arrays keep the trailing blanks of their elements.
pub fn of_array(element: String, array: &SqlType) -> String {
    match array {
        SqlType::Array(of) if matches!(**of, SqlType::Char(_)) => {
            format!("text::trimmed({element})")
        }
        _ => element,
    }
}

/// Returns a text as a slice, wherever it is stored.
pub fn slice(text: &str) -> String {
    match text.strip_prefix('&') {
        Some(owned) => format!("&*{owned}"),
        None if text.starts_with("b\"") => format!("&{text}[..]"),
        None => text.to_owned(),
    }
}

pub fn text_literal(text: &str) -> Code {
    let text_max = Some(text.len());
    let is_ascii = text.is_ascii();
    let literal = if is_ascii { format!("b{text:?}") } else { format!("{text:?}.as_bytes()") };
    Code::new(literal, Kind::Text).at_most(text_max)
}

/// Returns `IS [NOT] DISTINCT FROM`: two nulls are not distinct.
fn distinct(is_distinct: bool, a: &Code, b: &Code) -> Result<Code> {
    let (equal, differ) = (BinaryOperator::Equal, BinaryOperator::NotEqual);
    match (a.text == "None", b.text == "None") {
        (true, true) => return Ok(Code::new((!is_distinct).to_string(), Kind::Bool)),
        (true, false) | (false, true) => {
            let of = if a.text == "None" { b } else { a };
            let name = if is_distinct { "is_some" } else { "is_none" };
            let text = match of.is_nullable {
                true => format!("{}.{name}()", atom(&of.text)),
                false if of.can_stop() => {
                    return Err(Unsupported::new("IS DISTINCT FROM of a value that may fail"));
                }
                false => is_distinct.to_string(),
            };
            return Ok(Code::from_parts(text, Kind::Bool, &[of]));
        }
        _ => {}
    }
    if !a.is_nullable && !b.is_nullable {
        return comparison(if is_distinct { differ } else { equal }, a, b);
    }
    if a.kind != b.kind || a.kind == Kind::Float {
        return Err(Unsupported::new("IS DISTINCT FROM of different types"));
    }
    let option = |code: &Code| match (code.is_nullable, &code.kind) {
        (true, _) => atom(&code.text),
        (false, Kind::Text) => format!("Some({})", slice(&code.text)),
        (false, _) => format!("Some({})", code.text),
    };
    let sign = if is_distinct { "!=" } else { "==" };
    let text = format!("{} {sign} {}", option(a), option(b));
    Ok(Code::from_parts(text, Kind::Bool, &[a, b]))
}

fn arithmetic(operator: BinaryOperator, a: &Code, b: &Code, left: &Expr) -> Result<Code> {
    use BinaryOperator as B;
    let parts = [a, b];
    if a.kind == Kind::Float && b.kind == Kind::Float {
        return Err(Unsupported::new("arithmetic of floats"));
    }
    let (Some(from), Some(to)) = (a.kind.scale(), b.kind.scale()) else {
        return Err(Unsupported::new("arithmetic of values other than numbers"));
    };
    let is_decimal = matches!(a.kind, Kind::Decimal(_)) || matches!(b.kind, Kind::Decimal(_));
    if is_decimal && matches!(operator, B::Divide | B::Modulo) {
        return Err(Unsupported::new("division of decimals"));
    }
    if left.sql_type.is_time() {
        return Err(Unsupported::new("arithmetic of times"));
    }
    let scale = if operator == B::Multiply { from + to } else { from.max(to) };
    if scale > SCALE_MAX {
        return Err(Unsupported::new("a decimal with more than 18 decimal places"));
    }
    let kind = if is_decimal { Kind::Decimal(scale) } else { Kind::Int };
    let (left_text, right_text) = match operator {
        B::Multiply => (a.known(), b.known()),
        _ => (rescaled(a.known(), from, scale), rescaled(b.known(), to, scale)),
    };
    let name = match operator {
        B::Add => "add",
        B::Subtract => "subtract",
        B::Multiply => "multiply",
        B::Divide => "divide",
        _ => "modulo",
    };
    let sum = format!("number::{name}({left_text}, {right_text})?");
    // Sums of narrow integers are narrow; everything else fits in 64 bits.
    let text = match (&kind, &left.sql_type) {
        (Kind::Int, SqlType::Int2) => format!("number::int2({sum})?"),
        (Kind::Int, SqlType::Int4) => format!("number::int4({sum})?"),
        _ => sum,
    };
    Ok(Code::from_parts(text, kind, &parts))
}

fn concatenation(a: &Code, b: &Code) -> Result<Code> {
    if a.kind != Kind::Text || b.kind != Kind::Text {
        return Err(Unsupported::new("|| of values other than text"));
    }
    let bytes = a.bytes_max.unwrap_or(TEXT_BYTES_MAX) + b.bytes_max.unwrap_or(TEXT_BYTES_MAX);
    // A chain of concatenations becomes one list of parts.
    let inner = a.text.strip_prefix("&Text::<").and_then(|rest| {
        let (_, rest) = rest.split_once(">::of(&[")?;
        rest.strip_suffix("])?")
    });
    let parts = inner.unwrap_or(&a.text).to_owned();
    let (left, right) = (if inner.is_some() { parts } else { a.known() }, b.known());
    let text = format!("&Text::<{bytes}>::of(&[{left}, {right}])?");
    Ok(Code::from_parts(text, Kind::Text, &[a, b]).at_most(Some(bytes)))
}

pub fn comparison(operator: BinaryOperator, a: &Code, b: &Code) -> Result<Code> {
    use BinaryOperator as B;
    let scale = a.kind.scale().max(b.kind.scale());
    let in_common = |code: &Code| match (code.kind.scale(), scale) {
        (Some(from), Some(scale)) => rescaled(code.known(), from, scale),
        _ => code.known(),
    };
    if a.kind.scale().is_some() != b.kind.scale().is_some() {
        return Err(Unsupported::new("a comparison of different types"));
    }
    if matches!(a.kind, Kind::List(_)) || a.kind == Kind::Float {
        return Err(Unsupported::new("a comparison of arrays or floats"));
    }
    let sign = match operator {
        B::Equal => "==",
        B::NotEqual => "!=",
        B::Less => "<",
        B::LessOrEqual => "<=",
        B::Greater => ">",
        _ => ">=",
    };
    let side = |code: &Code| match code.kind {
        // A literal is an array of its own length.
        Kind::Text if code.text.starts_with("b\"") => format!("{}[..]", code.text),
        Kind::Text if code.text.starts_with('&') => format!("*{}", &code.text[1..]),
        Kind::Text => format!("*{}", code.known()),
        Kind::Bool => atom(&code.known()),
        _ => in_common(code),
    };
    let (mut left, right) = (side(a), side(b));
    // Rust would type a comparison of two literals as 32 bits.
    if left.parse::<i64>().is_ok() && right.parse::<i64>().is_ok() {
        left.push_str("_i64");
    }
    let text = format!("{left} {sign} {right}");
    Ok(Code::from_parts(text, Kind::Bool, &[a, b]))
}
