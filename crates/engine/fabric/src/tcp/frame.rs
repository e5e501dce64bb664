//! Frames: the format of every message after the handshake.
//!
//! A frame is a whole number of 8-byte words, so its contents can be used in place. Words are
//! little-endian.
//!
//! ```text
//! request                                    answer
//! word | field    | meaning                  word | field    | meaning
//!    0 | head     | see below                   0 | head     | see below
//!    1 | epoch    | the caller's epoch          1 | sequence | that of the request
//!    2 | key      | of the server's region      2 | body     | by kind
//!    3 | sequence | counts the connection's
//!      |          | requests from 1
//!    4 | body     | by kind
//!
//! head
//!  63              32 31    24 23  16 15        0
//! +------------------+--------+------+-----------+
//! | words, this one  |   0    | kind |   magic   |
//! | included         |        |      |           |
//! +------------------+--------+------+-----------+
//!
//! kind         | body
//! BATCH        | verbs, see `request`
//! CALL         | session, sequence, service and length, request: see `message`
//! DONE         | what the batch's verbs delivered, see `answer`
//! OUT_OF_RANGE | address and word count of the first failed verb; no later one is executed
//! ANSWERED     | the call's answer, see `message`
//! REFUSED      | a refusal as in the handshake: the server closes the connection
//! ```
//!
//! Memory servers execute the requests of a connection in order, and answer in that order. Compute
//! servers, which only execute calls, answer each when its handler has ended.

use layout::WORD_BYTES;

/// Largest frame in words (8 MiB). A longer batch is sent as several frames.
pub const FRAME_WORDS_MAX: usize = 1 << 20;
/// Limit on the words that the verbs of one frame read and write; their answer fits into a frame.
pub(super) const VERB_WORDS_MAX: usize = FRAME_WORDS_MAX - ANSWER_HEADER;
/// Largest request or answer of a call in bytes.
pub const CALL_BYTES_MAX: usize = (FRAME_WORDS_MAX - 16) * WORD_BYTES as usize;

/// Words before the body of a request.
pub(super) const REQUEST_HEADER: usize = 4;
/// Words before the body of an answer.
pub(super) const ANSWER_HEADER: usize = 2;

const MAGIC: u64 = 0x6e61;
const KIND_SHIFT: u32 = 16;
const RESERVED: u64 = 0xff00_0000;
const WORDS_SHIFT: u32 = 32;

pub(super) mod kind {
    pub const BATCH: u8 = 1;
    pub const CALL: u8 = 2;
    pub const DONE: u8 = 3;
    pub const OUT_OF_RANGE: u8 = 4;
    pub const ANSWERED: u8 = 5;
    pub const REFUSED: u8 = 6;
}

// Words of regions are sent as they are in memory.
const _: () = assert!(cfg!(target_endian = "little"));

/// The first word of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub kind: u8,
    /// Words of the frame, this one included.
    pub words: usize,
}

impl Head {
    /// Parses a frame's first word; `None` if no frame begins here.
    #[inline]
    pub fn parse(word: u64, header: usize) -> Option<Self> {
        let words = (word >> WORDS_SHIFT) as usize;
        let is_head = word & 0xffff == MAGIC
            && word & RESERVED == 0
            && (header..=FRAME_WORDS_MAX).contains(&words);
        is_head.then_some(Self { kind: (word >> KIND_SHIFT) as u8, words })
    }

    #[inline]
    pub fn word(self) -> u64 {
        MAGIC | u64::from(self.kind) << KIND_SHIFT | (self.words as u64) << WORDS_SHIFT
    }
}

/// Sets the length of the frame from word `start` to the end of `frames`.
#[inline]
pub(super) fn close(frames: &mut [u64], start: usize, kind: u8) {
    let words = frames.len() - start;
    debug_assert!(words <= FRAME_WORDS_MAX);
    frames[start] = Head { kind, words }.word();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_back_and_others_are_none() {
        let head = Head { kind: kind::CALL, words: 77 };
        assert_eq!(Head::parse(head.word(), REQUEST_HEADER), Some(head));
        assert_eq!(Head::parse(head.word() ^ 1, REQUEST_HEADER), None);
        assert_eq!(Head::parse(head.word() | 1 << 24, REQUEST_HEADER), None);
        for words in [0, REQUEST_HEADER - 1, FRAME_WORDS_MAX + 1] {
            assert_eq!(Head::parse(Head { words, ..head }.word(), REQUEST_HEADER), None);
        }
        let longest = Head { words: FRAME_WORDS_MAX, ..head };
        assert_eq!(Head::parse(longest.word(), REQUEST_HEADER), Some(longest));
    }
}
