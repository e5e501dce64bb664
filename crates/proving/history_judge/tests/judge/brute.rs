//! The definitions, applied literally: tries every order of the snapshots and commits of a tiny
//! history, and every outcome of its unknown transactions. It shares no code with the judge.

use history_judge::history::Action;
use history_judge::{History, Level, Order, Outcome, TransactionId};
use std::collections::BTreeMap;

/// Whether some order explains everything.
pub fn is_of(history: &History, level: Level) -> bool {
    let unknown: Vec<_> = with_outcome(history, Outcome::Unknown);
    (0..1_u32 << unknown.len()).any(|chosen| {
        let mut present = with_outcome(history, Outcome::Committed);
        let is_chosen = |place: &usize| chosen & (1 << place) != 0;
        present.extend((0..unknown.len()).filter(is_chosen).map(|place| unknown[place]));
        let mut search = Search {
            history,
            level,
            began: vec![None; present.len()],
            has_ended: vec![false; present.len()],
            present,
            state: BTreeMap::new(),
            step: 0,
        };
        search.goes_on()
    })
}

fn with_outcome(history: &History, outcome: Outcome) -> Vec<TransactionId> {
    history.ids().filter(|&id| history.transaction(id).outcome == outcome).collect()
}

/// A key's values, and the step at which it was last written.
#[derive(Clone, Default)]
struct Held {
    values: Vec<i64>,
    written: usize,
}

struct Search<'a> {
    history: &'a History,
    level: Level,
    present: Vec<TransactionId>,
    /// The step of each snapshot, if it was taken.
    began: Vec<Option<usize>>,
    has_ended: Vec<bool>,
    state: BTreeMap<usize, Held>,
    step: usize,
}

impl Search<'_> {
    /// Whether the remaining snapshots and commits can be put into an order.
    fn goes_on(&mut self) -> bool {
        if self.has_ended.iter().all(|&has_ended| has_ended) {
            return true;
        }
        self.step += 1;
        let found = (0..self.present.len()).any(|place| match self.began[place] {
            None => self.begin(place),
            Some(_) if !self.has_ended[place] => self.end(place),
            Some(_) => false,
        });
        self.step -= 1;
        found
    }

    fn begin(&mut self, place: usize) -> bool {
        let is_waiting = (0..self.present.len())
            .any(|other| !self.has_ended[other] && self.must_precede(other, place));
        if is_waiting || !self.reads_are_right(place) {
            return false;
        }
        self.began[place] = Some(self.step);
        // In a serial order the commit follows the snapshot directly.
        let found = if self.level.is_serial() { self.end(place) } else { self.goes_on() };
        self.began[place] = None;
        found
    }

    fn end(&mut self, place: usize) -> bool {
        let began = self.began[place].expect("it has begun");
        let before = self.state.clone();
        for operation in self.history.operations(self.present[place]) {
            if let Some(value) = operation.action.written() {
                let held = self.state.entry(operation.key.index()).or_default();
                if held.written > began && held.written < self.step {
                    self.state = before;
                    return false;
                }
                held.values.push(value);
                held.written = self.step;
            }
        }
        self.has_ended[place] = true;
        let found = self.goes_on();
        self.has_ended[place] = false;
        self.state = before;
        found
    }

    fn must_precede(&self, first: usize, second: usize) -> bool {
        let (first, second) = (self.present[first], self.present[second]);
        let (a, b) = (self.history.transaction(first), self.history.transaction(second));
        if a.outcome != Outcome::Committed || first == second {
            return false;
        }
        let in_session = a.session.is_some() && a.session == b.session && first < second;
        let in_time = a.completed < b.invoked;
        match self.level.order() {
            Order::Data => false,
            Order::Session => in_session,
            Order::RealTime => in_session || in_time,
        }
    }

    fn reads_are_right(&self, place: usize) -> bool {
        let mut state = self.state.clone();
        self.history.operations(self.present[place]).iter().all(|operation| {
            let held = state.entry(operation.key.index()).or_default();
            match operation.action {
                Action::Append(value) | Action::Write(value) => {
                    held.values.push(value);
                    true
                }
                Action::ReadList(read) => held.values == self.history.list(operation.key, read),
                Action::ReadValue(value) => held.values.last() == Some(&value),
                Action::ReadInitial => held.values.is_empty(),
                Action::Unread => true,
            }
        })
    }
}
