//! Messages of servers: written by our server, parsed by our client.

use super::HEADER_BYTES;
use super::reader::{Malformed, Reader};
use super::writer::Writer;
use crate::error::{Severity, SqlError, severity_of};

/// A column of a result, as `RowDescription` has it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Column {
    pub name: String,
    /// The table's OID and the column's number there; 0 for expressions.
    pub table: u32,
    pub attribute: i16,
    pub type_oid: u32,
    /// Bytes of the type; negative if they vary.
    pub type_length: i16,
    /// The type's modifier, such as a length; -1 without one.
    pub type_modifier: i32,
}

/// The transaction's state, as `ReadyForQuery` reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Idle,
    InTransaction,
    Failed,
}

impl Status {
    pub const fn letter(self) -> u8 {
        match self {
            Self::Idle => b'I',
            Self::InTransaction => b'T',
            Self::Failed => b'E',
        }
    }
}

pub fn authentication_ok(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'R').i32(0).end();
}

/// The kinds of authentication messages of an exchange.
pub const SASL: i32 = 10;
pub const SASL_CONTINUE: i32 = 11;
pub const SASL_FINAL: i32 = 12;

/// Requires a proof of the user by one of these mechanisms.
pub fn authentication_mechanisms(buffer: &mut Vec<u8>, mechanisms: &[&str]) {
    let mut writer = Writer::begin(buffer, b'R');
    writer.i32(SASL);
    mechanisms.iter().for_each(|mechanism| _ = writer.text(mechanism));
    writer.byte(0).end();
}

/// A message of the exchange.
pub fn authentication_sasl(buffer: &mut Vec<u8>, kind: i32, data: &str) {
    Writer::begin(buffer, b'R').i32(kind).bytes(data.as_bytes()).end();
}

pub fn parameter_status(buffer: &mut Vec<u8>, name: &str, value: &str) {
    Writer::begin(buffer, b'S').text(name).text(value).end();
}

pub fn backend_key_data(buffer: &mut Vec<u8>, process: u32, secret: u32) {
    Writer::begin(buffer, b'K').u32(process).u32(secret).end();
}

/// Tells a client of a newer protocol which version and which of its options are supported.
pub fn negotiate_version(buffer: &mut Vec<u8>, version: u32, unknown: &[&str]) {
    let mut writer = Writer::begin(buffer, b'v');
    writer.u32(version).i32(unknown.len() as i32);
    unknown.iter().for_each(|option| _ = writer.text(option));
    writer.end();
}

#[inline]
pub fn ready_for_query(buffer: &mut Vec<u8>, status: Status) {
    Writer::begin(buffer, b'Z').byte(status.letter()).end();
}

pub fn parse_complete(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'1').end();
}

#[inline]
pub fn bind_complete(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'2').end();
}

pub fn close_complete(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'3').end();
}

pub fn portal_suspended(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b's').end();
}

pub fn no_data(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'n').end();
}

pub fn empty_query_response(buffer: &mut Vec<u8>) {
    Writer::begin(buffer, b'I').end();
}

#[inline]
pub fn command_complete(buffer: &mut Vec<u8>, tag: &str) {
    Writer::begin(buffer, b'C').text(tag).end();
}

pub fn parameter_description(buffer: &mut Vec<u8>, types: &[u32]) {
    let mut writer = Writer::begin(buffer, b't');
    writer.count(types.len());
    types.iter().for_each(|oid| _ = writer.u32(*oid));
    writer.end();
}

/// `format` is that of each column.
pub fn row_description(buffer: &mut Vec<u8>, columns: &[Column], format: impl Fn(usize) -> i16) {
    let mut writer = Writer::begin(buffer, b'T');
    writer.count(columns.len());
    for (index, column) in columns.iter().enumerate() {
        writer.text(&column.name).u32(column.table).i16(column.attribute).u32(column.type_oid);
        writer.i16(column.type_length).i32(column.type_modifier).i16(format(index));
    }
    writer.end();
}

/// `CopyInResponse` (`G`) or `CopyOutResponse` (`H`).
pub fn copy_response(buffer: &mut Vec<u8>, kind: u8, is_binary: bool, columns: usize) {
    let mut writer = Writer::begin(buffer, kind);
    writer.byte(u8::from(is_binary)).count(columns);
    (0..columns).for_each(|_| _ = writer.i16(i16::from(is_binary)));
    writer.end();
}

/// `ErrorResponse`, or `NoticeResponse` for lower levels.
pub fn error_response(buffer: &mut Vec<u8>, error: &SqlError) {
    let is_error = matches!(error.severity, Severity::Error | Severity::Fatal);
    let mut writer = Writer::begin(buffer, if is_error { b'E' } else { b'N' });
    let severity = error.severity.name();
    writer.byte(b'S').text(severity).byte(b'V').text(severity);
    writer.byte(b'C').text(&error.sqlstate).byte(b'M').text(&error.message);
    let position = error.position.map(|position| position.to_string());
    let schema = error.table.as_ref();
    let schema = schema.map(|_| error.schema.clone().unwrap_or_else(|| "public".to_owned()));
    let optional = [
        (b'D', &error.detail),
        (b'H', &error.hint),
        (b'P', &position),
        (b's', &schema),
        (b't', &error.table),
        (b'c', &error.column),
        (b'n', &error.constraint),
    ];
    for (letter, field) in optional {
        if let Some(text) = field {
            writer.byte(letter).text(text);
        }
    }
    writer.byte(0).end();
}

/// A message of a server, as our client reads it.
#[derive(Debug, PartialEq)]
pub enum Backend {
    /// The kind, and the rest of the message.
    Authentication(i32, Vec<u8>),
    ParameterStatus(String, String),
    KeyData {
        process: u32,
        secret: Vec<u8>,
    },
    Ready(u8),
    Rows(Vec<Column>),
    Row(Vec<Option<Vec<u8>>>),
    Complete(String),
    Empty,
    Error(SqlError),
    CopyIn,
    CopyOut,
    CopyData(Vec<u8>),
    CopyDone,
    /// A message without a meaning for our client.
    Other(u8),
}

/// Parses a whole message.
pub fn parse(message: &[u8]) -> Result<Backend, Malformed> {
    let kind = *message.first().ok_or(Malformed::Short)?;
    let mut reader = Reader::new(message.get(HEADER_BYTES..).ok_or(Malformed::Short)?);
    Ok(match kind {
        b'R' => Backend::Authentication(reader.i32()?, reader.rest().to_vec()),
        b'S' => Backend::ParameterStatus(reader.text()?.to_owned(), reader.text()?.to_owned()),
        b'K' => Backend::KeyData { process: reader.u32()?, secret: reader.rest().to_vec() },
        b'Z' => Backend::Ready(reader.byte()?),
        b'T' => {
            let count = reader.count(19)?;
            Backend::Rows((0..count).map(|_| column(&mut reader)).collect::<Result<_, _>>()?)
        }
        b'D' => {
            let count = reader.count(4)?;
            let values = (0..count).map(|_| Ok(reader.value()?.map(<[u8]>::to_vec)));
            Backend::Row(values.collect::<Result<_, _>>()?)
        }
        b'C' => Backend::Complete(reader.text()?.to_owned()),
        b'I' => Backend::Empty,
        b'E' | b'N' => Backend::Error(error(&mut reader)?),
        b'G' => Backend::CopyIn,
        b'H' => Backend::CopyOut,
        b'd' => Backend::CopyData(reader.rest().to_vec()),
        b'c' => Backend::CopyDone,
        other => Backend::Other(other),
    })
}

fn column(reader: &mut Reader<'_>) -> Result<Column, Malformed> {
    let column = Column {
        name: reader.text()?.to_owned(),
        table: reader.u32()?,
        attribute: reader.i16()?,
        type_oid: reader.u32()?,
        type_length: reader.i16()?,
        type_modifier: reader.i32()?,
    };
    reader.i16()?;
    Ok(column)
}

fn error(reader: &mut Reader<'_>) -> Result<SqlError, Malformed> {
    let mut error = SqlError::new("XX000", "");
    loop {
        let letter = reader.byte()?;
        if letter == 0 {
            return Ok(error);
        }
        let text = reader.text()?.to_owned();
        match letter {
            b'V' => error.severity = severity_of(&text),
            b'C' => error.sqlstate = text.into(),
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            b'P' => error.position = text.parse().ok(),
            b't' => error.table = Some(text),
            b'c' => error.column = Some(text),
            b'n' => error.constraint = Some(text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut error = SqlError::new("23505", "duplicate key");
        error.detail = Some("Key (id)=(1) already exists.".to_owned());
        error.constraint = Some("account_pkey".to_owned());
        error.position = Some(8);
        let column = Column { name: "id".to_owned(), type_oid: 23, ..Column::default() };
        let mut buffers = [const { Vec::new() }; 6];
        error_response(&mut buffers[0], &error);
        row_description(&mut buffers[1], std::slice::from_ref(&column), |_| 1);
        parameter_status(&mut buffers[2], "a", "b");
        command_complete(&mut buffers[3], "SELECT 1");
        ready_for_query(&mut buffers[4], Status::Failed);
        backend_key_data(&mut buffers[5], 7, 9);
        let expected = [
            Backend::Error(error),
            Backend::Rows(vec![column]),
            Backend::ParameterStatus("a".to_owned(), "b".to_owned()),
            Backend::Complete("SELECT 1".to_owned()),
            Backend::Ready(b'E'),
            Backend::KeyData { process: 7, secret: vec![0, 0, 0, 9] },
        ];
        for (buffer, expected) in buffers.iter().zip(expected) {
            assert_eq!(buffer[1..5], (buffer.len() as i32 - 1).to_be_bytes());
            assert_eq!(parse(buffer), Ok(expected));
            for end in 0..buffer.len() {
                let _ = parse(&buffer[..end]);
            }
        }
    }

    #[test]
    fn a_text_with_a_zero_does_not_shift_the_fields_behind_it() {
        let mut buffer = Vec::new();
        error_response(&mut buffer, &SqlError::new("22P02", "a\0b").hint("look"));
        let Ok(Backend::Error(read)) = parse(&buffer) else { panic!("it is an error") };
        assert_eq!((read.message.as_str(), read.hint.as_deref()), ("a", Some("look")));
    }
}
