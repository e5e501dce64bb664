//! Timers of an engine, by their deadlines.

use std::collections::BTreeMap;
use std::task::Waker;

/// A timer: its deadline, and a number that distinguishes timers with the same deadline.
pub(super) type TimerId = (u64, u64);

#[derive(Default)]
pub(super) struct Timers {
    sleepers: BTreeMap<TimerId, Waker>,
    count: u64,
}

impl Timers {
    pub(super) fn add(&mut self, end_ns: u64, waker: &Waker) -> TimerId {
        self.count += 1;
        let id = (end_ns, self.count);
        self.sleepers.insert(id, waker.clone());
        id
    }

    /// Sets the waker of a timer, since another task may poll it now.
    pub(super) fn set_waker(&mut self, id: TimerId, waker: &Waker) {
        if let Some(known) = self.sleepers.get_mut(&id) {
            known.clone_from(waker);
        }
    }

    /// Cancels a timer.
    pub(super) fn forget(&mut self, id: TimerId) {
        self.sleepers.remove(&id);
    }

    /// Wakes all tasks whose deadline has passed.
    pub(super) fn fire(&mut self, now_ns: u64) {
        while let Some(entry) = self.sleepers.first_entry()
            && entry.key().0 <= now_ns
        {
            entry.remove().wake();
        }
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        self.sleepers.first_key_value().map(|((end_ns, _), _)| *end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn sleepers_wake_at_their_moment_unless_forgotten() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut timers = Timers::default();
        let forgotten = timers.add(10, &waker);
        timers.add(10, &waker);
        timers.add(20, &waker);
        timers.forget(forgotten);
        assert_eq!(timers.next_ns(), Some(10));
        timers.fire(9);
        assert_eq!(woken.0.load(Relaxed), 0);
        timers.fire(10);
        assert_eq!((woken.0.load(Relaxed), timers.next_ns()), (1, Some(20)));
        timers.fire(30);
        assert_eq!((woken.0.load(Relaxed), timers.next_ns()), (2, None));
    }
}
