//! Decodes the rows that a client copies in, from pieces of any size.

use super::CopyOptions;
use crate::error::SqlError;

/// Longest row in bytes.
const ROW_BYTES_MAX: usize = 64 << 20;

/// The fields of a row; `None` for null.
pub(crate) type Fields = Vec<Option<String>>;

/// Collects data and decodes its rows.
pub(crate) struct Decoder {
    options: CopyOptions,
    data: Vec<u8>,
    /// Bytes that are decoded.
    at: usize,
    /// Bytes behind `at` that have no end of a row.
    searched: usize,
    /// Number of the last row, from 1.
    pub line: u64,
    has_ended: bool,
}

impl Decoder {
    pub fn new(options: CopyOptions) -> Self {
        Self { options, data: Vec::new(), at: 0, searched: 0, line: 0, has_ended: false }
    }

    /// Adds data of the client.
    ///
    /// # Errors
    /// A row is too long.
    pub fn push(&mut self, data: &[u8]) -> Result<(), SqlError> {
        if self.has_ended {
            return Ok(());
        }
        self.data.drain(..self.at);
        self.at = 0;
        if self.data.len() + data.len() > ROW_BYTES_MAX {
            return Err(SqlError::new("54000", "a row of COPY is too long"));
        }
        self.data.extend_from_slice(data);
        Ok(())
    }

    /// The next row; `None` if more data is needed. `is_last` says that no more data comes.
    ///
    /// # Errors
    /// The row is malformed.
    pub fn next(&mut self, is_last: bool) -> Result<Option<Fields>, SqlError> {
        loop {
            if self.has_ended || self.at == self.data.len() {
                return Ok(None);
            }
            let rest = &self.data[self.at..];
            let (end, behind) = match self.row_end(rest) {
                Some(end) => (end, end + 1),
                None if is_last => (rest.len(), rest.len()),
                None => {
                    self.searched = rest.len();
                    return Ok(None);
                }
            };
            let row = self.data[self.at..self.at + end].to_vec();
            self.at += behind;
            self.searched = 0;
            self.line += 1;
            let row = row.strip_suffix(b"\r").unwrap_or(&row);
            if row == b"\\." {
                self.has_ended = true;
                return Ok(None);
            }
            if self.options.has_header && self.line == 1 {
                continue;
            }
            let fields = if self.options.is_csv { self.csv(row) } else { self.text(row) };
            return fields.map(Some);
        }
    }

    /// Position of the newline that ends the first row.
    fn row_end(&self, rest: &[u8]) -> Option<usize> {
        if !self.options.is_csv {
            // A newline behind a backslash is a part of the row.
            let newlines = rest.iter().enumerate().skip(self.searched);
            let mut newlines = newlines.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
            return newlines.find(|&at| {
                let escapes = rest[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
                escapes.is_multiple_of(2)
            });
        }
        let (quote, escape) = (self.options.quote, self.options.escape);
        let (mut at, mut is_quoted) = (0, false);
        while at < rest.len() {
            match rest[at] {
                byte if is_quoted && byte == escape && escape != quote => at += 1,
                byte if byte == quote => is_quoted = !is_quoted,
                b'\n' if !is_quoted => return Some(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The fields of a row in the text format.
    fn text(&self, row: &[u8]) -> Result<Fields, SqlError> {
        let mut fields = Vec::new();
        let (mut field, mut from, mut at) = (Vec::new(), 0, 0);
        loop {
            match row.get(at) {
                Some(byte) if *byte == b'\\' && at + 1 < row.len() => {
                    at += 1;
                    at += unescape(&row[at..], &mut field);
                    continue;
                }
                Some(byte) if *byte != self.options.delimiter => field.push(*byte),
                end => {
                    let is_null = row[from..at] == *self.options.null.as_bytes();
                    let value = std::mem::take(&mut field);
                    fields.push(if is_null { None } else { Some(valid(value)?) });
                    from = at + 1;
                    if end.is_none() {
                        return Ok(fields);
                    }
                }
            }
            at += 1;
        }
    }

    /// The fields of a row in the CSV format.
    fn csv(&self, row: &[u8]) -> Result<Fields, SqlError> {
        let CopyOptions { quote, escape, delimiter, null, .. } = &self.options;
        let mut fields = Vec::new();
        let (mut field, mut was_quoted, mut is_quoted, mut at) = (Vec::new(), false, false, 0);
        loop {
            match row.get(at) {
                None if is_quoted => {
                    return Err(SqlError::new("22P04", "unterminated CSV quoted field"));
                }
                Some(byte) if is_quoted => {
                    let next = row.get(at + 1);
                    if byte == escape && next.is_some_and(|next| next == quote || next == escape) {
                        field.extend(next);
                        at += 1;
                    } else if byte == quote {
                        is_quoted = false;
                    } else {
                        field.push(*byte);
                    }
                }
                Some(byte) if byte == quote => (is_quoted, was_quoted) = (true, true),
                Some(byte) if byte != delimiter => field.push(*byte),
                end => {
                    let value = std::mem::take(&mut field);
                    let is_null = !was_quoted && value == null.as_bytes();
                    fields.push(if is_null { None } else { Some(valid(value)?) });
                    was_quoted = false;
                    if end.is_none() {
                        return Ok(fields);
                    }
                }
            }
            at += 1;
        }
    }
}

/// Appends the byte that an escape sequence means; returns the length of the sequence, without its
/// backslash.
fn unescape(sequence: &[u8], field: &mut Vec<u8>) -> usize {
    let number = |digits: &[u8], radix: u32| {
        let text = std::str::from_utf8(digits).unwrap_or_default();
        u32::from_str_radix(text, radix).unwrap_or_default() as u8
    };
    let digits = |from: usize, most: usize, radix: u32| {
        let of = sequence.iter().skip(from).take(most);
        of.take_while(|byte| char::from(**byte).is_digit(radix)).count()
    };
    let (byte, length) = match sequence[0] {
        b'b' => (8, 1),
        b'f' => (12, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (11, 1),
        b'x' if digits(1, 2, 16) > 0 => {
            let length = digits(1, 2, 16);
            (number(&sequence[1..=length], 16), 1 + length)
        }
        b'0'..=b'7' => {
            let length = digits(0, 3, 8);
            (number(&sequence[..length], 8), length)
        }
        other => (other, 1),
    };
    field.push(byte);
    length
}

fn valid(bytes: Vec<u8>) -> Result<String, SqlError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let byte = bytes.get(error.utf8_error().valid_up_to()).copied().unwrap_or_default();
        SqlError::new("22021", format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}"))
    })?;
    match text.contains('\0') {
        true => Err(SqlError::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes data in pieces of every size.
    fn rows(options: &CopyOptions, data: &str) -> Vec<Fields> {
        let mut first: Option<Vec<Fields>> = None;
        for size in 1..=data.len() {
            let mut decoder = Decoder::new(options.clone());
            let mut found = Vec::new();
            for piece in data.as_bytes().chunks(size) {
                decoder.push(piece).expect("it is short");
                while let Some(row) = decoder.next(false).expect("it is fine") {
                    found.push(row);
                }
            }
            while let Some(row) = decoder.next(true).expect("it is fine") {
                found.push(row);
            }
            let expected = first.get_or_insert_with(|| found.clone());
            assert_eq!(*expected, found, "pieces of {size} bytes");
        }
        first.unwrap_or_default()
    }

    fn field(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn rows_in_the_text_format_are_decoded() {
        let found = rows(&CopyOptions::new(false), "a\\tb\t\\N\n\\\\N\t\\x41\\102\r\n\t\n\\.\nz\n");
        assert_eq!(
            found,
            [
                vec![field("a\tb"), None],
                vec![field("\\N"), field("AB")],
                vec![field(""), field("")]
            ]
        );
        let found = rows(&CopyOptions::new(false), "a\\\nb\tc");
        assert_eq!(found, [vec![field("a\nb"), field("c")]]);
    }

    #[test]
    fn rows_in_csv_are_decoded() {
        let options = CopyOptions { has_header: true, ..CopyOptions::new(true) };
        let found = rows(&options, "x,y\n1,\"a,\"\"b\"\"\nc\"\n,\"\"\n");
        assert_eq!(found, [vec![field("1"), field("a,\"b\"\nc")], vec![None, field("")]]);
    }

    #[test]
    fn malformed_rows_are_refused() {
        let refused = |options: CopyOptions, data: &[u8]| {
            let mut decoder = Decoder::new(options);
            decoder.push(data).expect("it is short");
            decoder.next(true).expect_err("it is malformed").sqlstate.clone()
        };
        assert_eq!(refused(CopyOptions::new(true), b"\"a"), "22P04");
        assert_eq!(refused(CopyOptions::new(false), b"\xff"), "22021");
        assert_eq!(refused(CopyOptions::new(false), b"\\000"), "22021");
    }
}
