//! Casts the arguments of calls to the parameters' types.

use crate::program::Program;
use sql::SqlType;
use sql::procedure::ParameterMode;
use sql_value::{Decimal, Error, Nothing, Value};

/// Sets the variables of a procedure's parameters.
///
/// # Errors
///
/// 42883 if the procedure does not take these arguments; otherwise the error of the cast.
pub(crate) fn assign(
    program: &Program,
    arguments: &[Value],
    now: i64,
    variables: &mut [Value],
) -> Result<(), Box<Error>> {
    let mut given = arguments.iter();
    let inputs = program.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::Out);
    for parameter in inputs {
        let sql_type = &program.variables[parameter.variable].sql_type;
        let value = given.next();
        // Most arguments are integers of the parameter's type.
        if let Some(Value::Int(number)) = value
            && is_of(&Value::Int(*number), sql_type)
        {
            variables[parameter.variable].put(Value::Int(*number));
            continue;
        }
        variables[parameter.variable] = match (value, &parameter.default) {
            (Some(value), _) => {
                convert(value, sql_type).ok_or_else(|| no_function(program, arguments))??
            }
            (None, Some(default)) => {
                let default = sql_value::Formula::compile(default).evaluate(&Nothing { now });
                default.map_err(|stop| match stop {
                    sql_value::Stop::Error(error) => error,
                    sql_value::Stop::Needs(_) => Error::internal("a default with a sub-select"),
                })?
            }
            (None, None) => return Err(no_function(program, arguments)),
        };
    }
    match given.next() {
        Some(_) => Err(no_function(program, arguments)),
        None => Ok(()),
    }
}

/// Casts the value to a parameter's type; `None` if there is no such cast.
fn convert(value: &Value, sql_type: &SqlType) -> Option<Result<Value, Box<Error>>> {
    let in_range = |number: i64, fits: bool| match fits {
        true => Ok(Value::Int(number)),
        false => Err(Error::out_of_range(&sql_type.base().name())),
    };
    Some(match (sql_type, value) {
        (SqlType::Int2, Value::Int(number)) => in_range(*number, i16::try_from(*number).is_ok()),
        (SqlType::Int4, Value::Int(number)) => in_range(*number, i32::try_from(*number).is_ok()),
        (SqlType::Numeric(_), Value::Int(number)) => Ok(Value::Numeric(Decimal::from_int(*number))),
        (SqlType::Float8, Value::Int(number)) => Ok(Value::Float(*number as f64)),
        (SqlType::Float4, Value::Int(number)) => Ok(Value::Float(f64::from(*number as f32))),
        (SqlType::Float4, Value::Float(number)) => {
            sql_value::real::of_float(*number).map(Value::Float)
        }
        (SqlType::Char(_), Value::Text(text)) => Ok(Value::Text(text.trim_end_matches(' ').into())),
        (SqlType::Array(element), Value::Array(elements))
            if elements.iter().all(|value| is_of(value, element)) =>
        {
            Ok(Value::Array(elements.clone()))
        }
        (SqlType::Array(element), Value::Array(elements)) => {
            let converted: Option<Result<Vec<Value>, _>> =
                elements.iter().map(|value| convert(value, element)).collect();
            converted?.map(|elements| Value::Array(elements.into()))
        }
        (_, Value::Null)
        | (SqlType::Bool, Value::Bool(_))
        | (SqlType::Int8 | SqlType::Enum(_), Value::Int(_))
        | (SqlType::Numeric(_), Value::Numeric(_))
        | (SqlType::Float8, Value::Float(_))
        | (SqlType::Text | SqlType::Varchar(_), Value::Text(_))
        | (SqlType::Bytes, Value::Bytes(_))
        | (SqlType::Uuid, Value::Uuid(_))
        | (SqlType::Json, Value::Text(_))
        | (SqlType::Jsonb, Value::Json(_))
        | (SqlType::Date, Value::Date(_))
        | (
            SqlType::Time(_) | SqlType::Timestamp(_) | SqlType::TimestampTz(_),
            Value::Timestamp(_),
        )
        | (SqlType::Interval, Value::Interval(_)) => Ok(value.clone()),
        _ => return None,
    })
}

/// Whether the value is in range for an integer type.
#[inline]
fn is_of(value: &Value, sql_type: &SqlType) -> bool {
    match (sql_type, value) {
        (SqlType::Int2, Value::Int(number)) => i16::try_from(*number).is_ok(),
        (SqlType::Int4, Value::Int(number)) => i32::try_from(*number).is_ok(),
        (SqlType::Int8, Value::Int(_)) => true,
        _ => false,
    }
}

#[cold]
fn no_function(program: &Program, arguments: &[Value]) -> Box<Error> {
    let types: Vec<&str> = arguments.iter().map(kind).collect();
    let message = format!("function {}({}) does not exist", program.name, types.join(", "));
    let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
    Error::new("42883", message).hint(hint)
}

/// Returns the type name of a value for error messages.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "unknown",
        Value::Bool(_) => "boolean",
        Value::Int(number) if i32::try_from(*number).is_ok() => "integer",
        Value::Int(_) => "bigint",
        Value::Numeric(_) => "numeric",
        Value::Float(_) => "double precision",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytea",
        Value::Uuid(_) => "uuid",
        Value::Json(_) => "jsonb",
        Value::Date(_) => "date",
        Value::Timestamp(_) => "timestamp without time zone",
        Value::Interval(_) => "interval",
        Value::Array(_) => "anyarray",
        Value::Row(_) => "record",
    }
}
