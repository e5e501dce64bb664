//! How long a thread that waits stays awake.

use std::time::Instant;

/// A thread that has nothing to do first turns, then lets others run between two looks, then sleeps until
/// it is woken. The first two are measured from the last thing there was to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Nanoseconds for which it turns.
    pub spin_ns: u64,
    /// Nanoseconds after which it sleeps.
    pub awake_ns: u64,
    /// Longest sleep in nanoseconds, so that what nobody rings for is seen, too.
    pub sleep_ns_max: u64,
}

impl Default for Patience {
    /// A round trip on an ordinary network is waited for awake. Whoever turns longer than it takes to put
    /// another thread on the processor takes it from those who work.
    fn default() -> Self {
        Self { spin_ns: 50_000, awake_ns: 250_000, sleep_ns_max: 100_000_000 }
    }
}

/// What to do until the next look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Look again.
    Spin,
    /// Let others run.
    Yield,
    /// Sleep until somebody rings, at most [`Patience::sleep_ns_max`].
    Sleep,
}

/// Follows how long there has been nothing to do.
#[derive(Debug)]
pub struct Waiter {
    patience: Patience,
    idle_since: Option<Instant>,
}

impl Waiter {
    /// Somebody who has just had something to do.
    pub fn new(patience: Patience) -> Self {
        Self { patience, idle_since: None }
    }

    /// There was something to do.
    #[inline]
    pub fn busy(&mut self) {
        self.idle_since = None;
    }

    /// There was nothing to do.
    #[inline]
    pub fn idle(&mut self) -> Step {
        #[allow(clippy::disallowed_methods, reason = "waiting for a device is not part of a run")]
        let now = Instant::now();
        let since = *self.idle_since.get_or_insert(now);
        self.step((now - since).as_nanos() as u64)
    }

    #[inline]
    fn step(&self, idle_ns: u64) -> Step {
        match idle_ns {
            _ if idle_ns < self.patience.spin_ns => Step::Spin,
            _ if idle_ns < self.patience.awake_ns => Step::Yield,
            _ => Step::Sleep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_turns_then_yields_then_sleeps() {
        let waiter = Waiter::new(Patience { spin_ns: 10, awake_ns: 20, sleep_ns_max: 1 });
        let steps = [0, 9, 10, 19, 20, u64::MAX].map(|idle_ns| waiter.step(idle_ns));
        use Step::{Sleep, Spin, Yield};
        assert_eq!(steps, [Spin, Spin, Yield, Yield, Sleep, Sleep]);
    }

    #[test]
    fn something_to_do_begins_it_anew() {
        let mut waiter = Waiter::new(Patience { spin_ns: u64::MAX, awake_ns: 0, sleep_ns_max: 1 });
        assert_eq!(waiter.idle(), Step::Spin);
        assert!(waiter.idle_since.is_some());
        waiter.busy();
        assert_eq!(waiter.idle_since, None);
    }
}
