//! The clients: short transactions on few lists, recorded from the clients' view.

use history_judge::{Level, Report, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use workload::Random;
use workload::driver::TransactionResult;
use workload::recording::{Recordings, Session};

/// Lists in use at a time.
const LISTS: u64 = 4;
/// Number of a client's transactions after which new lists replace the old ones.
const ROUND: u64 = 12;
/// The largest number of operations of a transaction.
const OPERATIONS_MAX: u64 = 4;

/// The operations of a transaction, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Read(u64),
    Append(u64, i64),
}

impl Operation {
    pub fn list(self) -> u64 {
        match self {
            Self::Read(list) | Self::Append(list, _) => list,
        }
    }
}

/// The result of a transaction, with the results of its reads in order.
pub enum Ended {
    Committed(Vec<Vec<i64>>),
    Aborted,
    Unknown,
}

/// A client with its recording.
pub struct Client {
    random: Random,
    session: RefCell<Session>,
    transactions: u64,
}

impl Client {
    pub fn new(recordings: &Recordings, seed: u64, number: u64) -> Self {
        let random = Random::stream(seed, 1, number);
        Self { random, session: RefCell::new(recordings.open()), transactions: 0 }
    }

    /// The operations of the next transaction.
    pub fn draw(&mut self) -> Vec<Operation> {
        let first = self.transactions / ROUND * LISTS;
        self.transactions += 1;
        let count = 1 + self.random.below(OPERATIONS_MAX);
        let session = self.session.get_mut();
        let mut operation = |_| {
            let list = first + self.random.below(LISTS);
            match self.random.percent(50) {
                true => Operation::Read(list),
                false => Operation::Append(list, session.value()),
            }
        };
        (0..count).map(&mut operation).collect()
    }

    pub fn begin(&self, now_ns: u64) {
        self.session.borrow_mut().begin(now_ns);
    }

    pub fn end(&self, now_ns: u64, operations: &[Operation], ended: Ended) {
        let mut session = self.session.borrow_mut();
        let (result, seen) = match ended {
            Ended::Committed(seen) => (TransactionResult::Committed, seen),
            Ended::Aborted => (TransactionResult::RolledBack, Vec::new()),
            Ended::Unknown => (TransactionResult::Unknown, Vec::new()),
        };
        let mut seen = seen.into_iter();
        for &operation in operations {
            match operation {
                Operation::Append(list, value) => session.append(list, value),
                Operation::Read(list) => {
                    if let Some(elements) = seen.next() {
                        session.read_list(list, &elements);
                    }
                }
            }
        }
        session.end(now_ns, &Ok(result));
    }
}

/// Executes operations on lists; returns the results of the reads, and leaves the changed lists in
/// `lists`.
pub fn carry_out(operations: &[Operation], lists: &mut BTreeMap<u64, Vec<i64>>) -> Vec<Vec<i64>> {
    let mut seen = Vec::new();
    for &operation in operations {
        let list = lists.entry(operation.list()).or_default();
        match operation {
            Operation::Read(_) => seen.push(list.clone()),
            Operation::Append(_, value) => list.push(value),
        }
    }
    seen
}

/// The lists that a transaction touches, each once.
pub fn touched(operations: &[Operation]) -> Vec<u64> {
    let mut lists: Vec<u64> = operations.iter().map(|operation| operation.list()).collect();
    lists.sort_unstable();
    lists.dedup();
    lists
}

pub fn is_changed(operations: &[Operation], list: u64) -> bool {
    operations.iter().any(|&operation| matches!(operation, Operation::Append(to, _) if to == list))
}

/// The judge's report on a history in which many transactions have committed.
pub fn judged(recordings: &Recordings, committed_min: usize, identity: &str) -> Report {
    let report = history_judge::judge(&recordings.history()).expect("the history can be judged");
    let committed = report.counts.committed;
    assert!(committed >= committed_min, "{identity}: only {committed} have committed");
    report
}

pub fn is_snapshot(report: &Report) -> bool {
    report.verdict(Level::Snapshot) == &Verdict::Holds
}
