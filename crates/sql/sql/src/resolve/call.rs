//! Function calls.

use super::coerce::{Context, converts_implicitly};
use super::operator::comparison_type;
use super::scope::Scope;
use super::{Resolver, ident_name, object_parts};
use crate::built_in::{built_in, is_built_in};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::function::{Function, SIGNATURES, Signature, Takes, WITHOUT_PARENTHESES};
use crate::json_function::JsonFunction;
use crate::near::meant;
use crate::type_name::FRACTION_DIGITS_MAX;
use crate::types::SqlType;
use crate::window::WindowFunction;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::tokenizer::Span;

/// Maximum number of arguments of a call, as in PostgreSQL.
const ARGUMENTS_MAX: usize = 100;

impl Resolver<'_> {
    pub(super) fn call(
        &mut self,
        scope: &Scope<'_>,
        function: &ast::Function,
        span: Span,
    ) -> Result<Expr> {
        if let Some(routine) = self.own_routine(&function.name) {
            return self.own_call(scope, function, routine, span);
        }
        if let Some(name) = self.name_in_schema(&function.name) {
            return Err(self.unknown_call(scope, &name, &function.args, span)?);
        }
        let name = self.function_name(&function.name, span)?;
        if let Some(constant) = self.names.constant(&name).filter(|_| has_no_argument(function)) {
            return Ok(constant.clone());
        }
        let advice = "write the loop or sub-select that computes it";
        self.refuse(!function.within_group.is_empty(), span, "WITHIN GROUP", advice)?;
        self.refuse_foreign(function.null_treatment.is_some(), span, "IGNORE NULLS")?;
        self.refuse_foreign(function.uses_odbc_syntax, span, "{fn ...}")?;
        let has_parameters = !matches!(function.parameters, FunctionArguments::None);
        self.refuse_foreign(has_parameters, span, "function with two lists of arguments")?;
        if let Some(over) = &function.over {
            return self.window_call(scope, &name, (function, over), span);
        }
        if WindowFunction::named(&name).is_some() {
            return Err(self.window_is_missing(&name, span));
        }
        if let Some(ordered) = self.ordered_aggregate(scope, &name, function, span) {
            return ordered;
        }
        if let Some(aggregate) = super::aggregate::named(&name) {
            return self.aggregate(scope, aggregate, function, span);
        }
        if let ("array", FunctionArguments::Subquery(query)) = (&*name, &function.args) {
            return self.array_of_query(scope, query, span);
        }
        if function.filter.is_some() {
            return Err(self.type_error(
                span,
                format!("FILTER is only allowed for aggregates, and `{name}` is not an aggregate"),
            ));
        }
        if self.may_be_created(&name) {
            return Err(self.unknown_call(scope, &name, &function.args, span)?);
        }
        if let Some(value) = self.enum_call(scope, &name, &function.args, span) {
            return value;
        }
        self.check_function(&name, span)?;
        if let Some(digits) = precision(&name, &function.args) {
            let time = self.call_named(scope, &name, &[], span)?;
            let target = time.sql_type.clone().with_digits(digits);
            return self.convert(time, &target, Context::Explicit, span);
        }
        let nodes = self.plain_arguments(&name, &function.args, span)?;
        self.call_named(scope, &name, &nodes, span)
    }

    /// The name of a function in a schema that users create functions in, with the schema.
    fn name_in_schema(&self, name: &ast::ObjectName) -> Option<String> {
        let parts: Vec<String> = object_parts(name)?.into_iter().map(ident_name).collect();
        let [schema, _] = &parts[..] else { return None };
        let is_known = self.names.has_own_plans && self.catalog.schemas.find(schema).is_some();
        (is_known && schema != "pg_catalog").then(|| parts.join("."))
    }

    /// The name of a function in lower case; the schema `pg_catalog` may precede it.
    pub(super) fn function_name(&self, name: &ast::ObjectName, span: Span) -> Result<String> {
        let parts =
            object_parts(name).map(|parts| parts.into_iter().map(ident_name).collect::<Vec<_>>());
        match parts.as_deref() {
            Some([name]) => Ok(name.clone()),
            Some([schema, name]) if schema == "pg_catalog" => Ok(name.clone()),
            Some([schema, _])
                if self.names.has_own_plans && self.catalog.schemas.find(schema).is_none() =>
            {
                let message = format!("schema \"{schema}\" does not exist");
                Err(self.error(span, ErrorKind::Name, &*message).in_postgres("3F000", message))
            }
            _ => Err(self.outside(span, "a function of another schema", "write the name alone")),
        }
    }

    pub(super) fn plain_arguments<'n>(
        &self,
        name: &str,
        arguments: &'n FunctionArguments,
        span: Span,
    ) -> Result<Vec<&'n ast::Expr>> {
        let is_bare = WITHOUT_PARENTHESES.contains(&name);
        let list = match arguments {
            FunctionArguments::None if is_bare => return Ok(Vec::new()),
            FunctionArguments::List(list) if !is_bare => list,
            _ => {
                return Err(self.error(
                    span,
                    ErrorKind::Syntax,
                    format!("`{name}` is not called with this syntax"),
                ));
            }
        };
        if !list.clauses.is_empty() || list.duplicate_treatment.is_some() {
            let sentence =
                format!("`{name}` is not an aggregate, so it accepts only plain arguments");
            return Err(self.error(span, ErrorKind::Syntax, sentence));
        }
        let advice = "write the arguments in order, without names";
        let node = |argument: &'n FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(node)) => Ok(node),
            _ => Err(self.outside(span, "this kind of argument", advice)),
        };
        list.args.iter().map(node).collect()
    }

    /// Resolves a call of `name` with the arguments `nodes`.
    pub(super) fn call_named(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        nodes: &[&ast::Expr],
        span: Span,
    ) -> Result<Expr> {
        if nodes.len() > ARGUMENTS_MAX {
            let sentence = format!("a call has at most {ARGUMENTS_MAX} arguments");
            return Err(self.error(span, ErrorKind::Syntax, sentence));
        }
        if JsonFunction::named(name).is_some() {
            let values = nodes.iter().map(|node| self.row_or_expr(scope, node));
            let values = values.collect::<Result<Vec<_>>>()?;
            if let Some(call) = self.json_call(name, values, span) {
                return call;
            }
        }
        let values = match name {
            "coalesce" => self.coalesced(scope, nodes)?,
            _ => nodes.iter().map(|node| self.expr(scope, node)).collect::<Result<_>>()?,
        };
        let function = match name {
            "coalesce" => Function::Coalesce,
            "greatest" => Function::Greatest,
            "least" => Function::Least,
            "nullif" => Function::NullIf,
            "concat" => Function::Concat,
            "format" => Function::Format,
            "quote_literal" if values.len() == 1 => Function::QuoteLiteral,
            "quote_nullable" if values.len() == 1 => Function::QuoteNullable,
            "string_to_array" => return self.signature_call(name, values, span),
            name if name.starts_with("array_") || name == "cardinality" => {
                return self.array_call(name, values, span);
            }
            _ => return self.signature_call(name, values, span),
        };
        if values.is_empty() {
            return Err(self.error(span, ErrorKind::Syntax, format!("`{name}` needs an argument")));
        }
        match function {
            Function::Concat
            | Function::Format
            | Function::QuoteLiteral
            | Function::QuoteNullable => {
                let convert =
                    |value| self.convert(value, &SqlType::Text, Context::Assignment, span);
                let arguments = values.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
                Ok(Expr::new(ExprKind::Function { function, arguments }, SqlType::Text))
            }
            Function::NullIf => self.null_if(values, span),
            function => {
                let arguments = self.unify(values, &name.to_uppercase(), span)?;
                let sql_type = arguments[0].sql_type.clone();
                Ok(Expr::new(ExprKind::Function { function, arguments }, sql_type))
            }
        }
    }

    /// `nullif`: the first argument, converted to the type of the comparison, or null. Integers of
    /// different widths are compared without conversion.
    fn null_if(&self, values: Vec<Expr>, span: Span) -> Result<Expr> {
        let [left, right] = <[Expr; 2]>::try_from(values)
            .map_err(|_| self.error(span, ErrorKind::Syntax, "NULLIF has two arguments"))?;
        let own = left.sql_type.clone();
        let integers = own.is_integer() && right.sql_type.is_integer();
        let compared = comparison_type(&own, &right.sql_type).unwrap_or_else(|| own.clone());
        let sql_type = if integers || own.base() == compared { own } else { compared };
        let left = self.convert(left, &sql_type, Context::Implicit, span)?;
        let operator = crate::expression::BinaryOperator::Equal;
        let equal = self.comparison(operator, left.clone(), right, span)?;
        let null = Expr::new(ExprKind::Null, sql_type.clone());
        let kind =
            ExprKind::Case { branches: vec![(equal, null)], otherwise: Some(Box::new(left)) };
        Ok(Expr::new(kind, sql_type))
    }

    /// The function called `name` that fits the arguments best [PostgreSQL 15, 10.3].
    pub(super) fn signature_call(&self, name: &str, values: Vec<Expr>, span: Span) -> Result<Expr> {
        let named: Vec<&Signature> = SIGNATURES.iter().filter(|one| one.name == name).collect();
        let fits = |signature: &&&Signature| {
            signature.takes.len() == values.len()
                && signature.takes.iter().zip(&values).all(|(takes, value)| {
                    takes
                        .sql_type()
                        .is_some_and(|target| converts_implicitly(&value.sql_type, &target))
                })
        };
        let fitting = named.iter().filter(fits);
        let Some(signature) = fitting.max_by_key(|signature| rank(signature, &values)) else {
            let types: Vec<String> = values.iter().map(|value| value.sql_type.name()).collect();
            let sentence = format!("the function {name}({}) does not exist", types.join(", "));
            let bases = values.iter().map(|value| value.sql_type.base().name());
            let bases = bases.collect::<Vec<_>>().join(", ");
            let message = format!("function {name}({bases}) does not exist");
            let error = self.type_error(span, sentence).in_postgres("42883", message);
            return Err(error.advise(taken(&named)));
        };
        let pairs = values.into_iter().zip(signature.takes);
        let convert = |(value, takes): (Expr, &Takes)| match takes.sql_type() {
            Some(target) => self.convert(value, &target, Context::Implicit, span),
            None => Ok(value),
        };
        let arguments = pairs.map(convert).collect::<Result<Vec<_>>>()?;
        let sql_type =
            signature.gives.sql_type(arguments.first().map(|argument| &argument.sql_type));
        self.check_format(signature.function, &arguments, span)?;
        Ok(Expr::new(ExprKind::Function { function: signature.function, arguments }, sql_type))
    }

    /// Refuses formats of `to_char` other than digit patterns, which are the only supported ones.
    fn check_format(&self, function: Function, arguments: &[Expr], span: Span) -> Result<()> {
        if function != Function::ToChar {
            return Ok(());
        }
        let is_plain = |format: &str| {
            let digits = format.strip_prefix("FM").unwrap_or(format);
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let is_digit = |c: char| matches!(c, '0' | '9');
            digits.contains(is_digit)
                && whole.chars().all(|c| is_digit(c) || c == ',')
                && fraction.chars().all(is_digit)
        };
        let known = matches!(arguments.get(1).map(|format| &format.kind), Some(ExprKind::Text(text)) if is_plain(text));
        let advice =
            "write a constant format of FM, 0, 9, point and comma, or lpad(n::text, digits, '0')";
        self.refuse(!known, span, "this format of to_char", advice)
    }

    fn array_call(&self, name: &str, values: Vec<Expr>, span: Span) -> Result<Expr> {
        let fits = |one: &&Signature| one.name == name && one.takes.len() == values.len();
        let Some(signature) = SIGNATURES.iter().find(fits) else {
            return Err(self.type_error(span, format!("wrong number of arguments for `{name}`")));
        };
        let at = signature.takes.iter().position(|takes| *takes == Takes::Array);
        let given = at.map(|at| values[at].sql_type.clone());
        let element = match given {
            Some(SqlType::Array(element)) => element,
            // A literal is an array of the elements beside it.
            Some(SqlType::Unknown) if known_element(signature, &values).is_some() => {
                Box::new(known_element(signature, &values).unwrap_or(SqlType::Text))
            }
            _ => return Err(self.no_such_function(name, &values, span)),
        };
        let array = SqlType::Array(element.clone());
        let refused = self.no_such_function(name, &values, span);
        let pairs = values.into_iter().zip(signature.takes);
        let convert = |(value, takes): (Expr, &Takes)| {
            let target = match takes {
                Takes::Array => array.clone(),
                Takes::Element => (*element).clone(),
                Takes::Text => SqlType::Text,
                _ => SqlType::Int4,
            };
            match converts_implicitly(&value.sql_type, &target) {
                true => self.convert(value, &target, Context::Implicit, span),
                false => Err(refused.clone()),
            }
        };
        let arguments = pairs.map(convert).collect::<Result<Vec<_>>>()?;
        let sql_type = signature.gives.sql_type(Some(&array));
        Ok(Expr::new(ExprKind::Function { function: signature.function, arguments }, sql_type))
    }

    /// Whether namdb has this function of PostgreSQL.
    pub(super) fn is_function(&self, name: &str) -> bool {
        let is_special = super::aggregate::named(name).is_some()
            || WindowFunction::named(name).is_some()
            || self.names.constant(name).is_some()
            || matches!(name, "array" | "unnest" | "generate_series")
            || name == "string_agg" && self.names.has_own_plans;
        is_special || self.is_plain_function(name)
    }

    fn is_plain_function(&self, name: &str) -> bool {
        let (is_session, is_routine) = (self.names.is_session, self.names.has_own_plans);
        let is_here = |one: &&Signature| {
            let is_known = match one.function {
                Function::AtTimeZone => is_session,
                function => is_session || is_routine || !function.is_of_session(),
            };
            one.name == name && is_known
        };
        let is_any = ANY_TYPES.contains(&name) || JsonFunction::named(name).is_some();
        is_any || SIGNATURES.iter().any(|one| is_here(&one))
    }

    /// Refuses an unsupported function before its arguments are resolved.
    pub(super) fn check_function(&self, name: &str, span: Span) -> Result<()> {
        if self.is_plain_function(name) {
            return Ok(());
        }
        Err(self.unsupported_function(name, span))
    }

    fn unsupported_function(&self, name: &str, span: Span) -> Error {
        if self.names.is_routine(name) && self.names.is_session {
            let what = format!("a call of `{name}` inside of an expression or query");
            return self.outside(
                span,
                &what,
                "write SELECT and the call, or call it in a function",
            );
        }
        if self.names.is_routine(name) {
            let sentence = format!(
                "`{name}` is a procedure of this file; procedures cannot call each other yet"
            );
            let error = self.error(span, ErrorKind::Outside, sentence);
            return error.advise("write its statements here");
        }
        if is_built_in(name) || NO_PARENTHESES_YET.contains(&name) {
            let sentence = format!("PostgreSQL has `{name}`, but namdb does not support it yet");
            return self.error(span, ErrorKind::Outside, sentence).advise(instead_of(name));
        }
        let sentence = format!("neither PostgreSQL nor this file has a function `{name}`");
        let error = self.error(span, ErrorKind::Name, sentence);
        let error = error.in_postgres("42883", format!("function {name} does not exist"));
        let suggestion = meant(name, ANY_TYPES.into_iter().chain(built_in()));
        if suggestion.is_empty() {
            return error.advise("replace the call with the expression that it stands for");
        }
        error.advise(suggestion)
    }
}

/// The precision of a time of the transaction: `current_timestamp(0)`.
fn precision(name: &str, arguments: &FunctionArguments) -> Option<u8> {
    let FunctionArguments::List(list) = arguments else { return None };
    let is_time = WITHOUT_PARENTHESES.contains(&name) && name != "current_date";
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Value(digits)))] = &list.args[..]
    else {
        return None;
    };
    match &digits.value {
        ast::Value::Number(digits, _) if is_time => {
            digits.parse::<u32>().ok().map(|digits| digits.min(FRACTION_DIGITS_MAX) as u8)
        }
        _ => None,
    }
}

/// Whether a call has no argument, and may have no parentheses.
fn has_no_argument(function: &ast::Function) -> bool {
    match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty(),
        FunctionArguments::Subquery(_) => false,
    }
}

/// Functions with arguments of any type.
const ANY_TYPES: [&str; 8] = [
    "coalesce",
    "concat",
    "format",
    "greatest",
    "least",
    "nullif",
    "quote_literal",
    "quote_nullable",
];

/// Functions that PostgreSQL calls without parentheses and namdb does not support.
const NO_PARENTHESES_YET: [&str; 7] = [
    "current_catalog",
    "current_role",
    "current_schema",
    "current_time",
    "current_user",
    "session_user",
    "user",
];

/// Advice for an unsupported function of PostgreSQL.
fn instead_of(name: &str) -> &'static str {
    match name {
        "nextval" | "currval" | "setval" | "lastval" => "keep the counter in a column of a row",
        "date_part" => "write EXTRACT(field FROM time)",
        "make_interval" => "multiply: n * interval '1 day', and so on for other units",
        "make_date" | "make_timestamp" | "to_date" | "to_timestamp" => {
            "pass the time as an argument, or CAST its text"
        }
        "age" => "subtract the times",
        "concat_ws" => "concatenate the text with ||",
        "initcap" | "translate" | "regexp_replace" | "split_part" | "overlay" => {
            "use substr, replace and ||"
        }
        "starts_with" => "write LIKE 'text%'",
        "current_user" | "session_user" | "current_role" | "user" => {
            "namdb has no users in SQL: pass the name as an argument"
        }
        "current_time" => "write localtime, or current_timestamp",
        "timeofday" => "use current_timestamp or localtimestamp",
        "statement_timestamp" => "use clock_timestamp()",
        "current_catalog" | "current_schema" | "current_database" | "version" => {
            "pass it as an argument"
        }
        "gen_random_uuid" | "md5" | "sha256" | "power" | "pow" | "sqrt" | "exp" | "ln" | "log" => {
            "compute it in the client and pass it as an argument"
        }
        "row_number" | "rank" | "lag" | "lead" => "count in a loop",
        "string_agg" | "json_agg" | "jsonb_agg" => {
            "return the rows, and combine them in the client"
        }
        "pg_sleep" | "pg_notify" => "leave it out",
        _ if name.starts_with("pg_advisory") || name.starts_with("pg_try_advisory") => {
            "lock a row with SELECT ... FOR UPDATE"
        }
        _ => {
            "compute it in the client and pass it as an argument, or replace the call with its expression"
        }
    }
}

/// The type of the elements beside an array of unknown type.
fn known_element(signature: &Signature, values: &[Expr]) -> Option<SqlType> {
    let pairs = signature.takes.iter().zip(values);
    let mut elements = pairs.filter(|(takes, _)| **takes == Takes::Element);
    elements.find(|(_, value)| value.sql_type != SqlType::Unknown).map(|(_, v)| v.sql_type.base())
}

/// Orders candidates by the number of arguments that need no conversion, then by the number of
/// arguments that become the preferred type of their category.
fn rank(signature: &Signature, values: &[Expr]) -> (usize, usize, usize) {
    let pairs = || signature.takes.iter().zip(values);
    let exact =
        pairs().filter(|(takes, value)| takes.sql_type() == Some(value.sql_type.base())).count();
    let preferred = pairs()
        .filter(|(takes, _)| matches!(takes, Takes::Float | Takes::Text | Takes::TimestampTz));
    let text = pairs()
        .filter(|(takes, value)| value.sql_type == SqlType::Unknown && **takes == Takes::Text);
    (exact, text.count(), preferred.count())
}

fn taken(named: &[&Signature]) -> String {
    let one = |signature: &&Signature| {
        let types = signature.takes.iter().filter_map(|takes| takes.sql_type());
        format!("{}({})", signature.name, types.map(|t| t.name()).collect::<Vec<_>>().join(", "))
    };
    format!("there is {}", named.iter().map(one).collect::<Vec<_>>().join(", "))
}
