//! What clients have seen, put down as it happens: a session that is gone leaves a transaction of which nobody
//! knows how it ended.

use check::history::{Ended, Event, HistoryBuilder, Step};
use check::{History, Outcome};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The recorder of a run; clones share it.
#[derive(Clone, Default)]
pub struct Recorder(Rc<RefCell<Notes>>);

#[derive(Default)]
struct Notes {
    builder: HistoryBuilder,
    /// Transactions that have not ended, by process.
    running: BTreeMap<i64, Attempt>,
    processes: i64,
    values: i64,
}

struct Attempt {
    invoked: Event,
    steps: Vec<(u64, Done)>,
}

enum Done {
    Append(i64),
    Read(Vec<i64>),
}

impl Recorder {
    /// A process that has done nothing.
    pub fn process(&self) -> i64 {
        let notes = &mut *self.0.borrow_mut();
        notes.processes += 1;
        notes.processes
    }

    /// A value that nobody else appends.
    pub fn value(&self) -> i64 {
        let notes = &mut *self.0.borrow_mut();
        notes.values += 1;
        notes.values
    }

    /// A transaction of `process` begins.
    pub fn begin(&self, process: i64, now_ns: u64) {
        let notes = &mut *self.0.borrow_mut();
        let invoked = notes.builder.event(Some(now_ns as i64));
        let before = notes.running.insert(process, Attempt { invoked, steps: Vec::new() });
        assert!(before.is_none(), "a process runs one transaction at a time");
    }

    fn note(&self, process: i64, list: u64, done: Done) {
        let notes = &mut *self.0.borrow_mut();
        let attempt = notes.running.get_mut(&process).expect("a transaction runs");
        attempt.steps.push((list, done));
    }

    /// It has appended a value.
    pub fn append(&self, process: i64, list: u64, value: i64) {
        self.note(process, list, Done::Append(value));
    }

    /// It has read a list.
    pub fn read(&self, process: i64, list: u64, elements: Vec<i64>) {
        self.note(process, list, Done::Read(elements));
    }

    /// It has ended.
    pub fn end(&self, process: i64, outcome: Outcome, now_ns: u64) {
        let notes = &mut *self.0.borrow_mut();
        let attempt = notes.running.remove(&process).expect("a transaction runs");
        let completed = notes.builder.event(Some(now_ns as i64));
        notes.put(process, outcome, attempt, Some(completed));
    }

    /// The history; what has not ended may have happened.
    pub fn finish(&self) -> History {
        let mut notes = std::mem::take(&mut *self.0.borrow_mut());
        for (process, attempt) in std::mem::take(&mut notes.running) {
            notes.put(process, Outcome::Unknown, attempt, None);
        }
        notes.builder.finish()
    }
}

impl Notes {
    fn put(&mut self, process: i64, outcome: Outcome, attempt: Attempt, completed: Option<Event>) {
        self.builder.begin(outcome);
        for (list, done) in &attempt.steps {
            let key = self.builder.integer_key(*list as i64);
            let step = match done {
                Done::Append(value) => Step::Append(*value),
                Done::Read(elements) => Step::ReadList(elements),
            };
            self.builder.step(key, step, None).expect("there are lists only");
        }
        let invoked = Some(attempt.invoked);
        self.builder.end(Ended { process: Some(process), invoked, completed, line: 0 });
    }
}
