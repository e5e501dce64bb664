//! Calls and answers as messages, split into pieces of at most one receive.
//!
//! ```text
//! word | field    | meaning
//!    0 | kind     | bits 0-7: kind; 16-31: the service of a call, or the node of an error
//!    1 | session  | the caller's session
//!    2 | sequence | number of the call
//!    3 | bytes    | length of the body
//!    4 | body     | padded with zeros to whole words
//! ```
//! The first piece begins with these words, and pieces of one message follow each other without
//! gap: the connection keeps their order, and no other message comes in between.

use super::VerbsError;
use super::line::MESSAGE_BYTES;
use crate::error::CallError;
use crate::service::{Answer, CallId, ServiceId};
use layout::{NodeId, WORD_BYTES};
use std::sync::atomic::AtomicU64;

const HEAD_WORDS: usize = 4;
/// Largest body in bytes. A peer that announces more is disconnected.
pub(super) const BODY_BYTES_MAX: u64 = 64 << 20;
/// Bytes of each piece except the last.
pub(super) const PIECE_BYTES: u64 = MESSAGE_BYTES as u64;

const CALL: u8 = 1;
const ANSWERED: u8 = 2;
const NO_SUCH_SERVICE: u8 = 3;
const UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;

/// A call, or the answer to one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Message {
    Call { id: CallId, service: ServiceId, request: Vec<u8> },
    Answer { id: CallId, answer: Answer },
}

/// The words of a call.
pub(super) fn call(id: CallId, service: ServiceId, request: &[u8], into: &mut Vec<u64>) {
    encode(CALL, service.0, id, request, into);
}

/// The words of an answer. `Malformed` becomes a refusal with the same message, and so does an
/// answer that is too long.
pub(super) fn answer(id: CallId, answer: &Answer, into: &mut Vec<u64>) {
    match answer {
        Ok(bytes) if bytes.len() as u64 > BODY_BYTES_MAX => {
            encode(REFUSED, 0, id, too_long("an answer", bytes.len()).as_bytes(), into);
        }
        Ok(bytes) => encode(ANSWERED, 0, id, bytes, into),
        Err(CallError::NoSuchService(node, service)) => {
            encode(NO_SUCH_SERVICE, node.0, id, &service.0.to_le_bytes(), into);
        }
        Err(CallError::Unreachable(node)) => encode(UNREACHABLE, node.0, id, &[], into),
        Err(CallError::Refused(why)) => encode(REFUSED, 0, id, why.as_bytes(), into),
        Err(error) => encode(REFUSED, 0, id, error.to_string().as_bytes(), into),
    }
}

/// The error for a body that is too long.
pub(super) fn too_long(what: &str, bytes: usize) -> String {
    format!("{what} of {bytes} bytes is longer than {BODY_BYTES_MAX}")
}

fn encode(kind: u8, number: u16, id: CallId, body: &[u8], into: &mut Vec<u64>) {
    into.clear();
    let first = u64::from(kind) | u64::from(number) << 16;
    into.extend([first, id.session, id.sequence, body.len() as u64]);
    into.extend(body.chunks(WORD_BYTES as usize).map(|chunk| {
        let mut bytes = [0; WORD_BYTES as usize];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    }));
}

fn decode(words: &[u64]) -> Option<Message> {
    let (first, bytes) = (words[0], words[3] as usize);
    let id = CallId { session: words[1], sequence: words[2] };
    let mut body: Vec<u8> =
        words[HEAD_WORDS..].iter().flat_map(|word| word.to_le_bytes()).collect();
    body.truncate(bytes);
    let number = (first >> 16) as u16;
    let answer = match first as u8 {
        CALL => return Some(Message::Call { id, service: ServiceId(number), request: body }),
        ANSWERED => Ok(body),
        NO_SUCH_SERVICE => {
            let service = u16::from_le_bytes(body.try_into().ok()?);
            Err(CallError::NoSuchService(NodeId(number), ServiceId(service)))
        }
        UNREACHABLE => Err(CallError::Unreachable(NodeId(number))),
        REFUSED => Err(CallError::Refused(String::from_utf8(body).ok()?)),
        _ => return None,
    };
    Some(Message::Answer { id, answer })
}

/// Assembles messages from pieces.
#[derive(Default)]
pub(super) struct Assembly {
    words: Vec<u64>,
}

impl Assembly {
    /// Adds the next piece; returns the whole message if this was the last.
    pub(super) fn add(&mut self, piece: &[AtomicU64]) -> Result<Option<Message>, VerbsError> {
        let begun = self.words.len();
        self.words.resize(begun + piece.len(), 0);
        crate::raw::load_words(piece, &mut self.words[begun..]);
        let malformed = |what| VerbsError::system(what, std::io::ErrorKind::InvalidData.into());
        if self.words.len() < HEAD_WORDS {
            return Err(malformed("read a message shorter than its header"));
        }
        if self.words[3] > BODY_BYTES_MAX {
            return Err(malformed("accept a message of that size"));
        }
        let body_words = self.words[3].div_ceil(WORD_BYTES) as usize;
        let missing = (HEAD_WORDS + body_words).checked_sub(self.words.len());
        match missing {
            None => Err(malformed("read a message with bytes after its end")),
            Some(0) => {
                let message = decode(&self.words);
                self.words.clear();
                Ok(Some(message.ok_or_else(|| malformed("read a message of this kind"))?))
            }
            Some(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(words: &[u64]) -> Result<Option<Message>, String> {
        let mut assembly = Assembly::default();
        let mut whole = None;
        for piece in words.chunks((PIECE_BYTES / WORD_BYTES) as usize) {
            assert!(whole.is_none(), "nothing comes behind the last piece");
            let piece: Vec<AtomicU64> = piece.iter().copied().map(AtomicU64::new).collect();
            whole = assembly.add(&piece).map_err(|error| error.to_string())?;
        }
        Ok(whole)
    }

    #[test]
    fn calls_and_answers_of_any_length_arrive_whole() {
        let id = CallId { session: 3, sequence: 9 };
        let mut words = Vec::new();
        for bytes in [0, 1, 8, 4063, 4064, 4065, 100_000] {
            let request: Vec<u8> = (0..bytes).map(|byte| byte as u8).collect();
            call(id, ServiceId(7), &request, &mut words);
            let expected = Message::Call { id, service: ServiceId(7), request };
            assert_eq!(pass(&words), Ok(Some(expected)), "{bytes} bytes");
        }
        let answers = [
            Ok(vec![1, 2, 3]),
            Err(CallError::NoSuchService(NodeId(2), ServiceId(300))),
            Err(CallError::Unreachable(NodeId(5))),
            Err(CallError::Refused("there is none".to_string())),
        ];
        for expected in answers {
            answer(id, &expected, &mut words);
            assert_eq!(pass(&words), Ok(Some(Message::Answer { id, answer: expected })));
        }
    }

    /// Otherwise its caller would take it for a broken connection.
    #[test]
    fn an_answer_that_is_too_long_is_a_refusal() {
        let id = CallId { session: 3, sequence: 9 };
        let mut words = Vec::new();
        answer(id, &Ok(vec![0; BODY_BYTES_MAX as usize + 1]), &mut words);
        let refused =
            CallError::Refused("an answer of 67108865 bytes is longer than 67108864".into());
        assert_eq!(pass(&words), Ok(Some(Message::Answer { id, answer: Err(refused) })));
    }

    #[test]
    fn messages_that_are_none_are_refused() {
        let refused = |words: &[u64]| pass(words).expect_err("it is no message");
        assert!(refused(&[1, 2]).contains("shorter than its head"));
        assert!(refused(&[1, 2, 3, u64::MAX]).contains("of that size"));
        assert!(refused(&[1, 2, 3, 0, 5]).contains("bytes after its end"));
        assert!(refused(&[99, 2, 3, 0]).contains("of this kind"));
        assert!(refused(&[3, 2, 3, 1, 5]).contains("of this kind"));
    }
}
