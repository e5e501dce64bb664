//! The clocks of nodes: they may jump ahead and run fast or slow; they never go back.

/// Parts per million of a clock that runs true.
const MILLION: i64 = 1_000_000;

/// A node's clock: a linear function of virtual time from some moment on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The moment in virtual time, in nanoseconds.
    since_ns: u64,
    /// The clock's value at `since_ns`.
    shown_ns: u64,
    /// The clock's drift, in parts per million.
    drift: i64,
}

impl Clock {
    /// The clock's value at `now_ns`.
    #[inline]
    pub(crate) fn shows(&self, now_ns: u64) -> u64 {
        let passed_ns = now_ns - self.since_ns;
        if self.drift == 0 {
            return self.shown_ns + passed_ns;
        }
        let pace = (MILLION + self.drift) as u128;
        self.shown_ns + (u128::from(passed_ns) * pace / MILLION as u128) as u64
    }

    /// The first moment, not before `now_ns`, at which the clock shows `shown_ns` or more.
    pub(crate) fn reaches(&self, shown_ns: u64, now_ns: u64) -> u64 {
        let left_ns = shown_ns.saturating_sub(self.shown_ns);
        if self.drift == 0 {
            return self.since_ns.saturating_add(left_ns).max(now_ns);
        }
        let pace = (MILLION + self.drift) as u128;
        let takes_ns = (u128::from(left_ns) * MILLION as u128).div_ceil(pace);
        let takes_ns = u64::try_from(takes_ns).unwrap_or(u64::MAX);
        self.since_ns.saturating_add(takes_ns).max(now_ns)
    }

    pub(crate) fn jump(&mut self, by_ns: u64, now_ns: u64) {
        *self = Self { since_ns: now_ns, shown_ns: self.shows(now_ns) + by_ns, ..*self };
    }

    /// From now on the clock drifts by `parts_per_million`.
    pub(crate) fn set_drift(&mut self, parts_per_million: i32, now_ns: u64) {
        let drift = i64::from(parts_per_million);
        assert!(-MILLION < drift && drift <= MILLION, "a clock goes on, at most twice too fast");
        *self = Self { since_ns: now_ns, shown_ns: self.shows(now_ns), drift };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_reaches_what_it_shows_and_not_before() {
        let mut clock = Clock::default();
        clock.set_drift(-300_000, 1000);
        clock.jump(77, 5000);
        for shown_ns in [4000, 10_000, 123_456] {
            let moment_ns = clock.reaches(shown_ns, 5000);
            assert!(clock.shows(moment_ns) >= shown_ns);
            assert!(moment_ns == 5000 || clock.shows(moment_ns - 1) < shown_ns);
        }
        assert_eq!(clock.reaches(u64::MAX, 5000), u64::MAX);
    }

    #[test]
    fn a_clock_never_goes_back() {
        let mut clock = Clock::default();
        let mut shown_ns = 0;
        for (index, now_ns) in (0..1000).map(|index| (index, index * 37)) {
            match index % 3 {
                0 => clock.set_drift(500_000 - 1000 * index as i32, now_ns),
                1 => clock.jump(index % 7, now_ns),
                _ => {}
            }
            assert!(clock.shows(now_ns) >= shown_ns);
            shown_ns = clock.shows(now_ns);
        }
    }
}
