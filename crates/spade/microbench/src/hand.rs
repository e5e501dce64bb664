//! A hand: draws the next operation of a lane, and keeps track of the rows that it has inserted.

use crate::operation::Task;
use crate::subject::Subject;
use spade_format::measurement::{AccessPath, Operation, Parameters, Versions};
use std::collections::VecDeque;
use std::ops::Range;
use workload::Random;

/// Number of inserted rows above which the hand deletes some.
const STOCK_MAX: usize = 4096;
/// Rows per transaction that restocks or clears up without being measured.
pub const RESTOCKED: usize = 32;

/// The operation generator of one lane and one table.
#[derive(Clone, Debug)]
pub struct Hand {
    /// The range whose free keys it inserts.
    range: u64,
    /// The ranges from which it draws loaded rows.
    drawn: Range<u64>,
    /// Number of the next loaded row, counted over its ranges.
    next_row: u64,
    /// Distance between consecutive rows, chosen so that all rows are drawn before one repeats, and
    /// no two consecutive ones are neighbours.
    stride: u64,
    /// Number of cyclic updates so far.
    turns: u64,
    next_free: i64,
    /// Keys that it has inserted and not deleted, oldest first.
    stock: VecDeque<i64>,
    buffer: Vec<i64>,
}

/// The next operation of a hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    pub task: Task,
    /// Whether the operation is measured. Otherwise it inserts rows to be deleted later, or deletes
    /// rows so that the table does not grow without bound.
    pub counts: bool,
}

impl Hand {
    /// Creates a hand that inserts into `range`, and otherwise draws rows from the ranges `drawn`,
    /// starting at a random one.
    pub fn new(subject: &Subject, range: u64, drawn: Range<u64>, random: &mut Random) -> Self {
        assert!(range < subject.ranges && !drawn.is_empty() && drawn.end <= subject.ranges);
        let all = (drawn.end - drawn.start) * subject.rows_each;
        Self {
            range,
            next_row: random.below(all),
            stride: stride(all),
            drawn,
            turns: 0,
            next_free: subject.free_key(range),
            stock: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    /// Returns the next operation for measuring a point. Equal hands return equal operations.
    pub fn next(&mut self, subject: &Subject, parameters: &Parameters) -> Move {
        let Parameters { operation, path, rows, .. } = *parameters;
        let missing = match operation {
            Operation::Delete if self.stock.is_empty() => Some(Operation::Insert),
            Operation::Insert if self.stock.len() >= STOCK_MAX => Some(Operation::Delete),
            _ => None,
        };
        let by_index = path != AccessPath::Primary;
        let mut keys = std::mem::take(&mut self.buffer);
        keys.clear();
        match missing.unwrap_or(operation) {
            Operation::Insert => {
                let count = if missing.is_some() { RESTOCKED } else { 1 };
                keys.extend(self.next_free..self.next_free + count as i64);
            }
            Operation::Delete => {
                let count = if missing.is_some() { RESTOCKED } else { 1 };
                keys.extend(self.stock.iter().take(count));
            }
            Operation::Lookup => {
                // Distinct rows, as many as there are.
                let count = u64::from(rows).min(self.all(subject));
                let first = self.next_row(subject);
                keys.extend((0..count).map(|step| self.key(subject, first + step)));
            }
            Operation::Update => {
                let number = match parameters.versions {
                    Some(Versions { among, .. }) => self.row_by_turns(subject, among),
                    None => self.next_row(subject),
                };
                keys.push(self.key(subject, number));
            }
            Operation::Scan => {
                // The scan may continue after the ranges, up to the end of the table.
                let first = self.drawn.start * subject.rows_each + self.next_row(subject);
                let count = u64::from(rows).min(subject.rows());
                let first = first.min(subject.rows() - count);
                keys.extend([first, first + count - 1].map(|number| subject.loaded_key(number)));
            }
        }
        let task = Task { operation: missing.unwrap_or(operation), by_index, keys, limit: rows };
        Move { task, counts: missing.is_none() }
    }

    /// Inserts rows for later deletes, until there are `wanted`.
    pub fn restock(&mut self, wanted: usize) -> Option<Task> {
        let missing = wanted.saturating_sub(self.stock.len()).min(RESTOCKED) as i64;
        let keys = (self.next_free..self.next_free + missing).collect();
        (missing > 0).then_some(Task {
            operation: Operation::Insert,
            by_index: false,
            keys,
            limit: 1,
        })
    }

    /// Notes the end of a task, and whether it committed.
    pub fn done(&mut self, task: Task, is_committed: bool) {
        match task.operation {
            // Do not reuse a key that may have been inserted.
            Operation::Insert => {
                self.next_free = task.keys.last().map_or(self.next_free, |last| last + 1);
                if is_committed {
                    self.stock.extend(&task.keys);
                }
            }
            Operation::Delete => {
                self.stock.drain(..task.keys.len());
            }
            _ => {}
        }
        self.buffer = task.keys;
    }

    pub fn range(&self) -> u64 {
        self.range
    }

    /// Number of loaded rows in its ranges.
    fn all(&self, subject: &Subject) -> u64 {
        (self.drawn.end - self.drawn.start) * subject.rows_each
    }

    /// Returns the number of the next row, counted over its ranges.
    fn next_row(&mut self, subject: &Subject) -> u64 {
        let number = self.next_row;
        self.next_row = (number + self.stride) % self.all(subject);
        number
    }

    /// Returns the number of the next row in a cycle of `among` rows.
    fn row_by_turns(&mut self, subject: &Subject, among: u32) -> u64 {
        let turn = self.turns % u64::from(among.max(1));
        self.turns += 1;
        (self.next_row + turn * self.stride) % self.all(subject)
    }

    /// Returns the key of a row of its ranges, wrapping around after the last one.
    fn key(&self, subject: &Subject, number: u64) -> i64 {
        subject.loaded_key(self.drawn.start * subject.rows_each + number % self.all(subject))
    }
}

/// Returns about 0.6 of `all`, coprime to it.
fn stride(all: u64) -> u64 {
    let divisor = |mut one: u64, mut other: u64| {
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    let wanted = (all * 6 / 10).max(1);
    (wanted..).find(|&stride| divisor(stride, all) == 1).expect("the next prime is one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use spade_format::measurement::{Place, World};

    fn parameters(operation: Operation, rows: u32) -> Parameters {
        let (fabric, hardware) = ("sim".to_owned(), "none".to_owned());
        Parameters {
            world: World { fabric, hardware, machines: 2, threads: 1, lanes: 1 },
            operation,
            path: AccessPath::Primary,
            place: Place::Local,
            rows,
            storage: layout::Storage::Tree,
            row_bytes: 8,
            neighbourhood: 0,
            load_percent: 0,
            node_bytes: 512,
            replicas: 1,
            versions: None,
        }
    }

    fn hand() -> (Subject, Hand) {
        let subject = Subject::of(&parameters(Operation::Lookup, 1), 4, 10);
        let hand = Hand::new(&subject, 2, 1..3, &mut Random::new(1));
        (subject, hand)
    }

    #[test]
    fn all_rows_have_their_turn_before_one_comes_again() {
        let (subject, mut hand) = hand();
        let point = parameters(Operation::Update, 1);
        let mut keys: Vec<i64> =
            (0..20).map(|_| hand.next(&subject, &point).task.keys[0]).collect();
        keys.sort_unstable();
        let expected: Vec<i64> = (10..30).map(|number| subject.loaded_key(number)).collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn few_rows_have_their_turns_one_after_the_other() {
        let (subject, mut hand) = hand();
        let versions = Some(Versions { beside: 1, keeps: true, among: 3 });
        let point = Parameters { versions, ..parameters(Operation::Update, 1) };
        let keys: Vec<i64> = (0..9).map(|_| hand.next(&subject, &point).task.keys[0]).collect();
        let different: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len(), 3);
        assert_eq!((&keys[..3], &keys[..3]), (&keys[3..6], &keys[6..]));
    }

    #[test]
    fn deletes_take_inserted_rows_and_restock_first() {
        let (subject, mut hand) = hand();
        let delete = parameters(Operation::Delete, 1);
        let first = hand.next(&subject, &delete);
        assert_eq!((first.counts, first.task.operation), (false, Operation::Insert));
        let inserted = first.task.keys.clone();
        assert!(inserted.iter().all(|&key| key >= subject.free_key(2)));
        hand.done(first.task, true);
        for &key in &inserted {
            let next = hand.next(&subject, &delete);
            assert_eq!((next.counts, &*next.task.keys), (true, &[key][..]));
            hand.done(next.task, true);
        }
        assert!(!hand.next(&subject, &delete).counts);
    }

    #[test]
    fn a_table_that_only_grows_is_made_smaller_in_between() {
        let (subject, mut hand) = hand();
        let insert = parameters(Operation::Insert, 1);
        let mut removed = 0;
        for _ in 0..STOCK_MAX + 1 {
            let next = hand.next(&subject, &insert);
            removed += if next.counts { 0 } else { next.task.keys.len() };
            hand.done(next.task, true);
        }
        assert_eq!(removed, RESTOCKED);
    }

    #[test]
    fn scans_and_lookups_stay_within_loaded_rows() {
        let (subject, mut hand) = hand();
        for _ in 0..40 {
            let scan = hand.next(&subject, &parameters(Operation::Scan, 25)).task;
            let first = (0..40).position(|number| subject.loaded_key(number) == scan.keys[0]);
            let first = first.expect("it is loaded") as u64;
            assert_eq!(scan.keys[1], subject.loaded_key(first + 24));
            let lookup = hand.next(&subject, &parameters(Operation::Lookup, 64)).task;
            let different: std::collections::BTreeSet<_> = lookup.keys.iter().collect();
            assert_eq!((lookup.keys.len(), different.len()), (20, 20));
        }
    }
}
