//! Executes requests: a memory server at once, here; a compute server as tasks, in `desk`.
//!
//! Decisions:
//! - docs/decisions/0076-a-batch-is-one-message-each-way-and-the-server-rebuilds-it.md
//! - docs/decisions/0112-over-messages-one-read-of-the-vector-is-a-snapshot.md

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

/// Executes the requests of a port's connections.
pub trait Carry {
    fn admission(&self) -> &Admission;

    /// Executes a caller's frame and appends its answer, or starts it. A refusal closes the
    /// connection.
    fn carry_out(
        &mut self,
        from: Origin,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<Carried, Refusal>;

    /// The recipient of the next answer to a started frame, if one is ready.
    fn late(&self) -> Option<Origin> {
        None
    }

    /// Takes that answer, and appends it if its connection still exists.
    fn put_late(&mut self, _to: Option<&mut Vec<u64>>) {
        unreachable!("only an implementation that starts frames answers late")
    }
}

/// The connection of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Index of the connection in its port.
    pub place: usize,
    /// Number of the connection among all that the port ever had.
    pub connection: u64,
    /// The identity of the caller.
    pub caller: u64,
}

/// The result of executing a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried {
    /// Its answer was appended.
    Answered,
    /// Its answer comes later.
    Begun,
}

/// A request that may be executed.
pub(super) struct Opened<'a> {
    pub kind: u8,
    pub sequence: u64,
    pub body: &'a [u64],
}

/// Parses a frame of `caller`, and checks that the caller is still admitted.
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

/// The answer to a call that needs no handler; `None` if it does.
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

/// Replaces an answer that is too long for a message with a refusal.
pub(super) fn fitting(answer: Answer) -> Answer {
    match answer {
        Ok(bytes) if bytes.len() > CALL_BYTES_MAX => Err(CallError::Refused(format!(
            "the answer has {} bytes, at most {CALL_BYTES_MAX} fit into a message",
            bytes.len()
        ))),
        answer => answer,
    }
}

/// Executes the requests of all connections of a memory server's port, one after another.
pub struct Carrier {
    admission: Arc<Admission>,
    world: Arc<LocalWorld>,
    env: LocalEnv,
    /// This server's region and replicas.
    regions: Vec<RegionId>,
    /// Reused by all requests, to avoid allocation.
    batch: Batch,
    record: AnswerRecord,
}

impl Carrier {
    pub fn new(world: Arc<LocalWorld>, admission: Arc<Admission>) -> Self {
        let env = world.endpoint();
        let regions = world.addresses().regions_on(admission.node).collect();
        let (batch, record) = (Batch::new(), AnswerRecord::default());
        Self { admission, world, env, regions, batch, record }
    }

    /// The endpoint that executes verbs: its counters count the requests' verbs.
    pub fn env(&self) -> &LocalEnv {
        &self.env
    }

    #[inline]
    fn batch(&mut self, body: &[u64], to: &mut Vec<u64>) -> Result<u8, Malformed> {
        self.batch.reset();
        let decoded = request::decode(body, &self.regions, &mut self.batch)?;
        let executed = self.env.execute_now(&mut self.batch);
        match (decoded, executed) {
            (Decoded::Verbs, Ok(())) => {
                let (verbs, arena) = self.batch.parts_mut();
                verbs.iter().for_each(|verb| answer::encode(verb, arena, to));
                Ok(kind::DONE)
            }
            (_, Err(FabricError::OutOfRange { at, words }))
            | (Decoded::OutOfRange(at, words), Ok(())) => Ok(out_of_range(at, words, to)),
            // The region is being revoked because the server stops.
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

    /// Handlers of a memory server access its own region only, so they never wait.
    fn handle(&self, request: &Request<'_>) -> Answer {
        let handler = self.world.service(self.admission.node, request.service)?;
        // The handler's own verbs do not count for the caller.
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
        "the message is of epoch {epoch} or has another key, {} is of epoch {}, in which the caller is not a member; read the \
         configuration again",
        named(admission.node),
        admission.epoch.load(Ordering::Acquire)
    ))
}

#[cold]
pub(super) fn no_request() -> Refusal {
    Refusal::new("the message is not a valid request")
}

fn out_of_range(at: GlobalPtr, words: u32, to: &mut Vec<u64>) -> u8 {
    to.extend([at.word(), u64::from(words)]);
    kind::OUT_OF_RANGE
}

/// Appends the frame that closes a connection.
pub(super) fn refuse(refusal: &Refusal, to: &mut Vec<u64>) {
    let start = to.len();
    to.extend([0; ANSWER_HEADER]);
    let bytes = refusal.encode();
    let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_le_bytes));
    to.extend(words.map(|word| word.expect("eight bytes were taken")));
    frame::close(to, start, kind::REFUSED);
}
