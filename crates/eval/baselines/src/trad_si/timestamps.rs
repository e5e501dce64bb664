//! The timestamps of all servers, kept by one of them.
//!
//! Decision: docs/decisions/0132-owners-of-trad-si-refuse-instead-of-waiting.md

use super::cluster::{Cluster, Snapshots, TOLD};
use super::request::TimestampRequest;
use crate::message::{Reader, Writer};
use fabric::{Env, Reply, Service};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The read timestamp, commit timestamps, and the transactions that have ended.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    /// All transactions up to this commit timestamp have ended.
    read: u64,
    /// The largest commit timestamp that was drawn.
    drawn: u64,
    /// Ended transactions after one that has not ended.
    ended: BTreeSet<u64>,
}

impl Timestamps {
    pub(super) fn carry_out(&mut self, request: TimestampRequest) -> u64 {
        match request {
            TimestampRequest::Read => self.read,
            TimestampRequest::Draw => {
                self.drawn += 1;
                self.drawn
            }
            TimestampRequest::Ended(timestamp) => {
                assert!(timestamp <= self.drawn, "only a drawn timestamp can end");
                self.ended.insert(timestamp);
                while self.ended.remove(&(self.read + 1)) {
                    self.read += 1;
                }
                self.read
            }
        }
    }
}

/// The keeper of the timestamps, and the servers that it informs.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) cluster: Cluster,
    pub(super) timestamps: Mutex<Timestamps>,
    /// The read timestamp that the server of the same node has learned.
    pub(super) own: Option<Arc<AtomicU64>>,
}

impl Keeper {
    /// Executes a request; `env` is of the keeper's node.
    pub(super) fn carry_out<E: Env>(&self, env: &E, request: TimestampRequest) -> u64 {
        let mut timestamps = self.timestamps.lock().expect("no holder panics");
        let before = timestamps.read;
        let answer = timestamps.carry_out(request);
        let read = timestamps.read;
        drop(timestamps);
        if read > before && self.cluster.snapshots == Snapshots::Told {
            self.inform_servers(env, read);
        }
        answer
    }

    /// Informs every server of a read timestamp.
    fn inform_servers<E: Env>(&self, env: &E, read: u64) {
        for &node in &self.cluster.servers {
            if let Some(own) = self.own.as_ref().filter(|_| node == self.cluster.timestamps) {
                own.fetch_max(read, Relaxed);
                continue;
            }
            let (from, mut message) = (env.clone(), Writer::new());
            message.u64(read);
            env.spawn(async move {
                // A server that is down begins no transaction.
                let _ = from.call(node, TOLD, message.finish()).await;
            });
        }
    }
}

/// The service of the keeper of the timestamps.
pub(super) struct TimestampService(pub(super) Arc<Keeper>);

impl<E: Env> Service<E> for TimestampService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let request = TimestampRequest::decode(request)?;
            let mut answer = Writer::new();
            answer.u64(self.0.carry_out(env, request));
            Ok(answer.finish())
        })
    }
}

/// The service of servers that learn of read timestamps.
pub(super) struct ToldService(pub(super) Arc<AtomicU64>);

impl<E: Env> Service<E> for ToldService {
    fn handle<'a>(&'a self, _env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            // Messages may overtake each other: the larger timestamp is the later one.
            self.0.fetch_max(Reader::new(request).u64()?, Relaxed);
            Ok(Vec::new())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_timestamp_waits_for_running_transactions() {
        let mut timestamps = Timestamps::default();
        let mut ask = |request| timestamps.carry_out(request);
        assert_eq!([ask(TimestampRequest::Draw), ask(TimestampRequest::Draw)], [1, 2]);
        assert_eq!(ask(TimestampRequest::Ended(2)), 0);
        assert_eq!(ask(TimestampRequest::Read), 0);
        assert_eq!(ask(TimestampRequest::Ended(1)), 2);
    }
}
