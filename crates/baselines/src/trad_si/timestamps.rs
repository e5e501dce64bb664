//! The timestamps of all servers, kept by one of them.

use super::request::TimestampRequest;
use crate::message::Writer;
use fabric::{Env, Reply, Service};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Read timestamp, commit timestamps, and which transactions have ended.
#[derive(Debug, Default)]
pub(super) struct Timestamps {
    /// All transactions up to this commit timestamp have ended.
    read: u64,
    /// The largest commit timestamp that was drawn.
    drawn: u64,
    /// Ended, but later than one that has not.
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
                assert!(timestamp <= self.drawn, "what ends was drawn");
                self.ended.insert(timestamp);
                while self.ended.remove(&(self.read + 1)) {
                    self.read += 1;
                }
                self.read
            }
        }
    }
}

/// The service of whoever keeps the timestamps.
pub(super) struct TimestampService(pub(super) Arc<Mutex<Timestamps>>);

impl<E: Env> Service<E> for TimestampService {
    fn handle<'a>(&'a self, _env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let request = TimestampRequest::decode(request)?;
            let mut timestamps = self.0.lock().expect("no holder panics");
            let mut answer = Writer::new();
            answer.u64(timestamps.carry_out(request));
            Ok(answer.finish())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_timestamp_passes_nobody_who_has_not_ended() {
        let mut timestamps = Timestamps::default();
        let mut ask = |request| timestamps.carry_out(request);
        assert_eq!([ask(TimestampRequest::Draw), ask(TimestampRequest::Draw)], [1, 2]);
        assert_eq!(ask(TimestampRequest::Ended(2)), 0);
        assert_eq!(ask(TimestampRequest::Read), 0);
        assert_eq!(ask(TimestampRequest::Ended(1)), 2);
    }
}
