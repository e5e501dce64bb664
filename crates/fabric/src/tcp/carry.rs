//! What a server does with a request: a memory server at once, here; a compute server later (`desk`).

use crate::batch::Batch;
use crate::env::Fabric;
use crate::error::{CallError, FabricError};
use crate::identity::{Admission, Refusal, named};
use crate::local::{LocalEnv, LocalWorld, run_now};
use crate::service::{Answer, AnswerRecord, Arrival, CallId};
use crate::tcp::answer;
use crate::tcp::frame::{self, ANSWER_HEADER, CALL_BYTES_MAX, Head, REQUEST_HEADER, kind};
use crate::tcp::message::{self, Request};
use crate::tcp::request::{self, Decoded, Malformed};
use layout::{GlobalPtr, RegionId};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a port does with the requests of its connections.
pub trait Carry {
    /// Whom it serves.
    fn admission(&self) -> &Admission;

    /// Carries out a frame of a caller and appends its answer, or begins with it. A refusal ends the connection.
    fn carry_out(
        &mut self,
        from: Origin,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<Carried, Refusal>;

    /// Whom the next answer to a frame that was only begun with is for, if one is there.
    fn late(&self) -> Option<Origin> {
        None
    }

    /// Appends that answer, unless nobody is there to take it; either way it is the next no more.
    fn put_late(&mut self, _to: Option<&mut Vec<u64>>) {
        unreachable!("whoever begins with a frame answers it")
    }
}

/// Where a frame came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Place of the connection in its port.
    pub place: usize,
    /// Which of all connections that the port ever had.
    pub connection: u64,
    /// The identity of the caller.
    pub caller: u64,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// Its answer was appended.
    Answered,
    /// The answer comes later.
    Begun,
}

/// A request that may be carried out.
pub(super) struct Opened<'a> {
    pub kind: u8,
    pub sequence: u64,
    pub body: &'a [u64],
}

/// Takes a frame of `caller` apart, if it is one of somebody who is served.
#[inline]
pub(super) fn open<'a>(
    admission: &Admission,
    caller: u64,
    frame: &'a [u64],
) -> Result<Opened<'a>, Refusal> {
    let [head, epoch, key, sequence, body @ ..] = frame else {
        return Err(no_request());
    };
    if !admission.is_current(*epoch, *key, caller) {
        return Err(outdated(admission, *epoch));
    }
    let head = Head::parse(*head, REQUEST_HEADER).ok_or_else(no_request)?;
    Ok(Opened { kind: head.kind, sequence: *sequence, body })
}

/// What a call is answered that needs no handler; none if it does.
pub(super) fn answered_before(record: &AnswerRecord, id: CallId) -> Option<Answer> {
    match record.arrive(id) {
        Arrival::Handle => None,
        Arrival::Repeat(answer) => Some(answer),
        Arrival::Stale => {
            let stale = "the caller has made a later call meanwhile";
            Some(Err(CallError::Refused(stale.to_owned())))
        }
    }
}

/// An answer that fits into a message.
pub(super) fn fitting(answer: Answer) -> Answer {
    match answer {
        Ok(bytes) if bytes.len() > CALL_BYTES_MAX => Err(CallError::Refused(format!(
            "the answer has {} bytes, at most {CALL_BYTES_MAX} fit into a message",
            bytes.len()
        ))),
        answer => answer,
    }
}

/// Carries out the requests of all connections of a memory server's port, one after another.
pub struct Carrier {
    admission: Arc<Admission>,
    world: Arc<LocalWorld>,
    env: LocalEnv,
    /// Kept from request to request, so that none allocates.
    batch: Batch,
    record: AnswerRecord,
}

impl Carrier {
    pub fn new(world: Arc<LocalWorld>, admission: Arc<Admission>) -> Self {
        let env = world.endpoint();
        Self { admission, world, env, batch: Batch::new(), record: AnswerRecord::default() }
    }

    /// The endpoint by which verbs are carried out: its counters tell what arrived.
    pub fn env(&self) -> &LocalEnv {
        &self.env
    }

    #[inline]
    fn batch(&mut self, body: &[u64], to: &mut Vec<u64>) -> Result<u8, Malformed> {
        self.batch.reset();
        let region = RegionId(self.admission.node.0);
        let decoded = request::decode(body, region, &mut self.batch)?;
        let executed = self.env.execute_now(&mut self.batch);
        match (decoded, executed) {
            (Decoded::Verbs, Ok(())) => {
                let (verbs, arena) = self.batch.parts_mut();
                verbs.iter().for_each(|verb| answer::encode(verb, arena, to));
                Ok(kind::DONE)
            }
            (_, Err(FabricError::OutOfRange { at, words }))
            | (Decoded::OutOfRange(at, words), Ok(())) => Ok(out_of_range(at, words, to)),
            // The region is being taken away, and the server ends.
            (_, Err(_)) => Err(Malformed),
        }
    }

    fn call(&mut self, body: &[u64], to: &mut Vec<u64>) -> Result<u8, Malformed> {
        let request = message::decode_request(body)?;
        let answer = answered_before(&self.record, request.id).unwrap_or_else(|| {
            let answer = self.handle(&request);
            self.record.record(request.id, answer.clone());
            answer
        });
        message::encode_answer(&answer, to);
        Ok(kind::ANSWERED)
    }

    /// Handlers of a memory server touch its own region only, so that they never wait.
    fn handle(&self, request: &Request<'_>) -> Answer {
        let handler = self.world.service(self.admission.node, request.service)?;
        // The handler's own verbs are not the caller's.
        let server = self.world.endpoint();
        fitting(run_now(handler.handle(&server, request.bytes)))
    }
}

impl Carry for Carrier {
    fn admission(&self) -> &Admission {
        &self.admission
    }

    #[inline]
    fn carry_out(
        &mut self,
        from: Origin,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<Carried, Refusal> {
        let Opened { kind, sequence, body } = open(&self.admission, from.caller, frame)?;
        let start = to.len();
        to.extend([0, sequence]);
        let kind = match kind {
            kind::BATCH => self.batch(body, to),
            kind::CALL => self.call(body, to),
            _ => Err(Malformed),
        };
        let Ok(kind) = kind else {
            to.truncate(start);
            return Err(no_request());
        };
        frame::close(to, start, kind);
        Ok(Carried::Answered)
    }
}

#[cold]
fn outdated(admission: &Admission, epoch: u64) -> Refusal {
    Refusal::new(format!(
        "the message is of epoch {epoch} or has another key, {} is of epoch {}, in which the caller is no member; read the \
         configuration anew",
        named(admission.node),
        admission.epoch.load(Ordering::Acquire)
    ))
}

#[cold]
pub(super) fn no_request() -> Refusal {
    Refusal::new("what arrived is no request that this server can read")
}

fn out_of_range(at: GlobalPtr, words: u32, to: &mut Vec<u64>) -> u8 {
    to.extend([at.word(), u64::from(words)]);
    kind::OUT_OF_RANGE
}

/// Appends the frame that ends a connection.
pub(super) fn refuse(refusal: &Refusal, to: &mut Vec<u64>) {
    let start = to.len();
    to.extend([0; ANSWER_HEADER]);
    let bytes = refusal.encode();
    let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
    to.extend(words.map(|word| word.expect("eight bytes were taken")));
    frame::close(to, start, kind::REFUSED);
}
