//! Executes the requests of a compute server: calls only, each as a task of the engine that the
//! port is attached to.
//!
//! Handlers wait for their own verbs, so calls of one connection run concurrently and are answered
//! as they end, in any order. The frame's number matches an answer to its request.
//!
//! Decision: docs/decisions/0259-a-compute-server-that-is-called-is-a-node-with-a-port-and-no.md

use crate::env::Env;
use crate::error::CallError;
use crate::identity::{Admission, Refusal, named};
use crate::service::{Answer, AnswerRecord, CallId, Services};
use crate::tcp::carry::{
    Carried, Carry, Opened, Origin, answered_before, fitting, no_request, open,
};
use crate::tcp::frame::{self, kind};
use crate::tcp::message::{self, Request};
use crate::tcp::request::Malformed;
use crate::tcp::under_way::CallsUnderWay;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Receives calls, and runs their handlers as tasks of `E`.
pub struct Desk<E: Env> {
    admission: Arc<Admission>,
    env: E,
    services: Services<E>,
    record: AnswerRecord,
    under_way: CallsUnderWay,
    ended: Rc<RefCell<VecDeque<Ended>>>,
}

/// A call whose handler has ended.
struct Ended {
    to: Origin,
    sequence: u64,
    id: CallId,
    answer: Answer,
}

impl<E: Env> Desk<E> {
    pub(super) fn new(admission: Arc<Admission>, env: E, services: Services<E>) -> Self {
        let (record, under_way, ended) = Default::default();
        Self { admission, env, services, record, under_way, ended }
    }

    /// The calls whose handlers run.
    pub(super) fn under_way(&self) -> &CallsUnderWay {
        &self.under_way
    }

    /// The answer, if it is recorded; otherwise starts the handler.
    fn begin(&mut self, to: Origin, sequence: u64, request: &Request<'_>) -> Option<Answer> {
        let (id, node) = (request.id, self.admission.node);
        let known = answered_before(&self.record, id);
        if known.is_some() {
            return known;
        }
        let Some(service) = self.services.get(&request.service).cloned() else {
            return Some(Err(CallError::NoSuchService(node, request.service)));
        };
        if !self.under_way.begin(id, to.caller) {
            let twice = "the same call is already being executed";
            return Some(Err(CallError::Refused(twice.to_owned())));
        }
        let (env, ended, bytes) = (self.env.clone(), self.ended.clone(), request.bytes.to_vec());
        self.env.spawn(async move {
            let answer = service.handle(&env, &bytes).await;
            ended.borrow_mut().push_back(Ended { to, sequence, id, answer });
        });
        None
    }
}

impl<E: Env> Carry for Desk<E> {
    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn carry_out(
        &mut self,
        from: Origin,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<Carried, Refusal> {
        let Opened { kind, sequence, body } = open(&self.admission, from.caller, frame)?;
        if kind == kind::BATCH {
            let node = named(self.admission.node);
            return Err(Refusal::new(format!(
                "{node} has no region: it accepts calls but no verbs"
            )));
        }
        let request = match kind {
            kind::CALL => message::decode_request(body).map_err(|Malformed| no_request())?,
            _ => return Err(no_request()),
        };
        match self.begin(from, sequence, &request) {
            Some(answer) => {
                put(sequence, &answer, to);
                Ok(Carried::Answered)
            }
            None => Ok(Carried::Begun),
        }
    }

    fn late(&self) -> Option<Origin> {
        self.ended.borrow().front().map(|ended| ended.to)
    }

    fn put_late(&mut self, to: Option<&mut Vec<u64>>) {
        let Some(ended) = self.ended.borrow_mut().pop_front() else { return };
        let answer = fitting(ended.answer);
        if let Some(to) = to {
            put(ended.sequence, &answer, to);
        }
        self.under_way.end(ended.id);
        self.record.record(ended.id, answer);
    }
}

/// Appends the frame that answers the call in frame `sequence`.
fn put(sequence: u64, answer: &Answer, to: &mut Vec<u64>) {
    let start = to.len();
    to.extend([0, sequence]);
    message::encode_answer(answer, to);
    frame::close(to, start, kind::ANSWERED);
}
