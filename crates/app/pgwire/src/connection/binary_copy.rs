//! PostgreSQL's binary format of `COPY`: a signature, then for each row the number of its fields,
//! and each field with its length; -1 instead of a number ends the data.

use crate::error::{Result, SqlError, error, sqlstate};
use crate::message::backend::Column;
use crate::session::RowSet;
use crate::value::Format;
use crate::value::decode::decode;
use crate::value::encode::encode;
use sql_value::Value;

const SIGNATURE: [u8; 11] = *b"PGCOPY\n\xff\r\n\0";
/// The flag of rows with OIDs, which no PostgreSQL since 12 writes.
const WITH_OIDS: u32 = 1 << 16;
/// Flags that a reader may ignore.
const IGNORED_FLAGS: u32 = 0xffff;

/// Appends the signature, without flags and extensions.
pub(super) fn encode_header(buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&SIGNATURE);
    buffer.extend_from_slice(&[0; 8]);
}

/// Appends a row.
pub(super) fn encode_row(
    rows: &RowSet,
    at: usize,
    columns: &[Column],
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let row = rows.row(at);
    let count = i16::try_from(row.len()).map_err(|_| malformed("a row has too many fields"))?;
    buffer.extend_from_slice(&count.to_be_bytes());
    for (value, column) in row.iter().zip(columns) {
        let start = buffer.len();
        buffer.extend_from_slice(&(-1i32).to_be_bytes());
        if encode(value, column, Format::Binary, buffer)? {
            let length = i32::try_from(buffer.len() - start - 4);
            let length = length.map_err(|_| malformed("a value has more than 2 GiB"))?;
            buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
    Ok(())
}

/// Appends the end of the data.
pub(super) fn encode_trailer(buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&(-1i16).to_be_bytes());
}

/// Reads data that arrives in pieces of any size.
pub(super) struct Decoder {
    columns: Vec<Column>,
    buffer: Vec<u8>,
    done: usize,
    has_header: bool,
    has_ended: bool,
}

impl Decoder {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns, buffer: Vec::new(), done: 0, has_header: false, has_ended: false }
    }

    pub fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.done);
        self.done = 0;
        self.buffer.extend_from_slice(data);
    }

    /// The next row that has arrived whole; `None` if there is none yet, or none any more.
    pub fn next(&mut self) -> Result<Option<Vec<Value>>> {
        if !self.has_header {
            let Some(length) = header(&self.buffer[self.done..])? else { return Ok(None) };
            self.done += length;
            self.has_header = true;
        }
        let mut rest = Rest(&self.buffer[self.done..]);
        if self.has_ended {
            return match rest.0 {
                [] => Ok(None),
                _ => Err(malformed("received copy data after EOF marker")),
            };
        }
        let Some(count) = rest.take().map(i16::from_be_bytes) else { return Ok(None) };
        if count == -1 {
            self.done += 2;
            self.has_ended = true;
            return self.next();
        }
        let expected = self.columns.len();
        if usize::try_from(count) != Ok(expected) {
            return Err(malformed(format!("row field count is {count}, expected {expected}")));
        }
        let mut values = Vec::with_capacity(expected);
        for column in &self.columns {
            let Some(length) = rest.take().map(i32::from_be_bytes) else { return Ok(None) };
            let bytes = match usize::try_from(length) {
                Ok(length) => match rest.bytes(length) {
                    Some(bytes) => Some(bytes),
                    None => return Ok(None),
                },
                Err(_) if length == -1 => None,
                Err(_) => return Err(malformed("invalid field size")),
            };
            values.push(decode(bytes, column.type_oid, Format::Binary)?);
        }
        self.done = self.buffer.len() - rest.0.len();
        Ok(Some(values))
    }

    /// The client has sent all data.
    pub fn end(&self) -> Result<()> {
        match self.has_header && self.done == self.buffer.len() {
            true => Ok(()),
            false => Err(malformed("unexpected EOF in COPY data")),
        }
    }
}

/// The length of the header; `None` if it has not arrived whole.
fn header(data: &[u8]) -> Result<Option<usize>> {
    let known = data.len().min(SIGNATURE.len());
    if data[..known] != SIGNATURE[..known] {
        return Err(malformed("COPY file signature not recognized"));
    }
    let mut rest = Rest(&data[known..]);
    let (Some(flags), Some(extension)) = (rest.take(), rest.take()) else { return Ok(None) };
    let flags = u32::from_be_bytes(flags);
    if flags & WITH_OIDS != 0 {
        return Err(malformed("invalid COPY file header (WITH OIDS)"));
    }
    if flags & !IGNORED_FLAGS != 0 {
        return Err(malformed("unrecognized critical flags in COPY file header"));
    }
    let length = usize::try_from(i32::from_be_bytes(extension))
        .map_err(|_| malformed("invalid COPY file header (missing length)"))?;
    Ok(rest.bytes(length).map(|_| known + 8 + length))
}

/// Bytes that are not read yet.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
}

fn malformed(message: impl Into<String>) -> SqlError {
    error(sqlstate::BAD_COPY, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::types::{INT4, TEXT};

    fn columns() -> Vec<Column> {
        [INT4, TEXT]
            .map(|type_oid| Column { type_oid, type_modifier: -1, ..Column::default() })
            .into()
    }

    fn data() -> Vec<u8> {
        let mut rows = RowSet::new(2);
        rows.push([Value::Int(7), Value::text("seven")]);
        rows.push([Value::Null, Value::text("")]);
        let mut data = Vec::new();
        encode_header(&mut data);
        (0..2).for_each(|at| encode_row(&rows, at, &columns(), &mut data).expect("it is binary"));
        encode_trailer(&mut data);
        data
    }

    #[test]
    fn rows_are_read_however_they_arrive() {
        let data = data();
        for size in [1, 3, 16, data.len()] {
            let (mut decoder, mut rows) = (Decoder::new(columns()), Vec::new());
            for piece in data.chunks(size) {
                decoder.push(piece);
                while let Some(row) = decoder.next().expect("it is fine") {
                    rows.push(row);
                }
            }
            assert_eq!(rows[0], [Value::Int(7), Value::text("seven")]);
            assert_eq!(rows[1..], [vec![Value::Null, Value::text("")]]);
            decoder.end().expect("it was whole");
        }
    }

    #[test]
    fn malformed_data_is_refused() {
        let refused = |data: &[u8]| {
            let mut decoder = Decoder::new(columns());
            decoder.push(data);
            loop {
                match decoder.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => return decoder.end().map_err(|error| error.message.clone()),
                    Err(error) => return Err(error.message.clone()),
                }
            }
        };
        let data = data();
        assert_eq!(refused(&data), Ok(()));
        for end in 0..data.len() {
            let result = refused(&data[..end]);
            let is_between = [19, 38, data.len() - 2].contains(&end);
            assert!(result.is_err() || is_between, "{end}: {result:?}");
        }
        let changed = |at: usize, byte: u8| {
            let mut data = data.clone();
            data[at] = byte;
            refused(&data).expect_err("it was changed")
        };
        assert_eq!(changed(0, b'Q'), "COPY file signature not recognized");
        assert_eq!(changed(12, 1), "invalid COPY file header (WITH OIDS)");
        assert_eq!(changed(11, 1), "unrecognized critical flags in COPY file header");
        assert_eq!(changed(20, 3), "row field count is 3, expected 2");
        assert_eq!(changed(24, 3), "incorrect binary data format in bind parameter");
        assert_eq!(changed(21, 0xfe), "invalid field size");
        let longer = [&data[..], b"x"].concat();
        assert_eq!(refused(&longer), Err("received copy data after EOF marker".to_owned()));
    }
}
