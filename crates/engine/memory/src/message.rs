//! Requests and answers as bytes: little-endian numbers and length-prefixed byte strings.

use fabric::CallError;

/// Initial capacity of a message. Growing it step by step makes threads contend in the allocator;
/// blocks of up to a kilobyte come from per-thread caches.
const ROOM_BYTES: usize = 512;

pub struct Writer(Vec<u8>);

impl Default for Writer {
    fn default() -> Self {
        Self(Vec::with_capacity(ROOM_BYTES))
    }
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn number(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[must_use]
    pub fn words(mut self, words: &[u64]) -> Self {
        self = self.number(words.len() as u64);
        self.0.reserve(size_of_val(words));
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
        self
    }

    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self = self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Parses a message; a missing part is an error, never a panic.
pub struct Reader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// Reads `message`, named `what` in errors.
    pub fn new(message: &'a [u8], what: &'static str) -> Self {
        Self { rest: message, what }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], CallError> {
        if count > self.rest.len() {
            return Err(CallError::Malformed(self.what));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    pub fn number(&mut self) -> Result<u64, CallError> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes were taken")))
    }

    pub fn words(&mut self) -> Result<Vec<u64>, CallError> {
        let count = self.number()? as usize;
        if count > self.rest.len() / 8 {
            return Err(CallError::Malformed(self.what));
        }
        (0..count).map(|_| self.number()).collect()
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], CallError> {
        let count = self.number()? as usize;
        self.take(count)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_in_order_and_garbage_is_refused() {
        let message = Writer::new().number(7).bytes(b"abc").words(&[1, 2]).finish();
        let mut reader = Reader::new(&message, "test");
        assert_eq!(reader.number(), Ok(7));
        assert_eq!(reader.bytes(), Ok(&b"abc"[..]));
        assert_eq!(reader.words(), Ok(vec![1, 2]));
        assert!(reader.is_empty());
        assert!(reader.number().is_err());
        let lie = Writer::new().number(u64::MAX).finish();
        assert!(Reader::new(&lie, "test").bytes().is_err());
        assert!(Reader::new(&lie, "test").words().is_err());
    }
}
