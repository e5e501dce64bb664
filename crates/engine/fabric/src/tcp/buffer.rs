//! Input and output buffers of a connection, in words.
//!
//! Decision: docs/decisions/0077-back-pressure-means-not-reading.md

use crate::tcp::frame::{FRAME_WORDS_MAX, Head};
use std::io;
use std::ops::Range;

/// Capacity that a connection keeps; longer messages allocate more and free it again.
const KEPT_WORDS: usize = 8 * 1024;

/// Received bytes that were not consumed yet.
pub(super) struct Inbox {
    words: Vec<u64>,
    /// First word that was not consumed.
    start: usize,
    /// First byte that has not arrived.
    end: usize,
}

/// The received bytes are no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoFrame;

impl Inbox {
    pub fn new() -> Self {
        Self { words: vec![0; KEPT_WORDS], start: 0, end: 0 }
    }

    /// Lets `read` append received bytes. The buffer grows only when it is full of received bytes,
    /// and up to the largest frame, so a peer cannot allocate memory by announcing a long frame.
    #[inline]
    pub fn receive(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.make_room();
        let free = &mut bytemuck::cast_slice_mut(&mut self.words)[self.end..];
        let count = read(free)?;
        self.end += count;
        Ok(count)
    }

    /// Whether the last read has filled the buffer.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.end == self.words.len() * 8
    }

    #[inline]
    fn make_room(&mut self) {
        if self.start * 8 == self.end {
            (self.start, self.end) = (0, 0);
            if self.words.len() > KEPT_WORDS {
                self.words = vec![0; KEPT_WORDS];
            }
        } else if self.end > self.words.len() * 4 {
            self.move_up();
        }
    }

    #[cold]
    fn move_up(&mut self) {
        if self.start > 0 {
            self.words.copy_within(self.start..self.end.div_ceil(8), 0);
            self.end -= self.start * 8;
            self.start = 0;
        }
        if self.is_full() {
            self.words.resize((self.words.len() * 2).min(FRAME_WORDS_MAX), 0);
        }
    }

    /// The next frame, if it has arrived completely.
    #[inline]
    pub fn frame(&self, header: usize) -> Result<Option<Range<usize>>, NoFrame> {
        let arrived = self.end / 8 - self.start;
        if arrived == 0 {
            return Ok(None);
        }
        let head = Head::parse(self.words[self.start], header).ok_or(NoFrame)?;
        Ok((head.words <= arrived).then_some(self.start..self.start + head.words))
    }

    /// The first `bytes` unconsumed bytes, if they have arrived.
    pub fn bytes(&self, bytes: usize) -> Option<&[u8]> {
        bytemuck::cast_slice(&self.words).get(self.start * 8..self.end)?.get(..bytes)
    }

    #[inline]
    pub fn words(&self, range: Range<usize>) -> &[u64] {
        &self.words[range]
    }

    /// Drops `words` words from the beginning.
    #[inline]
    pub fn consume(&mut self, words: usize) {
        self.start += words;
        debug_assert!(self.start * 8 <= self.end);
    }

    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }
}

/// Words to send.
#[derive(Default)]
pub(super) struct Outbox {
    words: Vec<u64>,
    /// Bytes already sent.
    sent: usize,
}

impl Outbox {
    /// Senders append words here.
    #[inline]
    pub fn words(&mut self) -> &mut Vec<u64> {
        &mut self.words
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of unsent words.
    #[inline]
    pub fn left(&self) -> usize {
        self.words.len() - self.sent / 8
    }

    /// Appends a handshake's message, whose length is a multiple of 8.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
        self.words.extend(words.map(|word| word.expect("eight bytes were taken")));
    }

    /// Passes all unsent bytes to `write`, once; returns whether none is left.
    #[inline]
    pub fn send(&mut self, write: impl FnOnce(&[u8]) -> io::Result<usize>) -> io::Result<bool> {
        let bytes = &bytemuck::cast_slice(&self.words)[self.sent..];
        match write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => self.sent += count,
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error),
        }
        if self.sent == self.words.len() * 8 {
            self.clear();
            return Ok(true);
        }
        // A slow but steady reader must not make the sent words accumulate.
        if self.sent > self.words.len() * 4 {
            self.words.drain(..self.sent / 8);
            self.sent %= 8;
        }
        Ok(false)
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.sent = 0;
        if self.words.capacity() > KEPT_WORDS * 4 {
            self.words = Vec::with_capacity(KEPT_WORDS);
        }
    }
}

/// Whether the operation may succeed later.
pub(super) fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::frame::REQUEST_HEADER;

    fn frame(words: usize) -> Vec<u64> {
        let mut frame: Vec<u64> = (0..words as u64).collect();
        frame[0] = Head { kind: 1, words }.word();
        frame
    }

    /// Feeds `bytes` in pieces, and returns the resulting frames.
    fn feed(bytes: &[u8], piece: usize) -> Vec<Vec<u64>> {
        let mut inbox = Inbox::new();
        let (mut left, mut frames) = (bytes, Vec::new());
        while !left.is_empty() {
            let count = inbox
                .receive(|room| {
                    let count = piece.min(room.len()).min(left.len());
                    room[..count].copy_from_slice(&left[..count]);
                    Ok(count)
                })
                .expect("bytes that are there");
            assert!(count > 0, "there is always room");
            left = &left[count..];
            while let Some(range) = inbox.frame(REQUEST_HEADER).expect("these are frames") {
                frames.push(inbox.words(range.clone()).to_vec());
                inbox.consume(range.len());
            }
        }
        frames
    }

    #[test]
    fn frames_come_out_whole_however_they_arrive() {
        let sizes = [4, 5, KEPT_WORDS / 2 + 3, KEPT_WORDS, 7, 3 * KEPT_WORDS, 4, 4];
        let sent: Vec<Vec<u64>> = sizes.into_iter().map(frame).collect();
        let bytes: Vec<u8> =
            sent.iter().flat_map(|frame| bytemuck::cast_slice(frame).to_vec()).collect();
        for piece in [3, 8, 1000, 40_000, usize::MAX] {
            assert_eq!(feed(&bytes, piece), sent, "{piece}");
        }
    }

    #[test]
    fn room_that_was_taken_for_a_large_frame_is_given_back() {
        let mut inbox = Inbox::new();
        let large = frame(KEPT_WORDS * 4);
        let mut left: &[u8] = bytemuck::cast_slice(&large);
        while !left.is_empty() {
            inbox.receive(|room| io::Read::read(&mut left, room)).expect("bytes that are there");
        }
        let range = inbox.frame(REQUEST_HEADER).expect("a frame").expect("it is whole");
        inbox.consume(range.len());
        inbox.receive(|room| Ok(usize::from(room.is_empty()))).expect("nothing arrives");
        assert_eq!(inbox.words.len(), KEPT_WORDS);
    }

    #[test]
    fn what_is_sent_in_pieces_arrives_in_order_and_does_not_pile_up() {
        let mut outbox = Outbox::default();
        let (mut arrived, mut next) = (Vec::new(), 0);
        for _ in 0..1000 {
            outbox.words().extend(next..next + 10);
            next += 10;
            let is_done = outbox.send(|bytes| {
                let count = bytes.len().min(79);
                arrived.extend_from_slice(&bytes[..count]);
                Ok(count)
            });
            assert!(!is_done.expect("it takes some"));
            assert!(outbox.words.len() <= 2 * outbox.left() + 20);
        }
        while !outbox.is_empty() {
            outbox.send(|bytes| io::Write::write(&mut arrived, bytes)).expect("it takes all");
        }
        let words: Vec<u64> =
            arrived.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8"))).collect();
        assert_eq!(words, (0..next).collect::<Vec<_>>());
    }
}
