//! What a memory server does with a request.

use crate::batch::Batch;
use crate::env::Fabric;
use crate::error::{CallError, FabricError};
use crate::identity::{Admission, Refusal};
use crate::local::{LocalEnv, LocalWorld, run_now};
use crate::service::{Answer, AnswerRecord, Arrival};
use crate::tcp::answer;
use crate::tcp::frame::{self, ANSWER_HEADER, CALL_BYTES_MAX, Head, REQUEST_HEADER, kind};
use crate::tcp::message::{self, Request};
use crate::tcp::request::{self, Decoded, Malformed};
use layout::{GlobalPtr, RegionId};
use std::sync::Arc;

/// Carries out the requests of all connections of a port, one after another.
pub(super) struct Carrier {
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

    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The endpoint by which verbs are carried out: its counters tell what arrived.
    pub fn env(&self) -> &LocalEnv {
        &self.env
    }

    /// Carries out a frame of `caller` and appends its answer. A refusal ends the connection.
    #[inline]
    pub fn carry_out(
        &mut self,
        caller: u64,
        frame: &[u64],
        to: &mut Vec<u64>,
    ) -> Result<(), Refusal> {
        let [head, epoch, key, sequence, body @ ..] = frame else {
            return Err(no_request());
        };
        if !self.admission.is_current(*epoch, *key, caller) {
            return Err(self.outdated(*epoch));
        }
        let start = to.len();
        to.extend([0, *sequence]);
        let kind = match Head::parse(*head, REQUEST_HEADER).map(|head| head.kind) {
            Some(kind::BATCH) => self.batch(body, to),
            Some(kind::CALL) => self.call(body, to),
            _ => Err(Malformed),
        };
        let Ok(kind) = kind else {
            to.truncate(start);
            return Err(no_request());
        };
        frame::close(to, start, kind);
        Ok(())
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
        let answer = match self.record.arrive(request.id) {
            Arrival::Handle => {
                let answer = self.handle(&request);
                self.record.record(request.id, answer.clone());
                answer
            }
            Arrival::Repeat(answer) => answer,
            Arrival::Stale => {
                Err(CallError::Refused("the caller has made a later call meanwhile".to_owned()))
            }
        };
        message::encode_answer(&answer, to);
        Ok(kind::ANSWERED)
    }

    /// Handlers of a memory server touch its own region only, so that they never wait.
    fn handle(&self, request: &Request<'_>) -> Answer {
        let handler = self.world.service(self.admission.node, request.service)?;
        // The handler's own verbs are not the caller's.
        let server = self.world.endpoint();
        let answer = run_now(handler.handle(&server, request.bytes))?;
        if answer.len() > CALL_BYTES_MAX {
            return Err(CallError::Refused(format!(
                "the answer has {} bytes, at most {CALL_BYTES_MAX} fit into a message",
                answer.len()
            )));
        }
        Ok(answer)
    }

    #[cold]
    fn outdated(&self, epoch: u64) -> Refusal {
        Refusal::new(format!(
            "the message is of epoch {epoch} or has another region's key, memory server {} is of epoch {}, in which the \
             caller is no member; read the configuration anew",
            self.admission.node.0,
            self.admission.epoch.load(std::sync::atomic::Ordering::Acquire)
        ))
    }
}

#[cold]
pub(super) fn no_request() -> Refusal {
    Refusal::new("what arrived is no request that this memory server can read")
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
