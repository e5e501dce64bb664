//! Appends messages to a buffer.

/// A message under way. Its length is written when it is finished.
pub struct Writer<'b> {
    buffer: &'b mut Vec<u8>,
    start: usize,
}

impl<'b> Writer<'b> {
    /// Begins a message of this type.
    #[inline]
    pub fn begin(buffer: &'b mut Vec<u8>, kind: u8) -> Self {
        buffer.push(kind);
        let start = buffer.len();
        buffer.extend_from_slice(&[0; 4]);
        Self { buffer, start }
    }

    /// Begins a packet without a type.
    pub fn begin_packet(buffer: &'b mut Vec<u8>) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&[0; 4]);
        Self { buffer, start }
    }

    pub fn byte(&mut self, byte: u8) -> &mut Self {
        self.buffer.push(byte);
        self
    }

    pub fn i16(&mut self, number: i16) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// A number of items.
    ///
    /// # Panics
    /// If it exceeds 65,535, the maximum of the protocol; sessions limit columns and parameters.
    pub fn count(&mut self, count: usize) -> &mut Self {
        let count = u16::try_from(count).expect("the protocol counts in 16 bits");
        self.bytes(&count.to_be_bytes())
    }

    pub fn i32(&mut self, number: i32) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.buffer.extend_from_slice(bytes);
        self
    }

    /// A text with its terminating zero. A zero inside would end the text early, so the text is cut
    /// there.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let end = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
        self.bytes(&text.as_bytes()[..end]).byte(0)
    }

    /// A value with its length in front, or null; `write` appends the value.
    #[inline]
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> &mut Self {
        let start = self.buffer.len();
        self.i32(-1);
        if write(self.buffer) {
            patch_length(self.buffer, start, start + 4);
        } else {
            self.buffer.truncate(start + 4);
        }
        self
    }

    /// Writes the message's length.
    #[inline]
    pub fn end(&mut self) {
        patch_length(self.buffer, self.start, self.start);
    }
}

/// Writes the number of bytes behind `from` at `at`.
///
/// # Panics
/// If they exceed 2 GiB, which no message of ours reaches: rows are limited.
#[inline]
fn patch_length(buffer: &mut [u8], at: usize, from: usize) {
    let length = i32::try_from(buffer.len() - from).expect("messages are below 2 GiB");
    buffer[at..at + 4].copy_from_slice(&length.to_be_bytes());
}
