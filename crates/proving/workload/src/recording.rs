//! Histories of a run's sessions: every attempt of every transaction, with the times between which
//! it ran and its results for the client.
//!
//! Each session records separately; the histories are merged after the run. An attempt that never
//! ended, because its client was killed or gave up, is recorded with unknown outcome.

use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use history_judge::history::{Ended, Event, HistoryBuilder, Step};
use history_judge::{History, Outcome};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::Transaction;

/// Bits for the values written by one process of a run.
const VALUE_BITS: u32 = 40;
/// Bits for the history processes of one process of a run.
const PROCESS_BITS: u32 = 32;

/// The recordings of all sessions of a run: of lists or of registers, not of both.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: Mutex<Vec<Arc<Mutex<HistoryBuilder>>>>,
    /// The histories of other processes.
    heard: Mutex<Vec<History>>,
    /// Number of values written so far; each is written once.
    values: AtomicI64,
    /// Number of processes, in the sense of histories, given out so far.
    processes: AtomicI64,
}

impl Recordings {
    /// Opens the recording of one more session.
    pub fn open(&self) -> Session {
        let builder = Arc::new(Mutex::new(HistoryBuilder::new()));
        let mut sessions = self.shared.sessions.lock().expect("no holder panics");
        sessions.push(builder.clone());
        let process = self.shared.processes.fetch_add(1, Relaxed);
        Session { shared: self.shared.clone(), builder, process, attempt: Attempt::default() }
    }

    /// Gives this process's values and history processes numbers that other parts of the run do not
    /// use.
    pub(crate) fn take_part(&self, part: u32) {
        self.shared.values.store(i64::from(part) << VALUE_BITS, Relaxed);
        self.shared.processes.store(i64::from(part) << PROCESS_BITS, Relaxed);
    }

    /// The merged history of all sessions and other processes, in the order of time, without
    /// attempts that are still running.
    pub fn history(&self) -> History {
        let sessions = self.shared.sessions.lock().expect("no holder panics");
        let finish = |session: &Arc<Mutex<HistoryBuilder>>| {
            session.lock().expect("no session panics").clone().finish()
        };
        let mut parts: Vec<History> = sessions.iter().map(finish).collect();
        parts.extend_from_slice(&self.shared.heard.lock().expect("no holder panics"));
        history_judge::merge(&parts).expect("all sessions record objects of one kind")
    }

    /// The history for another process of this host, with times of the host's clock.
    pub(crate) fn testimony(&self) -> String {
        let mut text = Vec::new();
        let history = self.history().shifted_ns(fabric::clock::ahead_of_process_ns());
        history_judge::write_edn(&history, &mut text).expect("memory takes all that is written");
        String::from_utf8(text).expect("EDN is text")
    }

    /// Takes the history of another process.
    pub(crate) fn hear(&self, testimony: &str) -> Result<(), WorkloadError> {
        let history = history_judge::read_edn(testimony.as_bytes());
        let history = history.map_err(|error| WorkloadError::Testimony(error.to_string()))?;
        let history = history.shifted_ns(-fabric::clock::ahead_of_process_ns());
        self.shared.heard.lock().expect("no holder panics").push(history);
        Ok(())
    }
}

/// The recording of one session.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    builder: Arc<Mutex<HistoryBuilder>>,
    process: i64,
    attempt: Attempt,
}

/// An attempt that has not ended, in reused buffers.
#[derive(Debug, Default)]
struct Attempt {
    invoked: Option<Event>,
    steps: Vec<Done>,
    /// The elements of all lists read.
    elements: Vec<i64>,
    /// The number of the versions that its writes make.
    version: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Done {
    Append { list: u64, value: i64 },
    ReadList { list: u64, end: usize },
    Write { register: u64, value: i64 },
    ReadValue { register: u64, value: Option<i64> },
}

impl Session {
    /// A value that no other attempt writes.
    pub fn value(&self) -> i64 {
        self.shared.values.fetch_add(1, Relaxed) + 1
    }

    /// Begins an attempt. If the previous one has not ended, its outcome is unknown.
    pub fn begin(&mut self, now_ns: u64) {
        self.leave_open();
        self.attempt.steps.clear();
        self.attempt.elements.clear();
        self.attempt.version = None;
        let mut builder = self.builder.lock().expect("no holder panics");
        self.attempt.invoked = Some(builder.event(Some(now_ns as i64)));
    }

    /// Sets the version number of this attempt's writes: among those of a register, larger is
    /// later.
    pub fn version(&mut self, version: i64) {
        self.attempt.version = Some(version);
    }

    /// Records that a value is appended to a list.
    pub fn append(&mut self, list: u64, value: i64) {
        self.attempt.steps.push(Done::Append { list, value });
    }

    /// Records that a list was read; ignored outside of attempts.
    pub fn read_list(&mut self, list: u64, elements: &[i64]) {
        if self.attempt.invoked.is_none() {
            return;
        }
        self.attempt.elements.extend_from_slice(elements);
        self.attempt.steps.push(Done::ReadList { list, end: self.attempt.elements.len() });
    }

    /// Records that a value is written into a register.
    pub fn write(&mut self, register: u64, value: i64) {
        self.attempt.steps.push(Done::Write { register, value });
    }

    /// Records that a register was read; `None` before any write.
    pub fn read_value(&mut self, register: u64, value: Option<i64>) {
        self.attempt.steps.push(Done::ReadValue { register, value });
    }

    /// Ends the attempt, with the result that its client learned.
    pub fn end(&mut self, now_ns: u64, attempt: &Result<TransactionResult, WorkloadError>) {
        let outcome = match attempt {
            Ok(TransactionResult::Committed) => Outcome::Committed,
            Ok(TransactionResult::Unknown) => Outcome::Unknown,
            // A statement that fails rolls its transaction back.
            Ok(_) | Err(_) => Outcome::Aborted,
        };
        self.close(Some(now_ns), outcome);
    }

    /// An attempt that is under way ends without a known outcome. It may still take effect, before
    /// or after the session's next operations, so it is recorded under a history process of its
    /// own.
    fn leave_open(&mut self) {
        if self.attempt.invoked.is_some() {
            let process = self.shared.processes.fetch_add(1, Relaxed);
            let process = std::mem::replace(&mut self.process, process);
            self.close(None, Outcome::Unknown);
            self.process = process;
        }
    }

    fn close(&mut self, now_ns: Option<u64>, outcome: Outcome) {
        let mut builder = self.builder.lock().expect("no holder panics");
        let mut elements = &self.attempt.elements[..];
        let mut taken = 0;
        builder.begin(outcome);
        for &done in &self.attempt.steps {
            let (key, step) = match done {
                Done::Append { list, value } => (list, Step::Append(value)),
                Done::ReadList { list, end } => {
                    let (read, rest) = elements.split_at(end - taken);
                    (elements, taken) = (rest, end);
                    (list, Step::ReadList(read))
                }
                Done::Write { register, value } => (register, Step::Write(value)),
                Done::ReadValue { register, value } => {
                    (register, value.map_or(Step::ReadInitial, Step::ReadValue))
                }
            };
            let is_write = matches!(step, Step::Write(_));
            let version = self.attempt.version.filter(|_| is_write);
            let key = builder.integer_key(key as i64);
            builder.step(key, step, version).expect("objects are of one kind");
        }
        let completed = now_ns.map(|now_ns| builder.event(Some(now_ns as i64)));
        let invoked = self.attempt.invoked.take();
        builder.end(Ended { process: Some(self.process), invoked, completed, line: 0 });
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave_open();
    }
}

/// The version number of a transaction's writes: among those of one row, larger is later. It is the
/// number of commits that the transaction's snapshot covers: of two writers of a row, the later
/// one's snapshot covers the earlier one's commit, and snapshots only grow.
#[inline]
pub(crate) fn version<E: Env>(transaction: &Transaction<'_, E>) -> i64 {
    let counters = transaction.snapshot().counters();
    counters.iter().sum::<u64>() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(recordings: &Recordings) -> Vec<Outcome> {
        recordings.history().transactions().iter().map(|ended| ended.outcome).collect()
    }

    #[test]
    fn attempts_that_did_not_end_have_an_unknown_outcome() {
        let recordings = Recordings::default();
        let mut session = recordings.open();
        session.begin(10);
        session.append(1, session.value());
        assert_eq!(outcomes(&recordings), []);
        session.begin(20);
        session.append(1, session.value());
        session.end(30, &Ok(TransactionResult::Committed));
        session.begin(40);
        session.append(1, session.value());
        drop(session);
        let mut found = outcomes(&recordings);
        found.sort_by_key(|outcome| *outcome as u8);
        assert_eq!(found, [Outcome::Committed, Outcome::Unknown, Outcome::Unknown]);
        assert_eq!(recordings.history().sessions().len(), 3);
    }
}
