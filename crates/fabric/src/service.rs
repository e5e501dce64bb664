//! Two-sided calls: named services that any node may offer.

use crate::env::Env;
use crate::error::CallError;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

/// Names a service on every node that offers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServiceId(pub u16);

/// Who calls, and which of its calls this is: a repeat carries the same pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallId {
    /// The calling endpoint.
    pub session: u64,
    /// Counts the endpoint's calls from 1.
    pub sequence: u64,
}

/// A handler's answer. Handlers may use the fabric, so they are futures.
pub type Reply<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, CallError>> + 'a>>;

/// A named service. Handlers run concurrently in every world and synchronise through region words only;
/// what else they keep is private to the node and guarded by its own locks, never held across an await.
pub trait Service<E: Env>: Send + Sync {
    /// Answers one request.
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a>;
}

/// The answers a node has given, so that a repeated call is answered once: from here.
#[derive(Debug, Default)]
pub struct AnswerRecord {
    answers: BTreeMap<u64, (u64, Answer)>,
}

/// What became of a call.
pub type Answer = Result<Vec<u8>, CallError>;

/// What a node does with an arriving call.
#[derive(Debug, PartialEq)]
pub enum Arrival {
    /// First arrival: handle it, then record the answer.
    Handle,
    /// It was answered before: send this again.
    Repeat(Answer),
    /// It is older than the session's latest call, whose sender has given up on this one.
    Stale,
}

impl AnswerRecord {
    /// Decides about a call that arrives.
    pub fn arrive(&self, id: CallId) -> Arrival {
        match self.answers.get(&id.session) {
            Some((sequence, answer)) if *sequence == id.sequence => Arrival::Repeat(answer.clone()),
            Some((sequence, _)) if *sequence > id.sequence => Arrival::Stale,
            _ => Arrival::Handle,
        }
    }

    /// Keeps the answer to a session's latest call.
    pub fn record(&mut self, id: CallId, answer: Answer) {
        self.answers.insert(id.session, (id.sequence, answer));
    }
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
    }
}
