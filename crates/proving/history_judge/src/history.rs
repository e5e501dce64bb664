//! A history: which session ran which transaction when, its reads and writes, and its outcome.
//!
//! A history of a million transactions is a few flat arrays. The lists of reads are not stored one
//! by one: nearly all lists of a key are prefixes of each other, so a key has one *trunk*, the
//! longest list read, and a read is a length. A list that contradicts the trunk is stored whole, as
//! a *branch*; a single branch is an anomaly already.

use std::collections::HashMap;
use std::fmt;

/// The position of an event that was not recorded.
pub(crate) const NEVER: u32 = u32::MAX;
/// The branch of a read that lies on the trunk.
const TRUNK: u32 = u32::MAX;
/// Keys that are integers below this are found without hashing.
const DIRECT_KEYS: i64 = 1 << 20;

/// A key of the database, by its index in [`History::key_name`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub(crate) u32);

impl KeyId {
    /// Its index among all keys of the history.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transaction, by its index in [`History::transactions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionId(pub(crate) u32);

impl TransactionId {
    /// Its index among all transactions of the history.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of the objects of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Lists, appended to and read whole; a read shows the order of all versions before it.
    Lists,
    /// Registers, overwritten; a read shows one version.
    Registers,
}

/// The outcome of a transaction for its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its effects are permanent.
    Committed,
    /// It has no effect.
    Aborted,
    /// The client does not know: it may have taken effect, may still do so, or never will.
    Unknown,
}

/// The list of a read; [`History::list`] returns its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListRead {
    pub(crate) length: u32,
    branch: u32,
}

impl ListRead {
    /// Whether the list is a prefix of the key's longest list.
    pub(crate) fn is_on_trunk(self) -> bool {
        self.branch == TRUNK
    }
}

/// The effect or the result of an operation on its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Appended a value to a list.
    Append(i64),
    /// Wrote a value into a register.
    Write(i64),
    /// Read a non-empty list.
    ReadList(ListRead),
    /// Read a value from a register.
    ReadValue(i64),
    /// Read the state before any write: nothing, or the empty list.
    ReadInitial,
    /// A read whose result is unknown, or irrelevant.
    Unread,
}

impl Action {
    /// The value written, if it is a write.
    pub fn written(self) -> Option<i64> {
        match self {
            Self::Append(value) | Self::Write(value) => Some(value),
            _ => None,
        }
    }
}

/// One operation of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    pub key: KeyId,
    pub action: Action,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// The session that ran it, by its index in [`History::sessions`]; `None` if that was not
    /// recorded.
    pub session: Option<u32>,
    pub outcome: Outcome,
    /// The position of its beginning in the order of all events; 0 also if not recorded.
    pub invoked: u32,
    /// The position at which its client learned of its end; `u32::MAX` if it never did.
    pub completed: u32,
    /// The clock at its beginning, in nanoseconds, if recorded.
    pub invoked_ns: Option<i64>,
    /// The clock at its end, in nanoseconds, if recorded.
    pub completed_ns: Option<i64>,
    /// The line of the file with its end, from 1.
    pub line: u32,
    first: u32,
    end: u32,
}

#[derive(Clone, Debug, Default)]
pub struct History {
    kind: Option<Kind>,
    transactions: Vec<Transaction>,
    operations: Vec<Operation>,
    /// Version numbers parallel to `operations`, or empty if none was recorded.
    versions: Vec<Option<i64>>,
    keys: Keys,
    sessions: Vec<i64>,
    trunks: Vec<Vec<i64>>,
    branches: Vec<Vec<i64>>,
    event_count: u32,
}

impl History {
    /// The history by a clock that is ahead by `by_ns`.
    pub fn shifted_ns(mut self, by_ns: i64) -> Self {
        for transaction in &mut self.transactions {
            transaction.invoked_ns = transaction.invoked_ns.map(|time_ns| time_ns + by_ns);
            transaction.completed_ns = transaction.completed_ns.map(|time_ns| time_ns + by_ns);
        }
        self
    }

    /// The kind of its objects; a history whose operations do not determine it counts as registers.
    pub fn kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Registers)
    }

    /// All transactions; those of one session are in the session's order.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    pub fn transaction(&self, id: TransactionId) -> &Transaction {
        &self.transactions[id.index()]
    }

    /// The operations of a transaction, in its order.
    pub fn operations(&self, id: TransactionId) -> &[Operation] {
        &self.operations[self.operation_range(id)]
    }

    /// Version numbers parallel to [`History::operations`], or empty if the history has none.
    pub(crate) fn versions(&self, id: TransactionId) -> &[Option<i64>] {
        if self.versions.is_empty() { &[] } else { &self.versions[self.operation_range(id)] }
    }

    /// The version number of the operation at this index among all.
    pub(crate) fn version_at(&self, place: u32) -> Option<i64> {
        self.versions.get(place as usize).copied().flatten()
    }

    /// The indexes of a transaction's operations among all operations.
    pub(crate) fn operation_range(&self, id: TransactionId) -> std::ops::Range<usize> {
        let transaction = &self.transactions[id.index()];
        transaction.first as usize..transaction.end as usize
    }

    pub fn ids(&self) -> impl Iterator<Item = TransactionId> + use<> {
        (0..self.transactions.len() as u32).map(TransactionId)
    }

    pub fn key_count(&self) -> usize {
        self.keys.names.len()
    }

    /// A key as in the file.
    pub fn key_name(&self, key: KeyId) -> &str {
        &self.keys.names[key.index()]
    }

    /// The process numbers of the sessions.
    pub fn sessions(&self) -> &[i64] {
        &self.sessions
    }

    /// Number of recorded beginnings and ends.
    pub fn event_count(&self) -> usize {
        self.event_count as usize
    }

    /// Whether the history shows which transactions ended before others began: every beginning is
    /// recorded, or at least one transaction is known to have ended before another began.
    pub fn has_real_time(&self) -> bool {
        let is_complete = self.transactions.iter().all(|txn| txn.invoked > 0);
        if is_complete && !self.transactions.is_empty() {
            return true;
        }
        let first_end = self.transactions.iter().map(|txn| txn.completed).min();
        first_end.is_some_and(|end| self.transactions.iter().any(|txn| txn.invoked > end))
    }

    /// The elements of the list of a read.
    pub fn list(&self, key: KeyId, read: ListRead) -> &[i64] {
        match read.branch {
            TRUNK => &self.trunks[key.index()][..read.length as usize],
            branch => &self.branches[branch as usize],
        }
    }

    /// The longest list of a key; empty for registers and for keys never read.
    pub(crate) fn trunk(&self, key: KeyId) -> &[i64] {
        &self.trunks[key.index()]
    }
}

/// The result or effect of an operation that is being added to a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// Appended a value to a list.
    Append(i64),
    /// Wrote a value into a register.
    Write(i64),
    ReadList(&'a [i64]),
    ReadValue(i64),
    /// Read the state before any write.
    ReadInitial,
    /// A read whose result is unknown.
    Unread,
}

/// The session, times and line of a transaction, given when its operations are complete.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The process that ran it.
    pub process: Option<i64>,
    /// The event of its beginning, if recorded.
    pub invoked: Option<Event>,
    /// The event at which its client learned of its end, if any.
    pub completed: Option<Event>,
    /// The line of the file with its end; 0 stands for the position of the event.
    pub line: u32,
}

/// A beginning or an end, with its position among all of them.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    position: u32,
    time_ns: Option<i64>,
}

/// A history has lists or registers, not both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MixedKinds;

impl fmt::Display for MixedKinds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "lists (`:append`) and registers (`:w`) are mixed; record them in two histories",
        )
    }
}

impl std::error::Error for MixedKinds {}

/// Builds a history: events in the order in which they happened, transactions as they end.
#[derive(Clone, Debug, Default)]
pub struct HistoryBuilder {
    history: History,
    session_of: HashMap<i64, u32>,
    outcome: Option<Outcome>,
    first: u32,
}

impl HistoryBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The key with this name; integers and names share one space, in their EDN form.
    pub fn key(&mut self, name: &str) -> KeyId {
        match name.parse::<i64>() {
            Ok(number) => self.integer_key(number),
            Err(_) => self.added(|keys| keys.of_text(name)),
        }
    }

    /// The key with this number.
    pub fn integer_key(&mut self, number: i64) -> KeyId {
        self.added(|keys| keys.of_integer(number))
    }

    fn added(&mut self, find: impl FnOnce(&mut Keys) -> u32) -> KeyId {
        let key = find(&mut self.history.keys);
        self.history.trunks.resize_with(self.history.keys.names.len(), Vec::new);
        KeyId(key)
    }

    /// Adds the next event: a transaction begins or ends at this time, in nanoseconds.
    pub fn event(&mut self, time_ns: Option<i64>) -> Event {
        self.history.event_count += 1;
        Event { position: self.history.event_count, time_ns }
    }

    /// Starts the operations of a transaction with this outcome. The reads of a transaction that is
    /// not known to have committed prove nothing, so they are not kept.
    pub fn begin(&mut self, outcome: Outcome) {
        assert!(self.outcome.is_none(), "the transaction before has ended");
        self.outcome = Some(outcome);
        self.first = self.history.operations.len() as u32;
    }

    /// Adds an operation, with the number of its version if the engine exports it: among the writes
    /// of a key, a larger number is a later version.
    pub fn step(
        &mut self,
        key: KeyId,
        step: Step<'_>,
        version: Option<i64>,
    ) -> Result<(), MixedKinds> {
        let kind = match step {
            Step::Append(_) | Step::ReadList(_) => Some(Kind::Lists),
            Step::Write(_) | Step::ReadValue(_) => Some(Kind::Registers),
            Step::ReadInitial | Step::Unread => None,
        };
        if let Some(kind) = kind
            && *self.history.kind.get_or_insert(kind) != kind
        {
            return Err(MixedKinds);
        }
        let is_binding = self.outcome == Some(Outcome::Committed);
        let action = match step {
            Step::Append(value) => Action::Append(value),
            Step::Write(value) => Action::Write(value),
            _ if !is_binding => Action::Unread,
            Step::ReadList([]) | Step::ReadInitial => Action::ReadInitial,
            Step::ReadList(list) => Action::ReadList(self.remember(key, list)),
            Step::ReadValue(value) => Action::ReadValue(value),
            Step::Unread => Action::Unread,
        };
        if version.is_some() || !self.history.versions.is_empty() {
            self.history.versions.resize(self.history.operations.len(), None);
            self.history.versions.push(version);
        }
        self.history.operations.push(Operation { key, action });
        Ok(())
    }

    pub fn end(&mut self, ended: Ended) -> TransactionId {
        let outcome = self.outcome.take().expect("a transaction was begun");
        let history = &mut self.history;
        let session = ended.process.map(|process| {
            *self.session_of.entry(process).or_insert_with(|| {
                history.sessions.push(process);
                history.sessions.len() as u32 - 1
            })
        });
        let completed = ended.completed.map_or(NEVER, |event| event.position);
        let line = match (ended.line, ended.completed.or(ended.invoked)) {
            (0, Some(event)) => event.position,
            (line, _) => line,
        };
        history.transactions.push(Transaction {
            session,
            outcome,
            invoked: ended.invoked.map_or(0, |event| event.position),
            completed,
            invoked_ns: ended.invoked.and_then(|event| event.time_ns),
            completed_ns: ended.completed.and_then(|event| event.time_ns),
            line,
            first: self.first,
            end: history.operations.len() as u32,
        });
        TransactionId(history.transactions.len() as u32 - 1)
    }

    pub fn finish(mut self) -> History {
        assert!(self.outcome.is_none(), "the last transaction has ended");
        if !self.history.versions.is_empty() {
            self.history.versions.resize(self.history.operations.len(), None);
        }
        self.history
    }

    fn remember(&mut self, key: KeyId, list: &[i64]) -> ListRead {
        let trunk = &mut self.history.trunks[key.index()];
        let common = trunk.len().min(list.len());
        let length = list.len() as u32;
        if trunk[..common] == list[..common] {
            trunk.extend_from_slice(&list[common..]);
            return ListRead { length, branch: TRUNK };
        }
        self.history.branches.push(list.to_vec());
        ListRead { length, branch: self.history.branches.len() as u32 - 1 }
    }
}

#[derive(Clone, Debug, Default)]
struct Keys {
    names: Vec<Box<str>>,
    /// Indexes of small integer keys, plus one; 0 is none.
    direct: Vec<u32>,
    others: HashMap<Box<str>, u32>,
}

impl Keys {
    fn of_integer(&mut self, number: i64) -> u32 {
        if !(0..DIRECT_KEYS).contains(&number) {
            return self.of_text(&number.to_string());
        }
        let place = number as usize;
        if place >= self.direct.len() {
            self.direct.resize((place + 1).next_power_of_two(), 0);
        }
        if self.direct[place] == 0 {
            self.names.push(number.to_string().into());
            self.direct[place] = self.names.len() as u32;
        }
        self.direct[place] - 1
    }

    fn of_text(&mut self, name: &str) -> u32 {
        if let Some(&key) = self.others.get(name) {
            return key;
        }
        let key = self.names.len() as u32;
        self.names.push(name.into());
        self.others.insert(name.into(), key);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(process: i64) -> Ended {
        Ended { process: Some(process), invoked: None, completed: None, line: 0 }
    }

    #[test]
    fn lists_that_agree_share_a_trunk_and_others_are_branches() {
        let mut builder = HistoryBuilder::new();
        let key = builder.key("x");
        for list in [&[1, 2][..], &[1], &[1, 2, 3], &[1, 3]] {
            builder.begin(Outcome::Committed);
            builder.step(key, Step::ReadList(list), None).expect("all are lists");
            builder.end(ended(0));
        }
        let history = builder.finish();
        assert_eq!(history.trunk(key), [1, 2, 3]);
        let lists: Vec<_> = history
            .ids()
            .map(|id| match history.operations(id)[0].action {
                Action::ReadList(read) => (history.list(key, read), read.is_on_trunk()),
                _ => panic!("all are reads"),
            })
            .collect();
        assert_eq!(
            lists,
            [(&[1, 2][..], true), (&[1], true), (&[1, 2, 3], true), (&[1, 3], false)]
        );
    }

    #[test]
    fn keys_are_equal_by_name() {
        let mut builder = HistoryBuilder::new();
        assert_eq!(builder.key("7"), builder.integer_key(7));
        assert_eq!(builder.key("-7"), builder.integer_key(-7));
        assert_ne!(builder.key(":x"), builder.key("x"));
        assert_eq!(builder.finish().key_count(), 4);
    }

    #[test]
    fn lists_and_registers_do_not_mix() {
        let mut builder = HistoryBuilder::new();
        let key = builder.key("x");
        builder.begin(Outcome::Aborted);
        assert_eq!(builder.step(key, Step::Append(1), None), Ok(()));
        assert_eq!(builder.step(key, Step::Write(1), None), Err(MixedKinds));
    }

    #[test]
    fn reads_bind_only_if_committed() {
        let mut builder = HistoryBuilder::new();
        let key = builder.key("x");
        builder.begin(Outcome::Unknown);
        builder.step(key, Step::ReadList(&[9]), None).expect("all are lists");
        let id = builder.end(ended(1));
        let history = builder.finish();
        assert_eq!(history.operations(id)[0].action, Action::Unread);
        assert_eq!(history.trunk(key), [0_i64; 0]);
    }
}
