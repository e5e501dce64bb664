//! Two-sided calls: named services that any node may offer.
//!
//! Decision: docs/decisions/0002-verbs-are-plain-async-functions-calls-are-boxed.md

use crate::env::Env;
use crate::error::CallError;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Names a service on every node that offers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServiceId(pub u16);

/// The calling session and the number of its call: a repeat has the same pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallId {
    /// The calling endpoint's session.
    pub session: u64,
    /// Counts the session's calls from 1.
    pub sequence: u64,
}

/// The future of a handler, which may use the fabric.
pub type Reply<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, CallError>> + 'a>>;

/// A named service. Handlers run concurrently in every world and synchronise through region words
/// only; any other state is private to the node and guarded by its own locks, which are never held
/// across an await.
pub trait Service<E: Env>: Send + Sync {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a>;
}

/// The services of a node.
pub type Services<E> = BTreeMap<ServiceId, Arc<dyn Service<E>>>;

/// Number of sessions whose latest answers a node keeps.
pub const RECORDED_SESSIONS_MAX: usize = 16 * 1024;
/// Limit on the bytes of these answers; the latest one is kept whatever its length.
pub const RECORDED_BYTES_MAX: usize = 64 << 20;

/// The answers of a node, so that a repeated call is answered from here instead of executed again.
///
/// Calls are repeated soon or never, so above the limits the oldest answers are dropped.
#[derive(Debug, Default)]
pub struct AnswerRecord {
    answers: BTreeMap<u64, Recorded>,
    /// Sessions, ordered by the number of their latest answer.
    order: BTreeMap<u64, u64>,
    count: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Recorded {
    sequence: u64,
    answer: Answer,
    /// Number of the answer, counted per node.
    number: u64,
}

/// The result of a call.
pub type Answer = Result<Vec<u8>, CallError>;

/// How a node treats an arriving call.
#[derive(Debug, PartialEq)]
pub enum Arrival {
    /// First arrival: execute it, then record the answer.
    Handle,
    /// Answered before: send this answer again.
    Repeat(Answer),
    /// Older than the session's latest call, whose sender has given up on this one.
    Stale,
}

impl AnswerRecord {
    pub fn arrive(&self, id: CallId) -> Arrival {
        match self.answers.get(&id.session) {
            Some(last) if last.sequence == id.sequence => Arrival::Repeat(last.answer.clone()),
            Some(last) if last.sequence > id.sequence => Arrival::Stale,
            _ => Arrival::Handle,
        }
    }

    /// Keeps the answer to a session's latest call. An answer that comes after that of a later call
    /// is dropped, since the caller has given up on it.
    pub fn record(&mut self, id: CallId, answer: Answer) {
        if self.answers.get(&id.session).is_some_and(|last| last.sequence > id.sequence) {
            return;
        }
        self.forget(id.session);
        self.count += 1;
        let number = self.count;
        self.bytes += bytes(&answer);
        self.order.insert(number, id.session);
        self.answers.insert(id.session, Recorded { sequence: id.sequence, answer, number });
        while self.answers.len() > RECORDED_SESSIONS_MAX
            || self.bytes > RECORDED_BYTES_MAX && self.answers.len() > 1
        {
            let oldest = self.order.first_key_value().map(|(_, session)| *session);
            self.forget(oldest.expect("each answer has its place in the order"));
        }
    }

    fn forget(&mut self, session: u64) {
        if let Some(recorded) = self.answers.remove(&session) {
            self.order.remove(&recorded.number);
            self.bytes -= bytes(&recorded.answer);
        }
    }
}

fn bytes(answer: &Answer) -> usize {
    answer.as_ref().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_call_is_answered_from_the_record() {
        let mut record = AnswerRecord::default();
        let id = CallId { session: 3, sequence: 7 };
        assert_eq!(record.arrive(id), Arrival::Handle);
        record.record(id, Ok(vec![1]));
        assert_eq!(record.arrive(id), Arrival::Repeat(Ok(vec![1])));
        assert_eq!(record.arrive(CallId { sequence: 6, ..id }), Arrival::Stale);
        assert_eq!(record.arrive(CallId { sequence: 8, ..id }), Arrival::Handle);
        record.record(CallId { sequence: 6, ..id }, Ok(vec![2]));
        assert_eq!(record.arrive(id), Arrival::Repeat(Ok(vec![1])), "an answer that came late");
    }

    #[test]
    fn the_oldest_answers_go_when_there_are_too_many() {
        let mut record = AnswerRecord::default();
        let id = |session| CallId { session, sequence: 1 };
        for session in 0..RECORDED_SESSIONS_MAX as u64 {
            record.record(id(session), Ok(Vec::new()));
        }
        record.record(CallId { session: 0, sequence: 2 }, Ok(Vec::new()));
        record.record(id(1 << 40), Ok(Vec::new()));
        assert_eq!(record.arrive(id(1)), Arrival::Handle, "the oldest is forgotten");
        assert_eq!(record.arrive(id(0)), Arrival::Stale, "session 0 has called since");
        assert_eq!(record.arrive(id(2)), Arrival::Repeat(Ok(Vec::new())));
    }

    #[test]
    fn answers_are_forgotten_for_their_length_but_never_the_latest() {
        let mut record = AnswerRecord::default();
        let id = |session| CallId { session, sequence: 1 };
        record.record(id(1), Ok(vec![1; RECORDED_BYTES_MAX - 10]));
        record.record(id(2), Ok(vec![2; 10]));
        assert_ne!(record.arrive(id(1)), Arrival::Handle);
        record.record(id(3), Ok(vec![3; RECORDED_BYTES_MAX + 1]));
        let known = [1, 2, 3].map(|session| record.arrive(id(session)) != Arrival::Handle);
        assert_eq!(known, [false, false, true]);
        record.record(id(4), Ok(vec![4]));
        assert_eq!(record.arrive(id(3)), Arrival::Handle);
        assert_eq!(record.bytes, 1);
    }
}
