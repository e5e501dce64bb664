//! The owner's execution of a manager's requests.
//!
//! Decision: docs/decisions/0132-owners-of-trad-si-refuse-instead-of-waiting.md

use super::cluster::Server;
use super::partition::{Partition, TooOld};
use super::request::OwnerRequest;
use crate::Work;
use crate::message::Writer;
use crate::row_key::RowKey;
use fabric::{Env, Reply, Service};
use std::sync::Arc;

/// The first byte of an answer that has the requested data.
pub(super) const DONE: u8 = 0;
/// The first byte of an answer that reports a conflict.
pub(super) const REFUSED: u8 = 1;
/// The first byte of an answer that reports a snapshot that is too old.
pub(super) const TOO_OLD: u8 = 2;

pub(super) struct Owner<E> {
    pub(super) server: Arc<Server>,
    pub(super) work: Work<E>,
}

impl<E: Env> Service<E> for Owner<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let request = OwnerRequest::decode(request)?;
            let (answer, rows) = carry_out(&mut self.server.partition(), request);
            (self.work)(env, rows);
            Ok(answer)
        })
    }
}

/// Executes a request atomically. Returns the answer, and the number of rows read or written.
pub(super) fn carry_out(partition: &mut Partition, request: OwnerRequest) -> (Vec<u8>, u64) {
    let mut answer = Writer::new();
    let mut rows = 0;
    match request {
        OwnerRequest::Read { read_timestamp, keys } => {
            rows = keys.len() as u64;
            return (read(partition, read_timestamp, keys), rows);
        }
        OwnerRequest::Scan { read_timestamp, range } => {
            match partition.range(&range, read_timestamp) {
                Err(TooOld) => answer.u8(TOO_OLD),
                Ok(found) => {
                    rows = found.len() as u64;
                    answer.u8(DONE);
                    answer.u32(found.len() as u32);
                    for (number, content) in found {
                        answer.u64(number);
                        answer.string(content);
                    }
                }
            }
        }
        OwnerRequest::Named { partition: part, table, name } => {
            let numbers = partition.named(part, table, &name);
            rows = 1;
            answer.u8(DONE);
            answer.u32(numbers.len() as u32);
            numbers.iter().for_each(|number| answer.u64(*number));
        }
        OwnerRequest::Prepare { transaction, read_timestamp, writes } => {
            rows = writes.len() as u64;
            let may_commit = partition.prepare(transaction, read_timestamp, writes);
            answer.u8(if may_commit { DONE } else { REFUSED });
        }
        OwnerRequest::Commit { transaction, timestamp } => {
            partition.commit(transaction, timestamp);
            answer.u8(DONE);
        }
        OwnerRequest::Abort { transaction } => {
            partition.abort(transaction);
            answer.u8(DONE);
        }
    }
    (answer.finish(), rows)
}

fn read(partition: &Partition, read_timestamp: u64, keys: Vec<RowKey>) -> Vec<u8> {
    let mut answer = Writer::new();
    answer.u8(DONE);
    for key in keys {
        match partition.read(key, read_timestamp) {
            Ok(content) => answer.optional(content),
            Err(TooOld) => return vec![TOO_OLD],
        }
    }
    answer.finish()
}
