//! Handlers under way on a memory server. Their callers may have given up: while everybody else
//! rests, they may still write.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// The handlers under way that write regions; clones share them.
#[derive(Clone, Default)]
pub struct Handlers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    begun: u64,
    under_way: BTreeSet<u64>,
}

/// A handler under way. It ends when this is dropped.
pub struct Handler {
    handlers: Handlers,
    number: u64,
}

impl Handlers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }

    pub fn begin(&self) -> Handler {
        let mut state = self.lock();
        state.begun += 1;
        let number = state.begun;
        state.under_way.insert(number);
        drop(state);
        Handler { handlers: self.clone(), number }
    }

    /// The number of handlers that have begun.
    pub fn begun(&self) -> u64 {
        self.lock().begun
    }

    /// Whether the first `begun` handlers have ended.
    pub fn have_ended(&self, begun: u64) -> bool {
        self.lock().under_way.first().is_none_or(|&number| number > begun)
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.handlers.lock().under_way.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_that_begin_later_are_not_awaited() {
        let handlers = Handlers::default();
        let first = handlers.begin();
        let begun = handlers.begun();
        let second = handlers.begin();
        assert!(!handlers.have_ended(begun));
        drop(first);
        assert!(handlers.have_ended(begun) && !handlers.have_ended(handlers.begun()));
        drop(second);
        assert!(handlers.have_ended(handlers.begun()));
    }
}
