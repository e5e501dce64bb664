//! The reads of registers. A read shows one version.

use super::slips::{BadRead, Slips};
use super::writes::Writes;
use super::{INITIAL, Read};
use crate::history::{Action, History, KeyId, Outcome, TransactionId};

/// Calls `note` with each version that a committed transaction has read.
pub(super) fn for_each_seen(history: &History, writes: &Writes, note: &mut dyn FnMut(u32)) {
    for id in history.ids() {
        for operation in history.operations(id) {
            if let Action::ReadValue(value) = operation.action {
                writes.find(operation.key.index(), value).into_iter().for_each(&mut *note);
            }
        }
    }
}

/// Every external read, and the anomalies of single reads.
pub(super) fn reads<'h>(history: &'h History, writes: &Writes, slips: &mut Slips<'h>) -> Vec<Read> {
    let states = vec![State::default(); history.key_count()];
    let mut examiner = Examiner { history, writes, slips, states, reads: Vec::new() };
    for id in history.ids() {
        if history.transaction(id).outcome == Outcome::Committed {
            examiner.transaction(id);
        }
    }
    examiner.reads
}

/// The effects of the current transaction on a key.
#[derive(Clone, Copy, Default)]
struct State {
    /// The transaction, counted from 1.
    transaction: u32,
    /// The value that it has last read or written there.
    holds: Option<Value>,
    /// The position of the external read in the list of all, plus one.
    outside: u32,
}

/// The value of a register; `None` before any write.
type Value = Option<i64>;

struct Examiner<'a, 'h> {
    history: &'h History,
    writes: &'a Writes,
    slips: &'a mut Slips<'h>,
    states: Vec<State>,
    reads: Vec<Read>,
}

impl Examiner<'_, '_> {
    fn transaction(&mut self, id: TransactionId) {
        for operation in self.history.operations(id) {
            match operation.action {
                Action::Write(value) => {
                    let state = self.state(id, operation.key);
                    state.holds = Some(Some(value));
                    if let Some(place) = state.outside.checked_sub(1) {
                        self.reads[place as usize].is_update = true;
                    }
                }
                Action::ReadValue(value) => self.read(id, operation.key, Some(value)),
                Action::ReadInitial => self.read(id, operation.key, None),
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

    fn read(&mut self, id: TransactionId, key: KeyId, value: Value) {
        match self.state(id, key).holds {
            None => self.outside(id, key, value),
            Some(held) if held != value => {
                let read = BadRead { reader: id, key, value: value.unwrap_or_default() };
                self.slips.add_internal(read, &value_text(held), &value_text(value));
            }
            Some(_) => {}
        }
        self.state(id, key).holds = Some(value);
    }

    fn outside(&mut self, id: TransactionId, key: KeyId, value: Value) {
        let version = match value {
            None => INITIAL,
            Some(value) => {
                let read = BadRead { reader: id, key, value };
                let Some(version) = self.writes.find(key.index(), value) else {
                    return self.slips.add_garbage(read);
                };
                let write = self.writes.get(version);
                let writer = TransactionId(write.transaction);
                if writer == id {
                    return self.slips.add_future(read);
                }
                if self.history.transaction(writer).outcome == Outcome::Aborted || !write.is_last {
                    self.slips.add_dirty(read, writer);
                }
                version
            }
        };
        self.reads.push(Read { transaction: id.0, key: key.0, version, is_update: false });
        let place = self.reads.len() as u32;
        self.state(id, key).outside = place;
    }
}

fn value_text(value: Value) -> String {
    value.map_or("nothing".to_owned(), |value| value.to_string())
}
