//! Prints SQL functions.

use crate::cast::{in_scale, in_type, rescaled, without_casts};
use crate::code::{Code, Kind, TEXT_BYTES_MAX};
use crate::expression::{Scope, atom, comparison, slice};
use crate::unsupported::Unsupported;
use sql::expression::{BinaryOperator, Expr, ExprKind};
use sql::function::Function;

type Result<T> = std::result::Result<T, Unsupported>;

impl Scope<'_> {
    /// Returns a function call.
    pub fn function(self, function: Function, arguments: &[Expr]) -> Result<Code> {
        if function == Function::Round && arguments.len() == 2 {
            return self.round(&arguments[0], &arguments[1]);
        }
        let codes: Vec<Code> = arguments.iter().map(|a| self.code(a)).collect::<Result<_>>()?;
        let parts: Vec<&Code> = codes.iter().collect();
        let printed = match arguments.first().map(|first| &first.sql_type) {
            Some(sql::SqlType::Array(_)) => of_arrays(function, &parts),
            _ if parts.iter().any(|part| part.kind == Kind::Text) => of_texts(function, &parts),
            _ => of_numbers(function, &parts, arguments),
        };
        match printed? {
            Some(code) => Ok(code),
            None => of_any(function, &parts),
        }
    }

    fn round(self, value: &Expr, digits: &Expr) -> Result<Code> {
        let code = self.code(value)?;
        let digits = match without_casts(digits).kind {
            ExprKind::Integer(digits @ 0..=18) => digits as u8,
            _ => return Err(Unsupported::new("round() to a computed number of digits")),
        };
        let Some(scale) = code.kind.scale() else {
            return Err(Unsupported::new("round() of a float"));
        };
        let text = rescaled(code.known(), scale, digits);
        let code = Code::from_parts(text, Kind::Decimal(digits), &[&code]);
        Ok(Code { is_padded: false, ..code })
    }
}

/// Returns a function of arguments of any types.
fn of_any(function: Function, parts: &[&Code]) -> Result<Code> {
    match (function, parts) {
        (Function::LocalTimestamp | Function::Now, []) => Ok(Code::new("call.now_us()", Kind::Int)),
        (Function::Coalesce, [first, rest @ ..]) => {
            rest.iter().try_fold((*first).clone(), |value, other| coalesced(&value, other))
        }
        (Function::NullIf, [value, other]) if value.kind == other.kind => {
            let plain =
                |code: &Code| Code { text: code.known(), is_nullable: false, ..code.clone() };
            let differs = comparison(BinaryOperator::NotEqual, &plain(value), &plain(other))?;
            let text = format!("({}).then_some({})", differs.text, slice(&value.known()));
            let bytes = value.bytes_max;
            let code = Code::from_parts(text, value.kind.clone(), parts).at_most(bytes);
            Ok(Code { is_nullable: true, ..code })
        }
        (Function::Greatest | Function::Least, [first, rest @ ..]) => {
            extreme(function, first, rest)
        }
        _ => Err(Unsupported::function(function)),
    }
}

/// Returns `COALESCE` of two values.
fn coalesced(first: &Code, second: &Code) -> Result<Code> {
    if first.text == "None" {
        return Ok(second.clone());
    }
    if !first.is_nullable {
        return Ok(first.clone());
    }
    if first.kind != second.kind && second.text != "None" {
        return Err(Unsupported::new("COALESCE of different types"));
    }
    let text = match second.is_nullable {
        true => format!("{}.or({})", atom(&first.text), second.text),
        false => format!("{}.unwrap_or({})", atom(&first.text), second.text),
    };
    let bytes = first.bytes_max.zip(second.bytes_max).map(|(one, other)| one.max(other));
    let code = Code::from_parts(text, first.kind.clone(), &[first, second]).at_most(bytes);
    Ok(Code { is_nullable: second.is_nullable, ..code })
}

/// Returns `GREATEST` or `LEAST` of numbers.
fn extreme(function: Function, first: &Code, rest: &[&Code]) -> Result<Code> {
    let name = if function == Function::Greatest { "max" } else { "min" };
    let all: Vec<&Code> = std::iter::once(first).chain(rest.iter().copied()).collect();
    let scale = all.iter().filter_map(|code| code.kind.scale()).max();
    let are_numbers = all.iter().all(|code| code.kind.scale().is_some() && code.text != "None");
    let kind = match scale.filter(|_| are_numbers) {
        Some(_) if all.iter().all(|code| code.kind == Kind::Int) => Kind::Int,
        Some(scale) => Kind::Decimal(scale),
        None => {
            return Err(Unsupported::new(format!(
                "the function {}() of no numbers",
                function.name()
            )));
        }
    };
    let codes: Vec<Code> = all.iter().map(|code| in_scale(code, &kind)).collect::<Result<_>>()?;
    let mut values = codes.iter().map(|code| match code.text.parse::<i64>() {
        Ok(_) => format!("{}_i64", code.text),
        Err(_) => code.known(),
    });
    let begin = values.next().unwrap_or_default();
    let text = values.fold(begin, |text, value| format!("{}.{name}({value})", atom(&text)));
    Ok(Code::from_parts(text, kind, &codes.iter().collect::<Vec<_>>()))
}

/// Returns a number computed from a non-empty array; null if the array is empty.
fn of_some(list: &Code, number: &str) -> String {
    let text = atom(&list.text);
    if !list.is_nullable && !list.can_stop() {
        return format!("(!{text}.is_empty()).then(|| {})", number.replace("list", &text));
    }
    let option = if list.is_nullable { text } else { format!("Some({text})") };
    format!("{option}.filter(|list| !list.is_empty()).map(|list| {number})")
}

fn of_arrays(function: Function, parts: &[&Code]) -> Result<Option<Code>> {
    let one = |dimension: &Code| match dimension.text.as_str() {
        "1" => Ok(()),
        _ => Err(Unsupported::new("a dimension of an array other than the first")),
    };
    Ok(Some(match (function, parts) {
        (Function::Cardinality, [list]) => {
            Code::from_parts(format!("{}.len() as i64", atom(&list.known())), Kind::Int, parts)
        }
        (Function::ArrayLength | Function::ArrayUpper, [list, dimension]) => {
            one(dimension)?;
            let text = of_some(list, "list.len() as i64");
            Code { is_nullable: true, ..Code::from_parts(text, Kind::Int, parts) }
        }
        (Function::ArrayLower, [list, dimension]) => {
            one(dimension)?;
            let text = of_some(list, "1_i64");
            Code { is_nullable: true, ..Code::from_parts(text, Kind::Int, parts) }
        }
        _ => return Ok(None),
    }))
}

fn of_texts(function: Function, parts: &[&Code]) -> Result<Option<Code>> {
    let text_of = |text: String, bytes: Option<usize>| {
        Some(Code::from_parts(text, Kind::Text, parts).at_most(bytes))
    };
    let number_of = |text: String| Some(Code::from_parts(text, Kind::Int, parts));
    let literal = |code: &Code| code.text.parse::<usize>().ok();
    Ok(match (function, parts) {
        (Function::Left, [value, count]) => {
            let text = format!("text::left({}, {})?", value.known(), count.known());
            text_of(text, literal(count).or(value.bytes_max))
        }
        (Function::Right, [value, count]) => {
            let text = format!("text::right({}, {})?", value.known(), count.known());
            text_of(text, literal(count).or(value.bytes_max))
        }
        (Function::Substr, [value, from]) => {
            let text = format!("text::from({}, {})?", value.known(), from.known());
            text_of(text, value.bytes_max)
        }
        (Function::Substr, [value, from, count]) => {
            let text =
                format!("text::part({}, {}, {})?", value.known(), from.known(), count.known());
            text_of(text, literal(count).or(value.bytes_max))
        }
        (Function::Ltrim | Function::Rtrim | Function::Btrim, [value, set @ ..]) => {
            let set = match set {
                [] => "b\" \"",
                [set] if set.text.starts_with("b\"") => set.text.as_str(),
                _ => return Err(Unsupported::new("a trim of computed characters")),
            };
            let name = match function {
                Function::Ltrim => "without_first",
                Function::Rtrim => "without_last",
                _ => "without_ends",
            };
            text_of(format!("text::{name}({}, {set})", value.known()), value.bytes_max)
        }
        (Function::Lower | Function::Upper, [value]) => {
            let name = if function == Function::Lower { "lower" } else { "upper" };
            let bytes = value.bytes_max.unwrap_or(TEXT_BYTES_MAX);
            text_of(format!("&text::{name}::<{bytes}>({})?", value.known()), Some(bytes))
        }
        (Function::Lpad | Function::Rpad, [value, count, fill @ ..]) => {
            let Some(bytes) = literal(count).filter(|&bytes| bytes <= TEXT_BYTES_MAX) else {
                return Err(Unsupported::new("a text that is padded to a computed length"));
            };
            let fill = fill.first().map_or("b\" \"".to_owned(), |fill| fill.known());
            let name = if function == Function::Lpad { "filled_left" } else { "filled_right" };
            text_of(format!("&text::{name}::<{bytes}>({}, {fill})?", value.known()), Some(bytes))
        }
        (Function::Length, [value]) => number_of(format!("text::length({})", value.known())),
        (Function::Strpos, [value, part]) => {
            number_of(format!("text::position({}, {})", value.known(), part.known()))
        }
        (Function::Concat, values) => concatenated(values)?,
        _ => None,
    })
}

/// Returns `concat`, which ignores nulls.
fn concatenated(values: &[&Code]) -> Result<Option<Code>> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for value in values.iter().filter(|value| value.text != "None") {
        if value.kind != Kind::Text {
            return Ok(None);
        }
        bytes += value.bytes_max.unwrap_or(TEXT_BYTES_MAX);
        texts.push(match value.is_nullable {
            true => format!("{}.unwrap_or_default()", atom(&value.text)),
            false => value.text.clone(),
        });
    }
    let text = format!("&Text::<{bytes}>::of(&[{}])?", texts.join(", "));
    Ok(Some(Code::from_parts(text, Kind::Text, values).at_most(Some(bytes))))
}

fn of_numbers(function: Function, parts: &[&Code], arguments: &[Expr]) -> Result<Option<Code>> {
    let whole = |text: String| {
        let code = Code::from_parts(text, Kind::Decimal(0), parts);
        Some(Code { is_padded: false, ..code })
    };
    Ok(match (function, parts) {
        (Function::Round, [value]) if value.kind.scale().is_some() => {
            whole(rescaled(value.known(), value.kind.scale().unwrap_or(0), 0))
        }
        (Function::Floor | Function::Ceil | Function::Trunc, [value]) => {
            let Some(scale) = value.kind.scale() else { return Ok(None) };
            let name = match function {
                Function::Floor => "floor",
                Function::Ceil => "ceil",
                _ => "trunc",
            };
            whole(format!("number::{name}({}, {scale})?", value.known()))
        }
        (Function::Sign, [value]) if value.kind.scale().is_some() => {
            whole(format!("{}.signum()", atom(&value.known())))
        }
        (Function::Mod, [value, by]) if value.kind == Kind::Int && by.kind == Kind::Int => {
            let text = format!("number::modulo({}, {})?", value.known(), by.known());
            Some(Code::from_parts(text, Kind::Int, parts))
        }
        (Function::Abs, [value]) if value.kind.scale().is_some() => {
            let text = format!("known({}.checked_abs())?", atom(&value.known()));
            let text = in_type(text, &arguments[0].sql_type);
            Some(Code::from_parts(text, value.kind.clone(), parts))
        }
        _ => None,
    })
}
