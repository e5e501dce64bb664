//! The messages of PostgreSQL's protocol, version 3, that prepared calls need. A frame is a byte
//! for its kind, a length of four bytes that includes itself, and a body; numbers are big-endian.
//!
//! Decision: docs/decisions/0225-postgresql-is-measured-by-a-small-client-of-our-own.md

use std::io::{self, Read};

/// Version 3.0.
const PROTOCOL: i32 = 196_608;
/// Bytes before each body.
const HEAD_BYTES: usize = 5;
/// Bytes read at a time.
const READ_BYTES: usize = 16 << 10;
/// Maximal length of an answer, so that a server with another protocol is detected.
const BODY_BYTES_MAX: usize = 256 << 20;

/// Wire form of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The text that PostgreSQL prints.
    Text = 0,
    /// The format of the type's `send` and `recv` functions.
    Binary = 1,
}

/// Messages that are sent together.
#[derive(Debug, Default)]
pub struct Requests(Vec<u8>);

impl Requests {
    /// The encoded messages.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Removes all messages.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The startup message, which has no kind byte: user and database.
    pub fn startup(&mut self, user: &str, database: &str) {
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 4]);
        self.0.extend_from_slice(&PROTOCOL.to_be_bytes());
        for text in ["user", user, "database", database, "application_name", "namdb"] {
            self.text(text);
        }
        self.0.push(0);
        self.close(at);
    }

    /// Executes statements given as text.
    pub fn query(&mut self, statements: &str) {
        self.message(b'Q', |own| own.text(statements));
    }

    /// Prepares a named statement; the server infers its parameter types.
    pub fn parse(&mut self, name: &str, statement: &str) {
        self.message(b'P', |own| {
            own.text(name);
            own.text(statement);
            own.short(0);
        });
    }

    /// Binds arguments to a prepared statement; `put` writes them one by one with
    /// [`Requests::value`]. Results come in binary form.
    pub fn bind(&mut self, name: &str, forms: &[Form], put: impl FnOnce(&mut Self)) {
        self.message(b'B', |own| {
            own.text("");
            own.text(name);
            own.short(forms.len());
            forms.iter().for_each(|&form| own.short(form as usize));
            own.short(forms.len());
            put(own);
            own.short(1);
            own.short(Form::Binary as usize);
        });
    }

    /// Appends an argument; `None` is null.
    pub fn value(&mut self, put: Option<impl FnOnce(&mut Vec<u8>)>) {
        let at = self.0.len();
        self.0.extend_from_slice(&(-1_i32).to_be_bytes());
        if let Some(put) = put {
            put(&mut self.0);
            let length = (self.0.len() - at - 4) as i32;
            self.0[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Executes the bound statement and requests all rows.
    pub fn execute(&mut self) {
        self.message(b'E', |own| {
            own.text("");
            own.0.extend_from_slice(&[0; 4]);
        });
    }

    /// Ends the transaction and requests [`Answer::Ready`].
    pub fn sync(&mut self) {
        self.message(b'S', |_| {});
    }

    /// Ends the session.
    pub fn terminate(&mut self) {
        self.message(b'X', |_| {});
    }

    fn message(&mut self, kind: u8, put: impl FnOnce(&mut Self)) {
        self.0.push(kind);
        let at = self.0.len();
        self.0.extend_from_slice(&[0; 4]);
        put(self);
        self.close(at);
    }

    /// Fills in the length of the message part that begins at `at`.
    fn close(&mut self, at: usize) {
        let length = (self.0.len() - at) as i32;
        self.0[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        // A NUL would end the text early and change the message.
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
    }

    fn short(&mut self, number: usize) {
        let number = u16::try_from(number).expect("procedures have at most a hundred arguments");
        self.0.extend_from_slice(&number.to_be_bytes());
    }
}

/// An answer of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Requests this kind of authentication; 0 means accepted.
    Authenticate(i32),
    /// A result row.
    Row,
    /// The statement has failed.
    Failed(Failure),
    /// All requests are answered.
    Ready,
    /// Any other answer; ignored.
    Other,
}

/// An error of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Five-character SQLSTATE.
    pub sqlstate: String,
    /// The error's message.
    pub message: String,
}

/// A buffer of received answers.
#[derive(Debug, Default)]
pub struct Answers {
    bytes: Vec<u8>,
    /// Start of the next answer.
    at: usize,
    /// End of the received bytes.
    end: usize,
}

impl Answers {
    /// Waits for the next answer.
    ///
    /// # Errors
    /// If the connection fails or the bytes are not of PostgreSQL's protocol.
    pub fn next(&mut self, from: &mut impl Read) -> io::Result<Answer> {
        self.await_bytes(HEAD_BYTES, from)?;
        let kind = self.bytes[self.at];
        let head = &self.bytes[self.at + 1..self.at + HEAD_BYTES];
        let length = u32::from_be_bytes(head.try_into().expect("four bytes")) as usize;
        if !(HEAD_BYTES - 1..=BODY_BYTES_MAX).contains(&length) {
            return Err(io::Error::other("the server does not speak PostgreSQL's protocol"));
        }
        self.await_bytes(length + 1, from)?;
        let body = &self.bytes[self.at + HEAD_BYTES..self.at + 1 + length];
        let answer = match kind {
            b'D' => Answer::Row,
            b'Z' => Answer::Ready,
            b'E' => Answer::Failed(failure(body)),
            b'R' => {
                let way = body.get(..4).and_then(|way| way.try_into().ok());
                Answer::Authenticate(way.map_or(-1, i32::from_be_bytes))
            }
            _ => Answer::Other,
        };
        self.at += 1 + length;
        Ok(answer)
    }

    /// Waits until `wanted` bytes of the next answer have arrived.
    fn await_bytes(&mut self, wanted: usize, from: &mut impl Read) -> io::Result<()> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
        }
        while self.end - self.at < wanted {
            let room = self.at + wanted.max(READ_BYTES);
            if self.bytes.len() < room {
                self.bytes.resize(room, 0);
            }
            match from.read(&mut self.bytes[self.end..]) {
                Ok(0) => {
                    let ended = "the server has closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, ended));
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Parses the fields of an error: a letter and a text each.
fn failure(body: &[u8]) -> Failure {
    let mut failure = Failure { sqlstate: String::new(), message: String::new() };
    for field in body.split(|byte| *byte == 0) {
        let text = || String::from_utf8_lossy(&field[1..]).into_owned();
        match field.first() {
            Some(b'C') => failure.sqlstate = text(),
            Some(b'M') => failure.message = text(),
            _ => {}
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_lengths() {
        let mut requests = Requests::default();
        requests.parse("p0", "SELECT 1");
        requests.bind("p0", &[Form::Binary, Form::Text], |own| {
            own.value(Some(|bytes: &mut Vec<u8>| bytes.extend_from_slice(&7_i16.to_be_bytes())));
            own.value(None::<fn(&mut Vec<u8>)>);
        });
        requests.execute();
        requests.sync();
        let expected = b"P\0\0\0\x12p0\0SELECT 1\0\0\0\
            B\0\0\0\x1e\0p0\0\0\x02\0\x01\0\0\0\x02\0\0\0\x02\0\x07\xff\xff\xff\xff\0\x01\0\x01\
            E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(requests.bytes(), expected);
    }

    /// A stream that returns one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (into[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn answers_come_however_they_are_cut() {
        let stream =
            b"R\0\0\0\x08\0\0\0\x0aD\0\0\0\x06\0\0E\0\0\0\x15SERROR\0C40001\0Mno\0\0Z\0\0\0\x05I";
        // Length of the error message, computed from its fields.
        let mut stream = stream.to_vec();
        let at = stream.iter().position(|byte| *byte == b'E').expect("it is there");
        let body = b"SERROR\0C40001\0Mno\0\0".len() + 4;
        stream[at + 4] = body as u8;
        let read = |from: &mut dyn Read| -> Vec<Answer> {
            let (mut answers, mut from) = (Answers::default(), from);
            (0..4).map(|_| answers.next(&mut from).expect("all are there")).collect()
        };
        let failed = Failure { sqlstate: "40001".to_owned(), message: "no".to_owned() };
        let expected =
            [Answer::Authenticate(10), Answer::Row, Answer::Failed(failed), Answer::Ready];
        assert_eq!(read(&mut Slow(&stream)), expected);
        assert_eq!(read(&mut &*stream), expected);
        let mut ended = Answers::default();
        let error = ended.next(&mut &b"Z\0\0"[..]).expect_err("it is cut");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let error = Answers::default().next(&mut &b"HTTP/1.1"[..]).expect_err("no such frame");
        assert!(error.to_string().contains("protocol"), "{error}");
    }
}
