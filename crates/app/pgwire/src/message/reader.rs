//! Reads the fields of one message.
//!
//! Every read checks the message's end, so a message that lies about its lengths is an error and
//! nothing beyond it is read.
//!
//! Decision: docs/decisions/0329-the-servers-message-codec-is-our-own.md

use std::fmt;

/// The rest of a message's body.
pub struct Reader<'m> {
    rest: &'m [u8],
}

/// A message that does not follow the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// A field goes beyond the message's end.
    Short,
    /// A text without a terminating zero.
    Unterminated,
    /// Bytes behind the last field.
    Long,
    /// A text that is not UTF-8.
    NotUtf8,
    /// A number without a meaning here.
    Number,
}

impl Malformed {
    /// The SQLSTATE: `protocol_violation`, or `character_not_in_repertoire` for texts.
    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::NotUtf8 => "22021",
            _ => "08P01",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Short => "insufficient data left in message",
            Self::Unterminated => "invalid string in message",
            Self::Long => "invalid message format",
            Self::NotUtf8 => "invalid byte sequence for encoding \"UTF8\"",
            Self::Number => "invalid number in message",
        })
    }
}

impl<'m> Reader<'m> {
    pub fn new(body: &'m [u8]) -> Self {
        Self { rest: body }
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'m [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        Ok(self.bytes(N)?.try_into().expect("it has that length"))
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A number of items, each with at least `item_bytes`. Checked against the rest of the message,
    /// so that memory for the items may be taken at once.
    pub fn count(&mut self, item_bytes: usize) -> Result<usize, Malformed> {
        // PostgreSQL reads these numbers as unsigned: a statement may have 65,535 parameters.
        let count = usize::from(u16::from_be_bytes(self.array()?));
        if self.rest.len() < count * item_bytes {
            return Err(Malformed::Short);
        }
        Ok(count)
    }

    /// A text up to its terminating zero.
    pub fn text(&mut self) -> Result<&'m str, Malformed> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or(Malformed::Unterminated)?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        std::str::from_utf8(text).map_err(|_| Malformed::NotUtf8)
    }

    /// A value with its length in front; `None` is null.
    pub fn value(&mut self) -> Result<Option<&'m [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed::Number)?;
                self.bytes(length).map(Some)
            }
        }
    }

    pub fn rest(&mut self) -> &'m [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses bytes behind the last field.
    pub fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}
