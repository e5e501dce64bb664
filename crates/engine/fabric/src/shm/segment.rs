//! The shared memory for calls of one compute process to one memory server.
//!
//! ```text
//! byte | field    | bytes | written by         | meaning
//!    0 | posted   |     8 | both, by atomics   | bit n: slot n was handed to the server
//!   64 | sleeping |     8 | server             | 1: it sleeps, or is about to; ring after posting
//! 4096 | slots    |   64 x 4096                |
//! ```
//!
//! A slot carries one call at a time, in pieces:
//!
//! ```text
//! byte | field    | bytes | written by         | meaning
//!    0 | turn     |     4 | side with the turn | counts hand-overs; odd: it is the server's turn
//!    4 | unused   |     4 |                    |
//!    8 | waiting  |     8 | caller             | 1: it sleeps on `turn`, or is about to
//!   16 | head     |     8 | side with the turn | kind, code and piece bytes, see [`Head`]
//!   24 | total    |     8 | side with the turn | bytes of the whole message
//!   32 | sequence |     8 | caller             | number of the call, from 1 in each slot
//!   40 | unused   |    24 |                    |
//!   64 | piece    |  4032 | side with the turn | some bytes of the message, in words
//! ```
//!
//! Either side may be broken and write anything anywhere at any time. So the side with the turn
//! reads every number once, checks the value it read, and keeps its own state of the call in
//! private memory.
//!
//! Decision: docs/decisions/0072-shared-memory-has-no-name.md

use crate::local::create_file;
use crate::raw::{Memory, load_words, store_words};
use rustix::fs::MemfdFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Concurrent calls of one process to one server.
pub(super) const SLOT_COUNT: u32 = 64;
const SLOTS: u64 = 4096;
const SLOT_BYTES: u64 = 4096;
const SEGMENT_BYTES: u64 = SLOTS + SLOT_COUNT as u64 * SLOT_BYTES;

/// Largest piece in bytes.
pub(super) const PIECE_BYTES_MAX: usize = (SLOT_BYTES - 8 * PIECE as u64) as usize;
/// Largest request or answer in bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 64 << 20;

const POSTED: u64 = 0;
const SLEEPING: u64 = 64;
/// Word offsets in a slot.
const WAITING: usize = 1;
const HEAD: usize = 2;
const TOTAL: usize = 3;
const SEQUENCE: usize = 4;
const PIECE: usize = 8;
const _: () = assert!(SLOT_COUNT == u64::BITS, "one bit of `posted` for each slot");
const _: () = assert!(PIECE_BYTES_MAX == 4032 && PIECE_BYTES_MAX.is_multiple_of(8));

/// The type of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// From the caller: a piece of a request; the code is the service.
    Request,
    /// From the caller: it has the piece of the answer and requests the next.
    Fetch,
    /// From the server: it has the piece of the request and requests the next.
    More,
    /// From the server: a piece of an answer; the code is that of [`super::answer`].
    Answer,
}

/// The header of a piece.
///
/// ```text
/// bits of `head`   0-7 kind | 8-23 code | 24-31 unused | 32-63 piece bytes
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub kind: Kind,
    pub code: u16,
    /// At most [`PIECE_BYTES_MAX`].
    pub piece_bytes: usize,
    /// At most [`MESSAGE_BYTES_MAX`].
    pub total_bytes: usize,
    pub sequence: u64,
}

impl Head {
    fn word(&self) -> u64 {
        let kind = match self.kind {
            Kind::Request => 1,
            Kind::Fetch => 2,
            Kind::More => 3,
            Kind::Answer => 4,
        };
        kind | u64::from(self.code) << 8 | (self.piece_bytes as u64) << 32
    }

    /// `None` if no correct peer writes such words.
    fn of_words(head: u64, total: u64, sequence: u64) -> Option<Self> {
        let kind = match head & 0xff {
            1 => Kind::Request,
            2 => Kind::Fetch,
            3 => Kind::More,
            4 => Kind::Answer,
            _ => return None,
        };
        let (piece_bytes, total_bytes) = ((head >> 32) as usize, usize::try_from(total).ok()?);
        let fits = piece_bytes <= PIECE_BYTES_MAX && total_bytes <= MESSAGE_BYTES_MAX;
        let code = (head >> 8) as u16;
        fits.then_some(Self { kind, code, piece_bytes, total_bytes, sequence })
    }
}

pub(super) struct Segment {
    memory: Memory,
}

impl Segment {
    /// Creates a segment; its file is for the other side.
    pub fn create() -> io::Result<Self> {
        Self::map(create_file("namdb-calls", SEGMENT_BYTES, MemfdFlags::empty())?)
    }

    /// Maps a segment that the other side has created.
    pub fn map(file: OwnedFd) -> io::Result<Self> {
        Ok(Self { memory: Memory::map_file(file, SEGMENT_BYTES)? })
    }

    /// The file, to pass it to the other side.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.file().expect("a segment is mapped from a file")
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        &self.memory.words(offset, 1).expect("a segment has all its fields")[0]
    }

    /// Whether there are posted slots that the server has not taken.
    #[inline]
    pub fn has_posted(&self) -> bool {
        self.word(POSTED).load(Relaxed) != 0
    }

    /// Takes the bits of all posted slots.
    pub fn take_posted(&self) -> u64 {
        self.word(POSTED).swap(0, SeqCst)
    }

    /// Posts `slot` to the server, and returns whether to ring its bell.
    pub fn post(&self, slot: u32) -> bool {
        self.word(POSTED).fetch_or(1 << slot, SeqCst);
        // After the swap: a server that goes to sleep sets the flag and then checks the bits.
        self.word(SLEEPING).load(SeqCst) != 0
    }

    /// Records whether the server sleeps.
    pub fn set_sleeping(&self, sleeping: bool) {
        self.word(SLEEPING).store(sleeping.into(), SeqCst);
    }

    pub fn slot(&self, index: u32) -> Slot<'_> {
        let offset = SLOTS + u64::from(index) * SLOT_BYTES;
        let words = self.memory.words(offset, SLOT_BYTES / 8).expect("a segment has all its slots");
        let turn = self.memory.half(offset).expect("a slot begins with its turn");
        Slot { turn, words }
    }
}

/// One slot of a segment. Its first word is only accessed as `turn`.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    turn: &'a AtomicU32,
    words: &'a [AtomicU64],
}

impl<'a> Slot<'a> {
    /// The count of hand-overs; synchronises with the last one.
    pub fn turn(&self) -> u32 {
        self.turn.load(Acquire)
    }

    /// The futex word.
    pub fn turn_word(&self) -> &'a AtomicU32 {
        self.turn
    }

    /// Writes a piece, and hands the slot over by setting `turn`.
    pub fn hand_over(&self, turn: u32, head: &Head, piece: &[u8]) {
        assert_eq!(head.piece_bytes, piece.len());
        assert!(piece.len() <= PIECE_BYTES_MAX, "longer messages go in pieces");
        let mut words = [0; PIECE_BYTES_MAX / 8];
        let count = piece.len().div_ceil(8);
        for (word, bytes) in words.iter_mut().zip(piece.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        store_words(&self.words[PIECE..], &words[..count]);
        self.words[HEAD].store(head.word(), Relaxed);
        self.words[TOTAL].store(head.total_bytes as u64, Relaxed);
        self.words[SEQUENCE].store(head.sequence, Relaxed);
        // Releases all of that, and precedes the check of `waiting`.
        self.turn.store(turn, SeqCst);
    }

    /// The header of the piece; `None` if it is invalid.
    pub fn head(&self) -> Option<Head> {
        let [head, total, sequence] =
            [HEAD, TOTAL, SEQUENCE].map(|word| self.words[word].load(Relaxed));
        Head::of_words(head, total, sequence)
    }

    /// Appends the piece to `message`.
    pub fn take_piece(&self, head: &Head, message: &mut Vec<u8>) {
        let mut words = [0; PIECE_BYTES_MAX / 8];
        let count = head.piece_bytes.div_ceil(8);
        load_words(&self.words[PIECE..], &mut words[..count]);
        let end = message.len() + head.piece_bytes;
        message.extend(words[..count].iter().flat_map(|word| word.to_le_bytes()));
        message.truncate(end);
    }

    /// Whether the caller sleeps on the turn, or is about to.
    pub fn is_waiting(&self) -> bool {
        self.words[WAITING].load(SeqCst) != 0
    }

    /// Records whether the caller sleeps on the turn.
    pub fn set_waiting(&self, waiting: bool) {
        self.words[WAITING].store(waiting.into(), SeqCst);
    }

    /// Writes arbitrary words into the slot, as a broken process might.
    #[cfg(test)]
    pub fn scribble(&self, turn: u32, words: &[u64]) {
        for (to, word) in self.words[HEAD..].iter().zip(words) {
            to.store(*word, Relaxed);
        }
        self.turn.store(turn, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_length_arrive_on_the_other_side() {
        let server = Segment::create().expect("memory");
        let file = server.file().try_clone_to_owned().expect("descriptors can be copied");
        let caller = Segment::map(file).expect("the same memory");
        let bytes: Vec<u8> = (0..PIECE_BYTES_MAX).map(|n| n as u8).collect();
        for length in (0..40).chain(PIECE_BYTES_MAX - 9..=PIECE_BYTES_MAX) {
            let head = Head {
                kind: Kind::Request,
                code: 0xfedc,
                piece_bytes: length,
                total_bytes: MESSAGE_BYTES_MAX,
                sequence: u64::MAX,
            };
            let mut message = vec![7];
            caller.slot(63).hand_over(length as u32, &head, &bytes[..length]);
            let slot = server.slot(63);
            assert_eq!((slot.turn(), slot.head()), (length as u32, Some(head)));
            slot.take_piece(&head, &mut message);
            assert_eq!((message[0], &message[1..]), (7, &bytes[..length]), "{length}");
        }
        assert!(server.slot(62).head().is_none());
    }

    #[test]
    fn heads_that_make_no_sense_are_none() {
        let head = Head { kind: Kind::Fetch, code: 1, piece_bytes: 8, total_bytes: 8, sequence: 3 };
        let word = head.word();
        assert_eq!(Head::of_words(word, 8, 3), Some(head));
        let too_long = PIECE_BYTES_MAX as u64 + 1;
        assert_eq!(Head::of_words(word & 0xffff_ffff | too_long << 32, 8, 3), None);
        assert_eq!(Head::of_words(word, MESSAGE_BYTES_MAX as u64 + 1, 3), None);
        assert_eq!(Head::of_words(0, 8, 3), None);
        assert_eq!(Head::of_words(5, 8, 3), None);
    }

    #[test]
    fn who_posts_learns_whether_the_server_sleeps() {
        let segment = Segment::create().expect("memory");
        assert!(!segment.post(0) && segment.has_posted());
        segment.set_sleeping(true);
        assert!(segment.post(63));
        assert_eq!(segment.take_posted(), 1 << 63 | 1);
        assert!(!segment.has_posted());
        segment.set_sleeping(false);
        assert!(!segment.post(5));
    }
}
