//! How long a thread that waits stays awake.

use std::time::Instant;

/// A thread that has nothing to do first turns, then lets others run between two looks, then sleeps until
/// it is woken. The first two are measured from the last thing there was to do.
///
/// Who turns takes the processor from those who have work, perhaps from the very one that is waited for.
/// So a thread that finds its processor wanted by others turns shorter, down to not at all, and longer again
/// when nobody else wants it: see [`Waiter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Nanoseconds for which it turns at most.
    pub spin_ns: u64,
    /// Nanoseconds after which it sleeps.
    pub awake_ns: u64,
    /// Longest sleep in nanoseconds, so that what nobody rings for is seen, too.
    pub sleep_ns_max: u64,
}

impl Default for Patience {
    /// A round trip on an ordinary network is waited for awake.
    fn default() -> Self {
        Self { spin_ns: 50_000, awake_ns: 250_000, sleep_ns_max: 100_000_000 }
    }
}

/// What a waiter did, or is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It has turned: look again.
    Spin,
    /// It has let others run: look again.
    Yield,
    /// It is time to sleep until somebody rings, at most [`Patience::sleep_ns_max`].
    Sleep,
}

/// A yield that takes longer than this has let somebody else run: the processor is wanted.
const SHARED_NS: u64 = 5_000;
/// Turning becomes longer in so many steps.
const GROWTH_STEPS: u64 = 16;

/// Follows how long there has been nothing to do, and whether others want this processor.
#[derive(Debug)]
pub struct Waiter {
    patience: Patience,
    /// For how long it turns at present.
    spin_ns: u64,
    idle_since: Option<Instant>,
}

impl Waiter {
    /// Somebody who has just had something to do.
    pub fn new(patience: Patience) -> Self {
        Self { patience, spin_ns: patience.spin_ns, idle_since: None }
    }

    /// There was something to do.
    #[inline]
    pub fn busy(&mut self) {
        self.idle_since = None;
    }

    /// There was nothing to do: turns, or lets others run, and tells which; sleeping is the caller's.
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

    /// Learns from how long a yield has taken.
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
