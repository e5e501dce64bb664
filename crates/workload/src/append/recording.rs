//! What the sessions of a run remember: every attempt of every transaction, with the times between which
//! it ran and what its client saw of it.
//!
//! A session records for itself; the histories are put together when the run is over.

use check::history::{Ended, Event, HistoryBuilder, Step};
use check::{History, Outcome};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The recordings of all sessions of a run.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sessions: Mutex<Vec<Arc<Mutex<HistoryBuilder>>>>,
    /// Values that were appended so far: each is appended once.
    values: AtomicI64,
}

impl Recordings {
    /// Opens the recording of one more session.
    pub(super) fn open(&self) -> Session {
        let builder = Arc::new(Mutex::new(HistoryBuilder::new()));
        let mut sessions = self.shared.sessions.lock().expect("no holder panics");
        sessions.push(builder.clone());
        let process = sessions.len() as i64 - 1;
        Session { shared: self.shared.clone(), builder, process, attempt: Attempt::default() }
    }

    /// What all sessions have recorded, in the order of time.
    pub fn history(&self) -> History {
        let sessions = self.shared.sessions.lock().expect("no holder panics");
        let finish = |session: &Arc<Mutex<HistoryBuilder>>| {
            session.lock().expect("no session panics").clone().finish()
        };
        let parts: Vec<History> = sessions.iter().map(finish).collect();
        check::merge(&parts).expect("all sessions record lists")
    }
}

/// The recording of one session.
#[derive(Debug)]
pub(super) struct Session {
    shared: Arc<Shared>,
    builder: Arc<Mutex<HistoryBuilder>>,
    process: i64,
    attempt: Attempt,
}

/// An attempt that has not ended, in buffers that are used again.
#[derive(Debug, Default)]
struct Attempt {
    invoked: Option<Event>,
    steps: Vec<Done>,
    /// The elements of all lists read.
    elements: Vec<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Done {
    Append { list: u64, value: i64 },
    Read { list: u64, end: usize },
}

impl Session {
    /// A value that nobody else appends.
    pub(super) fn value(&self) -> i64 {
        self.shared.values.fetch_add(1, Relaxed) + 1
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.attempt.steps.clear();
        self.attempt.elements.clear();
        let mut builder = self.builder.lock().expect("no holder panics");
        self.attempt.invoked = Some(builder.event(Some(now_ns as i64)));
    }

    /// A value was appended.
    pub(super) fn append(&mut self, list: u64, value: i64) {
        self.attempt.steps.push(Done::Append { list, value });
    }

    /// A list was read; outside of attempts nothing is remembered.
    pub(super) fn read(&mut self, list: u64, elements: &[i64]) {
        if self.attempt.invoked.is_none() {
            return;
        }
        self.attempt.elements.extend_from_slice(elements);
        self.attempt.steps.push(Done::Read { list, end: self.attempt.elements.len() });
    }

    /// The attempt has ended.
    pub(super) fn end(&mut self, now_ns: u64, outcome: Outcome) {
        let mut builder = self.builder.lock().expect("no holder panics");
        let mut elements = &self.attempt.elements[..];
        let mut taken = 0;
        builder.begin(outcome);
        for &done in &self.attempt.steps {
            let (list, step) = match done {
                Done::Append { list, value } => (list, Step::Append(value)),
                Done::Read { list, end } => {
                    let (read, rest) = elements.split_at(end - taken);
                    (elements, taken) = (rest, end);
                    (list, Step::ReadList(read))
                }
            };
            let key = builder.integer_key(list as i64);
            builder.step(key, step, None).expect("there are lists only");
        }
        let completed = Some(builder.event(Some(now_ns as i64)));
        let invoked = self.attempt.invoked.take();
        builder.end(Ended { process: Some(self.process), invoked, completed, line: 0 });
    }
}
