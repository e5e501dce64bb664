//! Encodes calls as prepared statements, and arguments in binary form if it is simple, otherwise as
//! text.

use super::wire::{Form, Requests};
use sql::procedure::RoutineKind;
use sql::{Procedure, SqlType};
use sql_value::Value;

/// Object identifiers of PostgreSQL's types.
const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const BOOL: u32 = 16;

/// The statement that calls a procedure; its parameters have the procedure's types.
pub fn statement(procedure: &Procedure) -> String {
    let inputs = procedure.inputs().enumerate();
    let arguments: Vec<String> =
        inputs.map(|(at, (_, variable))| format!("${}::{}", at + 1, variable.sql_type)).collect();
    let name = format!("\"{}\"", procedure.name.replace('"', "\"\""));
    let call = format!("{name}({})", arguments.join(", "));
    match procedure.kind {
        RoutineKind::Function => format!("SELECT * FROM {call}"),
        RoutineKind::Procedure => format!("CALL {call}"),
    }
}

/// The wire form of arguments of a type.
pub fn form(of: &SqlType) -> Form {
    match of {
        SqlType::Array(element) if number_of(element).is_some() => Form::Binary,
        SqlType::Float8 | SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Form::Binary,
        of if number_of(of).is_some() => Form::Binary,
        _ => Form::Text,
    }
}

/// Appends an argument.
pub fn put(requests: &mut Requests, value: &Value, of: &SqlType) {
    match value {
        Value::Null => requests.value(None::<fn(&mut Vec<u8>)>),
        value => requests.value(Some(|bytes: &mut Vec<u8>| put_known(bytes, value, of))),
    }
}

fn put_known(bytes: &mut Vec<u8>, value: &Value, of: &SqlType) {
    match (value, of) {
        (Value::Array(elements), SqlType::Array(element)) if number_of(element).is_some() => {
            put_array(bytes, elements, element);
        }
        (Value::Float(number), SqlType::Float8) => bytes.extend_from_slice(&number.to_be_bytes()),
        (Value::Text(text), _) => bytes.extend_from_slice(text.as_bytes()),
        (value, of) if !put_plain(bytes, value, of) => {
            bytes.extend_from_slice(sql_value::output::text(value, of).as_bytes());
        }
        _ => {}
    }
}

/// Appends a value of a type with an identifier above; false for other types.
fn put_plain(bytes: &mut Vec<u8>, value: &Value, of: &SqlType) -> bool {
    match (value, of) {
        (Value::Bool(flag), SqlType::Bool) => bytes.push(u8::from(*flag)),
        (Value::Int(number), SqlType::Int2) => {
            bytes.extend_from_slice(&(*number as i16).to_be_bytes());
        }
        (Value::Int(number), SqlType::Int4) => {
            bytes.extend_from_slice(&(*number as i32).to_be_bytes());
        }
        (Value::Int(number), SqlType::Int8) => bytes.extend_from_slice(&number.to_be_bytes()),
        _ => return false,
    }
    true
}

/// Appends an array: number of dimensions, null flag and element type; length and lower bound; then
/// the elements.
fn put_array(bytes: &mut Vec<u8>, elements: &[Value], element: &SqlType) {
    let dimensions = u32::from(!elements.is_empty());
    let has_nulls = u32::from(elements.iter().any(Value::is_null));
    for number in [dimensions, has_nulls, number_of(element).expect("it was looked at")] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    if elements.is_empty() {
        return;
    }
    for number in [elements.len() as u32, 1] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    for value in elements {
        let at = bytes.len();
        bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        if put_plain(bytes, value, element) {
            let length = (bytes.len() - at - 4) as i32;
            bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// The identifier of a type that [`put_plain`] supports.
fn number_of(of: &SqlType) -> Option<u32> {
    Some(match of {
        SqlType::Bool => BOOL,
        SqlType::Int2 => INT2,
        SqlType::Int4 => INT4,
        SqlType::Int8 => INT8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::{Program, Source};

    #[test]
    fn calls_name_their_types() {
        let text = "CREATE FUNCTION f(a smallint, b numeric(4, 2), c integer[]) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN END $$;
            CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN END $$;";
        let program = Program::parse(&Source::new("s", ""), &Source::new("p", text));
        let program = program.expect("it is right");
        let statements: Vec<String> = program.procedures.iter().map(statement).collect();
        let expected =
            ["SELECT * FROM \"f\"($1::smallint, $2::numeric, $3::integer[])", "CALL \"p\"()"];
        assert_eq!(statements, expected);
        let forms: Vec<Form> =
            program.procedures[0].inputs().map(|(_, variable)| form(&variable.sql_type)).collect();
        assert_eq!(forms, [Form::Binary, Form::Text, Form::Binary]);
    }

    #[test]
    fn arrays_are_as_the_server_has_them() {
        let mut requests = Requests::default();
        let array = Value::Array([Value::Int(5), Value::Null].to_vec().into());
        put(&mut requests, &array, &SqlType::Array(Box::new(SqlType::Int2)));
        let expected = b"\0\0\0\x1e\0\0\0\x01\0\0\0\x01\0\0\0\x15\0\0\0\x02\0\0\0\x01\
            \0\0\0\x02\0\x05\xff\xff\xff\xff";
        assert_eq!(requests.bytes(), expected);
        let mut requests = Requests::default();
        put(&mut requests, &Value::Array(Vec::new().into()), &SqlType::Array(SqlType::Int8.into()));
        assert_eq!(requests.bytes(), b"\0\0\0\x0c\0\0\0\0\0\0\0\0\0\0\0\x14");
    }
}
