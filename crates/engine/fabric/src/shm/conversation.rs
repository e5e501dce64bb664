//! The server's side of one slot: receives a request and sends the answer, piece by piece.
//!
//! Decision: docs/decisions/0074-a-call-over-shared-memory-is-a-slot-that-changes-hands.md

use crate::service::{AnswerRecord, Arrival, CallId, ServiceId};
use crate::shm::answer::encode;
use crate::shm::segment::{Head, Kind, MESSAGE_BYTES_MAX, PIECE_BYTES_MAX, Slot};
use crate::{error::CallError, service::Answer};

/// The caller has broken the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProtocolError;

/// The server's private state of a slot. None of it is in shared memory, where a broken process
/// could change it.
#[derive(Default)]
pub(super) struct Conversation {
    /// The turn at which the server returned it: even.
    turn: u32,
    progress: Progress,
}

#[derive(Default)]
enum Progress {
    #[default]
    Idle,
    /// A part of a request has arrived.
    Receiving { sequence: u64, service: u16, total_bytes: usize, request: Vec<u8> },
    /// A part of an answer was sent.
    Answering { sequence: u64, code: u16, answer: Vec<u8>, given_bytes: usize },
}

impl Conversation {
    /// If it is the server's turn, takes a piece and returns the slot; the result says whether to
    /// wake the caller. `None` if it is the caller's turn. `handle` executes a complete request.
    pub fn serve(
        &mut self,
        slot: Slot<'_>,
        session: u64,
        record: &mut AnswerRecord,
        handle: impl FnOnce(ServiceId, &[u8]) -> Answer,
    ) -> Result<Option<bool>, ProtocolError> {
        let turn = slot.turn();
        if turn == self.turn {
            return Ok(None);
        }
        if turn != self.turn.wrapping_add(1) {
            return Err(ProtocolError);
        }
        let head = slot.head().ok_or(ProtocolError)?;
        match head.kind {
            Kind::Request => self.take(slot, &head)?,
            Kind::Fetch => self.is_wanted(&head).then_some(()).ok_or(ProtocolError)?,
            Kind::More | Kind::Answer => return Err(ProtocolError),
        }
        self.answer(session, record, handle);
        self.turn = turn.wrapping_add(1);
        self.hand_back(slot, head.sequence);
        Ok(Some(slot.is_waiting()))
    }

    /// Takes a piece of a request. A piece with another number belongs to another call.
    fn take(&mut self, slot: Slot<'_>, head: &Head) -> Result<(), ProtocolError> {
        let is_next = match &self.progress {
            Progress::Receiving { sequence, service, total_bytes, .. } => {
                (*sequence, *service, *total_bytes) == (head.sequence, head.code, head.total_bytes)
            }
            _ => false,
        };
        if !is_next {
            self.progress = Progress::Receiving {
                sequence: head.sequence,
                service: head.code,
                total_bytes: head.total_bytes,
                request: Vec::new(),
            };
        }
        let Progress::Receiving { total_bytes, request, .. } = &mut self.progress else {
            unreachable!("it was set just now");
        };
        // An empty piece makes no progress, unless the request is empty.
        let is_possible = head.piece_bytes <= *total_bytes - request.len()
            && (head.piece_bytes > 0 || *total_bytes == 0);
        if !is_possible {
            return Err(ProtocolError);
        }
        slot.take_piece(head, request);
        Ok(())
    }

    fn is_wanted(&self, head: &Head) -> bool {
        match &self.progress {
            Progress::Answering { sequence, answer, given_bytes, .. } => {
                *sequence == head.sequence && *given_bytes < answer.len()
            }
            _ => false,
        }
    }

    /// Executes a complete request, unless it is a repeat.
    fn answer(
        &mut self,
        session: u64,
        record: &mut AnswerRecord,
        handle: impl FnOnce(ServiceId, &[u8]) -> Answer,
    ) {
        let Progress::Receiving { sequence, service, total_bytes, request } = &self.progress else {
            return;
        };
        if request.len() < *total_bytes {
            return;
        }
        let id = CallId { session, sequence: *sequence };
        let answer = match record.arrive(id) {
            Arrival::Handle => {
                let answer = handle(ServiceId(*service), request).and_then(bounded);
                record.record(id, answer.clone());
                answer
            }
            Arrival::Repeat(answer) => answer,
            Arrival::Stale => Err(CallError::Refused("a later call was answered".to_owned())),
        };
        let (code, answer) = encode(answer);
        self.progress = Progress::Answering { sequence: id.sequence, code, answer, given_bytes: 0 };
    }

    /// Requests the next piece of the request, or sends the next one of the answer.
    fn hand_back(&mut self, slot: Slot<'_>, sequence: u64) {
        let (turn, kind) = (self.turn, Kind::Answer);
        match &mut self.progress {
            Progress::Answering { code, answer, given_bytes, .. } => {
                let piece = &answer[*given_bytes..];
                let piece = &piece[..piece.len().min(PIECE_BYTES_MAX)];
                *given_bytes += piece.len();
                let (code, piece_bytes, total_bytes) = (*code, piece.len(), answer.len());
                let head = Head { kind, code, piece_bytes, total_bytes, sequence };
                slot.hand_over(turn, &head, piece);
            }
            _ => {
                let kind = Kind::More;
                let head = Head { kind, code: 0, piece_bytes: 0, total_bytes: 0, sequence };
                slot.hand_over(turn, &head, &[]);
            }
        }
    }
}

fn bounded(answer: Vec<u8>) -> Answer {
    if answer.len() <= MESSAGE_BYTES_MAX {
        return Ok(answer);
    }
    let sentence =
        format!("the answer has {} bytes, at most {MESSAGE_BYTES_MAX} can be sent", answer.len());
    Err(CallError::Refused(sentence))
}
