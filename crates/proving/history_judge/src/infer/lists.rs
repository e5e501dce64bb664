//! The reads of lists. A read shows every version before the one it reads, in order.

use super::slips::{BadRead, Slips};
use super::writes::Writes;
use super::{INITIAL, NONE, Read};
use crate::history::{Action, History, KeyId, ListRead, Outcome, TransactionId};

/// Calls `note` with each version that a committed transaction has read.
pub(super) fn for_each_seen(history: &History, writes: &Writes, note: &mut dyn FnMut(u32)) {
    for key in 0..history.key_count() {
        writes
            .trunk(key)
            .iter()
            .filter(|&&version| version != NONE)
            .for_each(|&version| note(version));
    }
    for id in history.ids() {
        for operation in history.operations(id) {
            if let Action::ReadList(read) = operation.action
                && !read.is_on_trunk()
            {
                let list = history.list(operation.key, read);
                let key = operation.key.index();
                list.iter().filter_map(|&value| writes.find(key, value)).for_each(&mut *note);
            }
        }
    }
}

/// Every external read, and the anomalies of single reads.
pub(super) fn reads<'h>(history: &'h History, writes: &Writes, slips: &mut Slips<'h>) -> Vec<Read> {
    let mut examiner = Examiner {
        history,
        writes,
        slips,
        flaws: (0..history.key_count()).map(|key| Flaws::new(history, writes, key)).collect(),
        states: vec![State::default(); history.key_count()],
        reads: Vec::new(),
    };
    for id in history.ids() {
        if history.transaction(id).outcome == Outcome::Committed {
            examiner.transaction(id);
        }
    }
    examiner.reads
}

/// The positions in a key's longest list, from 0, at which it has an anomaly.
#[derive(Clone, Copy)]
struct Flaws {
    garbage: usize,
    aborted: usize,
    duplicate: usize,
}

impl Flaws {
    fn new(history: &History, writes: &Writes, key: usize) -> Self {
        let trunk = writes.trunk(key);
        let first = |is_flaw: &dyn Fn(usize, u32) -> bool| {
            let mut places = trunk.iter().enumerate();
            places.position(|(place, &version)| is_flaw(place, version)).unwrap_or(usize::MAX)
        };
        let outcome =
            |version: u32| history.transactions()[writes.get(version).transaction as usize].outcome;
        Self {
            garbage: first(&|_, version| version == NONE),
            aborted: first(&|_, version| version != NONE && outcome(version) == Outcome::Aborted),
            duplicate: first(&|place, version| {
                version != NONE && writes.position(version) as usize != place + 1
            }),
        }
    }
}

/// The effects of the current transaction on a key.
#[derive(Clone, Copy, Default)]
struct State {
    /// The transaction, counted from 1.
    transaction: u32,
    /// Its last read of the key.
    read: Option<Seen>,
    /// Its appends since then.
    appended: u32,
    has_appended: bool,
    /// The position of the external read in the list of all, plus one.
    outside: u32,
}

/// A list read, empty lists included.
type Seen = Option<ListRead>;

struct Examiner<'a, 'h> {
    history: &'h History,
    writes: &'a Writes,
    slips: &'a mut Slips<'h>,
    flaws: Vec<Flaws>,
    states: Vec<State>,
    reads: Vec<Read>,
}

impl<'h> Examiner<'_, 'h> {
    fn transaction(&mut self, id: TransactionId) {
        for (place, operation) in self.history.operations(id).iter().enumerate() {
            match operation.action {
                Action::Append(value) => self.append(id, operation.key, value),
                Action::ReadList(read) => self.read(id, operation.key, place, Some(read)),
                Action::ReadInitial => self.read(id, operation.key, place, None),
                _ => {}
            }
        }
    }

    fn state(&mut self, id: TransactionId, key: KeyId) -> &mut State {
        let state = &mut self.states[key.index()];
        if state.transaction != id.0 + 1 {
            *state = State { transaction: id.0 + 1, ..State::default() };
        }
        state
    }

    fn append(&mut self, id: TransactionId, key: KeyId, value: i64) {
        let state = self.state(id, key);
        state.appended += 1;
        state.has_appended = true;
        let (read, outside) = (state.read, state.outside);
        if outside > 0 {
            self.reads[outside as usize - 1].is_update = true;
        }
        let Some(Some(read)) = read else {
            return;
        };
        let version = self.writes.find(key.index(), value).expect("every append is a write");
        let position = self.writes.position(version);
        if read.is_on_trunk() && (1..=read.length).contains(&position) {
            self.slips.add_future(BadRead { reader: id, key, value });
        }
    }

    fn read(&mut self, id: TransactionId, key: KeyId, place: usize, seen: Seen) {
        let State { read: before, appended, has_appended, .. } = *self.state(id, key);
        let list = self.list(key, seen);
        let own = self.own_appends(id, key, place, appended);
        let is_consistent = match before {
            Some(before) => self.is_extended(key, before, seen, &own),
            None => list.ends_with(&own),
        };
        if !is_consistent {
            let base = before.map(|before| self.list(key, before));
            let expected = expectation(base, &own);
            let read = BadRead { reader: id, key, value: 0 };
            self.slips.add_internal(read, &expected, &list_text(list));
        } else if before.is_none() {
            self.outside(id, key, seen, own.len(), has_appended);
        }
        let state = self.state(id, key);
        state.read = Some(seen);
        state.appended = 0;
    }

    fn list(&self, key: KeyId, seen: Seen) -> &'h [i64] {
        seen.map_or(&[], |read| self.history.list(key, read))
    }

    /// The last elements that the transaction has appended to the key before this operation.
    fn own_appends(&self, id: TransactionId, key: KeyId, place: usize, appended: u32) -> Vec<i64> {
        let mut own = Vec::new();
        if appended > 0 {
            let before = self.history.operations(id)[..place].iter();
            let appends = before.filter(|operation| operation.key == key);
            own.extend(appends.filter_map(|operation| operation.action.written()));
            own.drain(..own.len() - appended as usize);
        }
        own
    }

    /// Whether the second list is the first one followed by the transaction's own appends.
    fn is_extended(&self, key: KeyId, before: Seen, seen: Seen, own: &[i64]) -> bool {
        let (base, list) = (self.list(key, before), self.list(key, seen));
        if list.len() != base.len() + own.len() {
            return false;
        }
        let is_shared = |seen: Seen| seen.is_none_or(ListRead::is_on_trunk);
        // Prefixes of the longest list agree.
        (is_shared(before) && is_shared(seen) || list.starts_with(base)) && list.ends_with(own)
    }

    /// Records the list of the snapshot: the list read, without the transaction's own appends at
    /// its end.
    fn outside(&mut self, id: TransactionId, key: KeyId, seen: Seen, own: usize, is_update: bool) {
        let list = self.list(key, seen);
        let list = &list[..list.len() - own];
        let is_on_trunk = seen.is_none_or(ListRead::is_on_trunk);
        if is_on_trunk {
            self.judge_trunk(id, key, list);
        } else {
            self.judge_branch(id, key, list);
        }
        let version = match list.last() {
            None => INITIAL,
            Some(_) if is_on_trunk => self.writes.trunk(key.index())[list.len() - 1],
            Some(&value) => self.writes.find(key.index(), value).unwrap_or(NONE),
        };
        if version == NONE {
            return;
        }
        if version != INITIAL {
            let write = self.writes.get(version);
            let writer = TransactionId(write.transaction);
            let has_aborted = self.history.transaction(writer).outcome == Outcome::Aborted;
            if !write.is_last && writer != id && !has_aborted {
                self.slips.add_dirty(BadRead { reader: id, key, value: write.value }, writer);
            }
        }
        self.reads.push(Read { transaction: id.0, key: key.0, version, is_update });
        let place = self.reads.len() as u32;
        self.state(id, key).outside = place;
    }

    fn judge_trunk(&mut self, reader: TransactionId, key: KeyId, list: &[i64]) {
        let flaws = self.flaws[key.index()];
        let bad = |place: usize| BadRead { reader, key, value: list[place] };
        if flaws.garbage < list.len() {
            self.slips.add_garbage(bad(flaws.garbage));
        }
        if flaws.duplicate < list.len() {
            self.slips.add_duplicate(bad(flaws.duplicate));
        }
        if flaws.aborted < list.len() {
            let version = self.writes.trunk(key.index())[flaws.aborted];
            let writer = TransactionId(self.writes.get(version).transaction);
            self.slips.add_dirty(bad(flaws.aborted), writer);
        }
    }

    fn judge_branch(&mut self, reader: TransactionId, key: KeyId, list: &[i64]) {
        let (history, writes) = (self.history, self.writes);
        let bad = |value: i64| BadRead { reader, key, value };
        let trunk = history.trunk(key);
        if let Some(at) = trunk.iter().zip(list).position(|(a, b)| a != b) {
            self.slips.add_incompatible(bad(list[at]), at, || reader_beyond(history, key, at));
        }
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            self.slips.add_duplicate(bad(pair[0]));
        }
        for &value in list {
            match writes.find(key.index(), value) {
                None => self.slips.add_garbage(bad(value)),
                Some(version) => {
                    let writer = TransactionId(writes.get(version).transaction);
                    if history.transaction(writer).outcome == Outcome::Aborted {
                        self.slips.add_dirty(bad(value), writer);
                    }
                }
            }
        }
    }
}

/// A transaction that read the longest list of a key beyond this position.
fn reader_beyond(history: &History, key: KeyId, at: usize) -> TransactionId {
    let has_read = |id: &TransactionId| {
        history.operations(*id).iter().any(|operation| match operation.action {
            Action::ReadList(read) if operation.key == key => {
                read.is_on_trunk() && read.length as usize > at
            }
            _ => false,
        })
    };
    history.ids().find(has_read).expect("some transaction read the longest list")
}

fn expectation(base: Option<&[i64]>, own: &[i64]) -> String {
    match base {
        Some(base) => list_text(&[base, own].concat()),
        None => format!("a list that ends with {}", list_text(own)),
    }
}

/// The end of a list, in a readable length.
fn list_text(list: &[i64]) -> String {
    crate::witness::list_in_words(list)
}
