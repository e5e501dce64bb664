//! How a waiting thread spins, yields and sleeps.
//!
//! Decisions:
//! - docs/decisions/0054-waits-below-20-us-spin.md
//! - docs/decisions/0081-a-waiter-measures-whether-its-processor-is-wanted.md

use std::time::Instant;

/// Limits for a thread without work: it first spins, then yields between two polls, then sleeps
/// until it is woken. Spinning and yielding are timed from the last work.
///
/// A spinning thread takes the processor from threads with work, perhaps from the very one that it
/// waits for. So a thread that notices contention for its processor spins shorter, down to not at
/// all, and longer again when the contention ends: see [`Waiter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Longest spin in nanoseconds.
    pub spin_ns: u64,
    /// Nanoseconds of idleness after which it sleeps.
    pub awake_ns: u64,
    /// Longest sleep in nanoseconds, which bounds the delay of events that wake no one.
    pub sleep_ns_max: u64,
}

impl Default for Patience {
    /// Stays awake for the time of a round trip on an ordinary network.
    fn default() -> Self {
        Self { spin_ns: 50_000, awake_ns: 250_000, sleep_ns_max: 100_000_000 }
    }
}

/// One step of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It has spun: poll again.
    Spin,
    /// It has yielded: poll again.
    Yield,
    /// Sleep until woken, at most [`Patience::sleep_ns_max`].
    Sleep,
}

/// A longer yield has run another thread: the processor is contended.
const SHARED_NS: u64 = 5_000;
/// Number of steps in which spinning grows back to its limit.
const GROWTH_STEPS: u64 = 16;

/// Tracks the time without work, and contention for this processor.
#[derive(Debug)]
pub struct Waiter {
    patience: Patience,
    /// Present length of spinning.
    spin_ns: u64,
    idle_since: Option<Instant>,
}

impl Waiter {
    /// A waiter that starts right after some work.
    pub fn new(patience: Patience) -> Self {
        Self { patience, spin_ns: patience.spin_ns, idle_since: None }
    }

    /// Notes that there was work.
    #[inline]
    pub fn busy(&mut self) {
        self.idle_since = None;
    }

    /// Notes that there was no work: spins or yields, and returns which; the caller sleeps.
    #[inline]
    pub fn idle(&mut self) -> Step {
        let now = now();
        let since = *self.idle_since.get_or_insert(now);
        let step = self.step((now - since).as_nanos() as u64);
        match step {
            Step::Spin => std::hint::spin_loop(),
            Step::Yield => {
                std::thread::yield_now();
                self.yielded(now.elapsed().as_nanos() as u64);
            }
            Step::Sleep => {}
        }
        step
    }

    #[inline]
    fn step(&self, idle_ns: u64) -> Step {
        match idle_ns {
            _ if idle_ns < self.spin_ns => Step::Spin,
            _ if idle_ns < self.patience.awake_ns => Step::Yield,
            _ => Step::Sleep,
        }
    }

    /// Adapts the length of spinning to the duration of a yield.
    fn yielded(&mut self, took_ns: u64) {
        let most_ns = self.patience.spin_ns;
        self.spin_ns = match took_ns {
            _ if took_ns > SHARED_NS => self.spin_ns / 2,
            _ => (self.spin_ns + most_ns / GROWTH_STEPS).min(most_ns),
        };
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "waiting for a device is not part of a run")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { spin_ns: 1000, awake_ns: 2000, sleep_ns_max: 1 };

    #[test]
    fn a_waiter_turns_then_yields_then_sleeps() {
        let waiter = Waiter::new(PATIENCE);
        let steps = [0, 999, 1000, 1999, 2000, u64::MAX].map(|idle_ns| waiter.step(idle_ns));
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

    #[test]
    fn nobody_turns_on_a_processor_that_others_want() {
        let mut waiter = Waiter::new(PATIENCE);
        (0..20).for_each(|_| waiter.yielded(1_000_000));
        assert_eq!(waiter.step(0), Step::Yield);
        waiter.yielded(100);
        assert_eq!((waiter.step(0), waiter.step(100)), (Step::Spin, Step::Yield));
        (0..20).for_each(|_| waiter.yielded(100));
        assert_eq!((waiter.step(999), waiter.step(1000)), (Step::Spin, Step::Yield));
    }
}
