//! Requests and answers as bytes: little-endian numbers, and byte strings preceded by their length.

use fabric::CallError;

/// A message that is too short or invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a message is too short, or invalid")]
pub struct Malformed;

impl From<Malformed> for CallError {
    fn from(_: Malformed) -> Self {
        Self::Malformed("a baseline")
    }
}

#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn u8(&mut self, number: u8) {
        self.bytes.push(number);
    }

    pub fn u32(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub fn u64(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends a string with its length.
    pub fn string(&mut self, string: &[u8]) {
        self.u32(string.len() as u32);
        self.bytes.extend_from_slice(string);
    }

    /// Appends a string that may be absent.
    pub fn optional(&mut self, string: Option<&[u8]>) {
        self.u8(u8::from(string.is_some()));
        if let Some(string) = string {
            self.string(string);
        }
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Whether all was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Malformed> {
        Ok(self.take(BYTES)?.try_into().expect("`take` returns BYTES bytes"))
    }

    /// The next byte.
    ///
    /// # Errors
    /// At the end of the message, like all of these functions.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// The next four bytes.
    ///
    /// # Errors
    /// At the end of the message.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The next eight bytes.
    ///
    /// # Errors
    /// At the end of the message.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// The next string.
    ///
    /// # Errors
    /// At the end of the message.
    pub fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let bytes = self.u32()? as usize;
        self.take(bytes)
    }

    /// The next string, if it is present.
    ///
    /// # Errors
    /// At the end of the message.
    pub fn optional(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.u8()? {
            0 => Ok(None),
            1 => self.string().map(Some),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_truncated_ones_are_refused() {
        let mut writer = Writer::new();
        writer.u8(7);
        writer.u32(8);
        writer.u64(u64::MAX);
        writer.string(b"row");
        writer.optional(None);
        writer.optional(Some(b"x"));
        let message = writer.finish();
        let read = |message: &[u8]| {
            let mut reader = Reader::new(message);
            let numbers = (reader.u8()?, reader.u32()?, reader.u64()?);
            let strings = (reader.string()?.to_vec(), reader.optional()?.is_none());
            let last = reader.optional()?.map(<[u8]>::to_vec);
            Ok::<_, Malformed>((numbers, strings, last, reader.is_empty()))
        };
        let expected = ((7, 8, u64::MAX), (b"row".to_vec(), true), Some(b"x".to_vec()), true);
        assert_eq!(read(&message), Ok(expected));
        assert!((0..message.len()).all(|bytes| read(&message[..bytes]) == Err(Malformed)));
    }
}
